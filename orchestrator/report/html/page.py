"""A report as the page shows it: all that the template needs, and nothing of how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.report import evidence
from orchestrator.report.html import answers, data, exhibits, figures, head, layout, tables

if TYPE_CHECKING:
    from orchestrator.model import Report

UNKNOWNS = 200
"""Entries of the section on what is unknown, at most."""

BIG = 300
"""Series from which on a page is big."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The parts of a page in their order. `unexplained` counts entries of the unknown that are not listed."""

    head: head.Head
    answers: tuple[answers.Answer | answers.Folded, ...]
    sheets: tuple[tables.Sheet, ...]
    legend: tuple[tables.Mark, ...]
    dimmed: bool
    """Whether any result is stale."""
    gaps: bool
    """Whether a change lies among untested versions."""
    holes: bool
    """Whether a grid has places without a cell."""
    big: bool
    """Whether a browser should lay out only what is in view."""
    exhibits: tuple[exhibits.Shown, ...]
    unknowns: tuple[evidence.Unknown, ...]
    unexplained: int
    figures: figures.Figures
    data: Mapping[str, Any]


def composed(report: Report) -> Page:
    """Return the page of a clean report."""
    laid = layout.layout(report)
    facts = exhibits.facts(laid)
    told = answers.answers(laid, facts)
    sheets = tables.sheets(laid)
    unknowns = evidence.unknowns(report)
    numbers = figures.figures(report)
    return Page(
        head=head.head(report),
        answers=told,
        sheets=sheets,
        legend=tables.legend(sheets),
        dimmed=tables.has(sheets, tables.STALE),
        gaps=tables.has(sheets, tables.GAP),
        holes=tables.has(sheets, tables.EMPTY),
        big=len(laid.rows) > BIG,
        exhibits=facts.shown,
        unknowns=unknowns[:UNKNOWNS],
        unexplained=len(unknowns[UNKNOWNS:]),
        figures=numbers,
        data=data.data(
            laid,
            [answer.numbers for answer in told],
            [exhibit.numbers for exhibit in facts.shown],
        ),
    )
