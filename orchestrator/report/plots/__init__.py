"""Plots of the numbers that probes record, along the versions: what is drawn, and its drawing with matplotlib.

What to draw (`plots`) needs nothing besides this package; drawing needs the extra `plot`, and `available` tells
whether it is there.
"""

from __future__ import annotations

from importlib.util import find_spec

from orchestrator.report.plots.collect import plots
from orchestrator.report.plots.values import Change, Line, Plot, Sample

__all__ = ["DPI", "Change", "Line", "Plot", "Sample", "available", "plots", "png", "svg"]

DPI = 160
"""Dots per inch of a PNG, where nothing else is asked for."""


def available() -> bool:
    """Tell whether matplotlib is installed; nothing is imported."""
    return find_spec("matplotlib") is not None


def svg(plot: Plot) -> str:
    """Return a plot as one SVG element that follows the reader's light or dark preference.

    The same plot is always the same text.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from orchestrator.report.plots.drawing import draw_svg  # noqa: PLC0415 - matplotlib takes a while to import

    return draw_svg(plot)


def png(plot: Plot, dpi: int = DPI) -> bytes:
    """Return a plot as a PNG on white.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from orchestrator.report.plots.drawing import draw_png  # noqa: PLC0415 - see svg

    return draw_png(plot, dpi)
