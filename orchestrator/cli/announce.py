"""`orchestrator announce`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import store_option

if TYPE_CHECKING:
    from orchestrator.announce import Action


@click.command()
@click.argument("run", required=False)
@click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    default="matrix.yaml",
    show_default=True,
    help="Where the probes of an issue are looked up.",
)
@click.option("--label", default="matrix-orchestrator", show_default=True, help="What the issues carry.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    metavar="N",
    help="Issues that are opened, updated or closed at most; the next run goes on.",
)
@click.option("--run-url", metavar="URL", help="Where the run can be seen; in a workflow, it is known.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Tell what the last run, or RUN, found in the issues of a GitHub repository.

    One issue is opened per issue and stack that is affected and should not be. It is updated when that changes and
    closed when it is fixed. `gh` does it, in the repository of GH_REPO or of this checkout.
    """
    from orchestrator.announce import GitHub, decide, page  # noqa: PLC0415
    from orchestrator.cli.sources import probe_sources  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    report = recorded(given["store"].absolute(), given["run"])
    repository = GitHub(label=given["label"])
    actions = decide(report, repository.threads())
    chosen, left = actions[: given["limit"]], actions[given["limit"] :]
    dry = given["dry_run"]
    if chosen and not dry:
        repository.prepare()
    for action in chosen:
        sources = probe_sources(report, action.told.issue, given["matrix"])
        written = page(report, action, sources, given["run_url"] or _run_url())
        done = "" if dry else repository.carry_out(action, written)
        click.echo(_line(action, done))
    if left:
        click.echo(f"{len(left)} more, beyond --limit {given['limit']}: the next run goes on")
    if not actions:
        click.echo("nothing to announce")


def _line(action: Action, done: str) -> str:
    """Return what is said of an action: `open torch-dot-half in torch-cpu: https://…/issues/7`."""
    where = done or ("" if action.thread is None else f"#{action.thread.number}")
    reason = "" if action.reason is None else f" ({action.reason})"
    return f"{action.act} {action.told.issue} in {action.told.stack}{reason}" + (f": {where}" if where else "")


def _run_url() -> str | None:
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (os.environ.get(name) for name in names)
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None
