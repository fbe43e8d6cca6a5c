"""The source of an issue's probes, for what is told to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.errors import OrchestratorError

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.model import Report


def probe_sources(report: Report, issue: str, path: Path) -> dict[str, str]:
    """Return the source of an issue's probes by node id, as far as the matrix that has them is at hand."""
    from orchestrator.config import load  # noqa: PLC0415
    from orchestrator.report.snippet import probe_source  # noqa: PLC0415

    sources: dict[str, str] = {}
    try:
        probes = load(path).probes
    except OrchestratorError as error:
        click.echo(f"note: without the source of the probes: {str(error).splitlines()[0]}", err=True)
        return sources
    for nodeid in report.issues[issue].probes:
        try:
            sources[nodeid] = probe_source(probes / nodeid.partition("::")[0], nodeid)
        except (OSError, ValueError) as error:
            click.echo(f"note: without the source of {nodeid}: {error}", err=True)
    return sources
