"""`orchestrator plot`."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import store_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orchestrator.model import Report
    from orchestrator.report.plots import Plot

_FORMATS = ("svg", "png")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60
"""Characters of each part of a file's name."""


@click.command()
@click.argument("issue", required=False)
@click.option("--metric", metavar="NAME", help="Only this number.")
@click.option("--stack", metavar="NAME", help="Only along this stack.")
@click.option("--run", metavar="RUN", help="A name from the store's `runs`; the last one by default.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=".",
    show_default=True,
    help="A directory, or a file that ends in .svg or .png where there is one plot.",
)
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="By the output's suffix; else svg.")
@store_option
def command(**given: Any) -> None:  # noqa: ANN401 - click passes what the options say
    """Plot the numbers that the probes of ISSUE recorded, along the versions; of all issues without ISSUE.

    Needs matplotlib: pip install 'matrix-orchestrator[plot]'. Prints the files that it wrote.
    """
    from orchestrator.errors import ConfigError, EnvironmentUnusableError  # noqa: PLC0415
    from orchestrator.files import write_atomic  # noqa: PLC0415
    from orchestrator.report.plots import available, png, svg  # noqa: PLC0415
    from orchestrator.runs import recorded  # noqa: PLC0415

    single, format_ = _destination(given["output"], given["format_"])
    if not available():
        raise ConfigError("plots need matplotlib", hint="pip install 'matrix-orchestrator[plot]'")
    report = recorded(given["store"].absolute(), given["run"])
    chosen = _chosen(report, given["issue"], given["stack"], given["metric"])
    if single and len(chosen) > 1:
        raise ConfigError(
            f"{given['output']} is one file, and there are {len(chosen)} plots",
            hint="name a directory, or one plot with ISSUE, --stack and --metric",
        )
    paths = [given["output"]] if single else [given["output"] / name for name in _names(chosen, format_)]
    for plot, path in zip(chosen, paths, strict=True):
        try:
            write_atomic(path, svg(plot).encode() if format_ == "svg" else png(plot))
        except OSError as error:
            raise EnvironmentUnusableError(f"cannot write {path}: {error.strerror}") from None
        click.echo(path)


def _destination(output: Path, format_: str | None) -> tuple[bool, str]:
    """Tell whether the output is one file, and what is to be written.

    Raises:
        click.BadParameter: its suffix is of another format.
    """
    suffix = output.suffix.removeprefix(".").lower()
    if output.is_dir() or not suffix:
        return False, format_ or "svg"
    if suffix not in _FORMATS:
        raise click.BadParameter(f"'{output}' ends neither in .svg nor in .png", param_hint="--output")
    if format_ not in (None, suffix):
        raise click.BadParameter(f"'{output}' is no name for {format_}", param_hint="--output")
    return True, suffix


def _chosen(report: Report, issue: str | None, stack: str | None, metric: str | None) -> tuple[Plot, ...]:
    from orchestrator.errors import ConfigError  # noqa: PLC0415
    from orchestrator.report.plots import plots  # noqa: PLC0415

    _known("issue", issue, report.issues)
    _known("stack", stack, report.stacks)
    series = tuple(one for one in report.series if issue in (None, one.issue) and stack in (None, one.stack))
    found = plots(replace(report, series=series))
    if not found:
        of = "" if issue is None else f" of issue {issue!r}"
        along = "" if stack is None else f" along {stack!r}"
        raise ConfigError(
            f"the probes{of} recorded no number{along} in this run",
            hint="a probe records one with `record_property`: docs/guides/plots.md",
        )
    _known("metric", metric, sorted({plot.metric for plot in found}))
    return tuple(plot for plot in found if metric in (None, plot.metric))


def _known(kind: str, name: str | None, names: Iterable[str]) -> None:
    from orchestrator.errors import ConfigError  # noqa: PLC0415

    names = list(names)
    if name is None or name in names:
        return
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names[:8])}" if names else None
    raise ConfigError(f"there is no {kind} {name!r} in this run", hint=hint)


def _names(plots: Sequence[Plot], format_: str) -> Iterator[str]:
    """Yield a name for each plot that is safe on every file system, and different from the others."""
    taken: set[str] = set()
    for plot in plots:
        parts = (plot.issue, plot.stack, plot.metric)
        stem = "-".join(_UNSAFE.sub("_", part)[:_LONGEST] for part in parts).lstrip(".-") or "plot"
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        yield f"{name}.{format_}"
