"""`orchestrator schema`."""

from __future__ import annotations

import json

import click


@click.command()
def command() -> None:
    """Print the JSON Schema of matrix.yaml, for editors."""
    from orchestrator.config import schema  # noqa: PLC0415 - pydantic takes a while to import

    click.echo(json.dumps(schema(), indent=2))
