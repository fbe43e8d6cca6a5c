"""What is written on GitHub. Text of probes, packages and the matrix is made harmless by `orchestrator.report`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.announce import marker
from orchestrator.announce.decide import Act, Reason
from orchestrator.report import upstream, words
from orchestrator.report.clean import clean, cleaned, shorten
from orchestrator.report.escape import link, markdown
from orchestrator.report.focus import on_issue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.announce.decide import Action
    from orchestrator.model import Finding, Report

LIMIT = 65_536
"""Characters that GitHub takes as the text of an issue."""

_TITLE = 200
"""Characters of a title; GitHub takes 256."""

_SHOWN = 20
"""Findings that are told one by one."""

_FOOT = (
    "<sub>Kept by `orchestrator announce`: it comments when something changes, and closes this when it is fixed. "
    "It finds this issue by its label and the hidden first line.</sub>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one action writes."""

    title: str
    """Only for an issue that is opened."""
    body: str
    """The whole text of the issue, the hidden line first."""
    comment: str
    """Empty where the issue is opened."""


def page(report: Report, action: Action, sources: Mapping[str, str], run_url: str | None = None) -> Page:
    """Return what an action writes: the body as an issue for an upstream tracker has it, of one stack.

    `sources` are those of the probes by node id, as `upstream.render` takes them; `run_url` is where the run can
    be seen, if anywhere.
    """
    report = cleaned(report)
    where = f"run on {link('GitHub Actions', run_url)}" if run_url else "a run by hand"
    if action.act is Act.CLOSE:
        return _closing(action, where)
    told = _lines(action.findings)
    title = clean(f"{report.issues[action.told.issue].title} ({action.told.stack})")
    details = upstream.render(_on_stack(report, action), action.told.issue, sources)
    head = f"{marker.written(action.told)}\n\n{told}\n\nFound by {where}.\n\n{_FOOT}\n\n"
    news = f"{_again(action)}\n\n{told}\n\nFound by {where}; the text above is new."
    comment = "" if action.thread is None else news
    return Page(title=shorten(title, _TITLE), body=(head + details)[:LIMIT], comment=comment)


def _closing(action: Action, where: str) -> Page:
    if action.thread is None:
        raise ValueError("only what is there can be closed")
    name = f"{action.told.issue} in {action.told.stack}"
    said = {
        Reason.EXPECTED: f"{name} is affected, and the matrix says by now that this is expected",
        Reason.FIXED: f"{name} is not affected any more",
    }[action.reason or Reason.FIXED]
    return Page(
        title="",
        body=marker.replaced(action.thread.body, action.told),
        comment=f"{markdown(clean(said))}. Found by {where}.",
    )


def _again(action: Action) -> str:
    return "It is back." if action.act is Act.REOPEN else "This has changed."


def _lines(findings: Sequence[Finding]) -> str:
    lines = [f"- {markdown(words.surprise(cleaned(one)))}" for one in findings[:_SHOWN]]
    if len(findings) > _SHOWN:
        lines.append(f"- and {words.plural(len(findings) - _SHOWN, 'combination')} more")
    return "\n".join(lines)


def _on_stack(report: Report, action: Action) -> Report:
    focused = on_issue(report, action.told.issue)
    return replace(focused, series=tuple(one for one in focused.series if one.stack == action.told.stack))
