"""Drawings as files, through figures of their own: nothing of matplotlib's interactive state is used."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from orchestrator.report.plots.figure import draw
from orchestrator.report.plots.lettering import Lettering
from orchestrator.report.plots.markup import finished

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from orchestrator.report.plots.values import Plot

_ONE_AT_A_TIME = threading.Lock()
"""Settings of matplotlib are of the whole process."""


def draw_svg(plot: Plot) -> str:
    """Return a plot as one SVG element."""
    lettering, written = Lettering(restorable=True), io.BytesIO()
    with _ONE_AT_A_TIME, _settings():
        figure, said = draw(plot, lettering)
        FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return finished(written.getvalue(), plot.title, plot.alt, said, lettering.restored)


def draw_png(plot: Plot, dpi: int) -> bytes:
    """Return a plot as a PNG."""
    lettering, written = Lettering(restorable=False), io.BytesIO()
    with _ONE_AT_A_TIME, _settings():
        figure, _ = draw(plot, lettering)
        figure.set_dpi(dpi)
        FigureCanvasAgg(figure).print_png(written, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return written.getvalue()


def _settings() -> AbstractContextManager[None]:
    """Whatever the user's matplotlibrc says, drawings are the same; text stays text."""
    ours = {"svg.fonttype": "none", "svg.hashsalt": "matrix-orchestrator", "font.family": ["DejaVu Sans"]}
    return style.context(["default", ours])
