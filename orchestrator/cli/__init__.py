"""The command line: parse, call, render, nothing else."""

from __future__ import annotations

import sys
import traceback

import click

from orchestrator.cli.group import LazyGroup
from orchestrator.errors import ExitCode, MatrixInvalidError, OrchestratorError

__all__ = ["main"]

_EXIT_CODES = """\b
Exit codes:
  0    as expected
  1    a regression, or an issue in a state the matrix does not expect
  2    the command line or the matrix is wrong
  3    nothing selected
  4    incomplete: something could not be measured (build, infrastructure)
  5    this host cannot do it: no engine, no disk, no interpreter
  70   a fault of this program
  130  interrupted; what was measured is kept
"""


@click.group(
    cls=LazyGroup,
    modules={
        "run": "orchestrator.cli.run",
        "bisect": "orchestrator.cli.bisect",
        "list": "orchestrator.cli.list",
        "plan": "orchestrator.cli.plan",
        "build": "orchestrator.cli.build",
        "explain": "orchestrator.cli.explain",
        "merge": "orchestrator.cli.merge",
        "report": "orchestrator.cli.report",
        "announce": "orchestrator.cli.announce",
        "plot": "orchestrator.cli.plot",
        "show": "orchestrator.cli.show",
        "compare": "orchestrator.cli.compare",
        "history": "orchestrator.cli.history",
        "repro": "orchestrator.cli.repro",
        "shell": "orchestrator.cli.shell",
        "doctor": "orchestrator.cli.doctor",
        "images": "orchestrator.cli.images",
        "prune": "orchestrator.cli.prune",
        "bundle": "orchestrator.cli.bundle",
        "simulate": "orchestrator.cli.simulate",
        "schema": "orchestrator.cli.schema",
    },
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "ORCHESTRATOR"},
    epilog=_EXIT_CODES,
)
@click.version_option(package_name="matrix-orchestrator", prog_name="orchestrator")
def cli() -> None:
    """Find which release of which package introduced or fixed an issue.

    Every combination of versions in MATRIX gets an environment of its own, the probes run in it, and the
    report says for every issue where it stands, since when, and what moved.
    """


def main() -> None:
    """Run the command line and end the process with the documented exit code."""
    try:
        sys.exit(cli.main(standalone_mode=False))
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.CONFIG)
    except MatrixInvalidError as error:
        problems = str(error).splitlines()
        click.echo("\n".join(problems), err=True)
        _complain(f"{len(problems)} {'problem' if len(problems) == 1 else 'problems'} in the matrix", error.hint)
        sys.exit(error.exit_code)
    except OrchestratorError as error:
        _complain(str(error), error.hint)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted", "what was measured is kept; the same command goes on from there")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nobody is left to tell
        sys.exit(ExitCode.OK)
    except Exception:  # noqa: BLE001 - the outermost frame: whatever comes here is a fault of this program
        traceback.print_exc()
        _complain(
            "this is a fault of the orchestrator, not of your matrix", "please report it with the lines above"
        )
        sys.exit(ExitCode.INTERNAL)


def _complain(message: str, hint: str | None) -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
