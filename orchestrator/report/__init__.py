"""Reports: plain functions from data to text, one module per format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from orchestrator.garbage import uncollected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestrator.model import Report

__all__ = ["FORMATS", "pieces", "render"]

_MODULES = {
    "text": "text",
    "markdown": "markdown",
    "html": "html",
    "json": "contract",
    "junit": "junit",
    "csv": "table_csv",
    "osv": "osv",
    "browser-compat": "browser_compat",
    "constraints": "constraints",
    "badge": "badge",
    "github": "github",
}
"""Format to the module that writes it: `render(report)`, and of text the width and the style besides."""

FORMATS = tuple(_MODULES)
"""How a report can be written."""


def render(
    report: Report,
    format: str,  # noqa: A002 - what users call it
    *,
    width: int = 100,
    style: Callable[[str, str], str] | None = None,
) -> str:
    """Return a report in one of `FORMATS`, ending in a line break.

    Args:
        report: What to show; all text in it is made harmless first.
        format: How to write it.
        width: Columns of the terminal; of text only.
        style: Gets a role (heading, issue, ok, affected, unknown, finding, muted, text) and a text, and returns
            the text with nothing but escape sequences around it; of text only.

    Raises:
        ValueError: there is no such format.
    """
    if format not in _MODULES:
        raise ValueError(f"{format!r} is not one of {', '.join(FORMATS)}")
    # Imported late: a command that shows no report starts faster.
    from orchestrator.report.clean import cleaned  # noqa: PLC0415

    report = cleaned(report)
    module = import_module(f"orchestrator.report.{_MODULES[format]}")
    written: str = module.render(report, width, style or _plain) if format == "text" else module.render(report)
    return written


def pieces(report: Report, format: str) -> Iterator[bytes]:  # noqa: A002 - what users call it
    """Return what `render` returns as UTF-8, piece by piece: a large report is never in memory as a whole.

    Raises:
        ValueError: there is no such format.
    """
    if format != "json":
        return iter([render(report, format).encode()])
    from dataclasses import replace  # noqa: PLC0415

    from orchestrator.report import contract  # noqa: PLC0415
    from orchestrator.report.clean import Cleaner  # noqa: PLC0415

    cleaner = Cleaner()
    series = map(cleaner.value, contract.in_order(report.series))
    return _uncollected(contract.written(cleaner.value(replace(report, series=())), series))


def _uncollected(made: Iterator[bytes]) -> Iterator[bytes]:
    with uncollected():
        yield from made


def _plain(role: str, text: str) -> str:  # noqa: ARG001 - the signature of a style
    return text
