# ruff: noqa: INP001 - shipped as files, never a package
"""Run Python with the runner's directory last on the module search path.

    python runner_path.py RUNNER -m pytest …
    python runner_path.py RUNNER -u -c CODE

The packages under test meet their own dependencies first; pytest and what belongs to it come from the runner,
whatever else is installed. Both the pytest controller and its workers start through here. Python 3.8 or later.
"""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

OWN = {"_pytest", "execnet", "iniconfig", "pluggy", "pytest", "pytest_reportlog", "pytest_timeout", "xdist"}


class RunnerFirst:
    """Finds the runner's own modules in the runner, and nothing else."""

    def __init__(self, runner: str) -> None:
        self.runner = runner

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return the module's place in the runner, or None to let the others look."""
        return PathFinder.find_spec(name, [self.runner]) if name in OWN else None


def main(argv: list[str]) -> None:
    """Set the search path, then do what Python itself would do with the remaining arguments."""
    here, runner, arguments = str(Path(__file__).resolve().parent), argv[1], argv[2:]
    # The interpreter put this file's directory first, where it would shadow installed packages.
    sys.path[:] = [entry for entry in sys.path if str(Path(entry).resolve()) != here]
    sys.path += [runner, here]
    sys.meta_path.insert(0, RunnerFirst(runner))
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        # How execnet starts a worker: [-u] -c CODE. The environment has made output unbuffered already.
        sys.argv = ["-c"]
        exec(compile(arguments[-1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as python -c does


if __name__ == "__main__":
    main(sys.argv)
