"""A sheet of paper, in points from its lower left corner, on which matplotlib draws in roles for colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from orchestrator.report.plots.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from orchestrator.report.plots.lettering import Lettering

_POINTS = 72
"""In an inch."""


class Sheet:
    """A figure of a size in points, with what is drawn on all of it."""

    def __init__(self, width: float, height: float, lettering: Lettering) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width / _POINTS, height / _POINTS), dpi=_POINTS, facecolor=LIGHT["panel"])
        self._lettering = lettering
        self._below = self.layer(-1)
        self._above = self.layer(3)

    def layer(self, order: int = 4) -> Axes:
        """Return axes over all of the sheet, in its points; what has the higher order lies above."""
        layer = self.figure.add_axes((0, 0, 1, 1), zorder=order)
        layer.set(xlim=(0, self.width), ylim=(0, self.height))
        layer.set_axis_off()
        return layer

    def text(
        self,
        place: tuple[float, float],
        text: str,
        role: str,
        size: float,
        *,
        room: float,
        align: str = "left",
        bold: bool = False,
        turned: float = 0,
    ) -> None:
        """Write a text on its baseline, or around its middle where it is turned, in at most `room` points."""
        self._above.text(
            *place,
            self._lettering.fit(text, size, room, bold=bold),
            color=LIGHT[role],
            fontsize=size,
            fontweight="bold" if bold else "normal",
            ha=align,
            va="center" if turned else "baseline",
            rotation=turned,
            rotation_mode="anchor",
            parse_math=False,
        )

    def stroke(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        role: str,
        width: float,
        *,
        dashes: Sequence[float] = (),
        above: bool = False,
    ) -> None:
        """Draw a line through points, below the panels or above them."""
        style = (0, tuple(dashes)) if dashes else "-"
        layer = self._above if above else self._below
        layer.plot(
            xs, ys, color=LIGHT[role], linewidth=width, linestyle=style, solid_capstyle="butt", clip_on=False
        )

    def band(
        self, left: float, bottom: float, width: float, height: float, role: str, *, opacity: float = 1.0
    ) -> None:
        """Fill a rectangle, below the panels."""
        self._below.fill(
            [left, left + width, left + width, left],
            [bottom, bottom, bottom + height, bottom + height],
            facecolor=LIGHT[role],
            alpha=opacity,
            linewidth=0,
            clip_on=False,
        )

    def mark(self, place: tuple[float, float], shape: str, size: float, role: str) -> None:
        """Draw one marker of the legend."""
        marked(self._above, [place[0]], [place[1]], shape, size, role)


def marked(
    axes: Axes,
    xs: Sequence[float],
    ys: Sequence[float],
    shape: str,
    size: float,
    role: str,
    name: str | None = None,
) -> None:
    """Draw markers in axes; those for what is unknown are hollow. `name` becomes the id of their group."""
    hollow = role == "unknown"
    axes.plot(
        xs,
        ys,
        linestyle="none",
        marker=shape,
        markersize=size,
        markerfacecolor=LIGHT["panel" if hollow else role],
        markeredgecolor=LIGHT[role if hollow else "panel"],
        markeredgewidth=1.3 if hollow else 0.8,
        clip_on=False,
        gid=name,
        zorder=4,
    )
