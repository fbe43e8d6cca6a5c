"""Reports: plain functions from data to text, one module per format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import Report

__all__ = ["FORMATS", "render"]

FORMATS = ("text", "markdown", "json")
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
    # Imported late: a command that shows no report starts faster.
    from orchestrator.report.clean import cleaned  # noqa: PLC0415

    report = cleaned(report)
    match format:
        case "text":
            from orchestrator.report import text  # noqa: PLC0415

            return text.render(report, width, style or _plain)
        case "markdown":
            from orchestrator.report import markdown  # noqa: PLC0415

            return markdown.render(report)
        case "json":
            from orchestrator.report import contract  # noqa: PLC0415

            return contract.render(report)
    raise ValueError(f"{format!r} is not one of {', '.join(FORMATS)}")


def _plain(role: str, text: str) -> str:  # noqa: ARG001 - the signature of a style
    return text
