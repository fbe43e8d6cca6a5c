"""Run probes in virtual environments of this host: no isolation, but nothing to install either."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from orchestrator.execute.artifacts import harvest_directory
from orchestrator.execute.console import Console
from orchestrator.execute.devices import missing
from orchestrator.execute.environment import probe_environment, user_environment
from orchestrator.execute.handover import describe, hand_over
from orchestrator.execute.interpreter import Interpreters
from orchestrator.execute.ladder import LADDER, Ladder, see_through
from orchestrator.execute.port import Plan, RawAttempt, Step, StepFailedError
from orchestrator.execute.process import ProcessGroup
from orchestrator.execute.runner import PAYLOAD
from orchestrator.model import digest
from orchestrator.uv import UvError, run_uv
from orchestrator.wheels.requirements import requirements
from orchestrator.wheels.trouble import complaint, is_disk, is_transient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from orchestrator.execute.port import Base, Job
    from orchestrator.model import BaseImage, Limits, Lock


_MARKER = "orchestrator-ready"
_PATH = "/usr/local/bin:/usr/bin:/bin"


class VenvRuntime:
    """Every lock gets one virtual environment, every attempt a process group of its own (see `Runtime`)."""

    name = "venv"
    notices: tuple[str, ...] = (
        "probes run unsandboxed in virtual environments on this host: no limits on memory, network or files",
    )

    def __init__(self, cache: Path, *, payload: Path = PAYLOAD, ladder: Ladder = LADDER) -> None:
        self._root = cache.resolve() / "venv"
        self._environments = self._root / "environments"
        self._interpreters = Interpreters(self._root / "interpreters.json")
        self._payload = payload
        self._ladder = ladder

    def base(self, image: BaseImage, say: Callable[[str], None]) -> Base:
        """Find the interpreter of one Python."""
        return self._interpreters.find(image.python, say)

    def plan(self, locks: Sequence[tuple[Lock, Base]]) -> Plan:
        """Plan one environment for each lock; uv's cache is what they share."""
        steps: dict[str, Step] = {}
        environments: dict[str, str] = {}
        sizes: dict[str, int] = {}
        for lock, base in sorted(locks, key=lambda pair: pair[0].digest):
            key = digest(["venv", base.digest, lock.digest])
            new = {d.sha256: d.size or 0 for d in lock.distributions if d.sha256 not in sizes}
            steps[key] = Step(
                key=key, parent=None, base=base, distributions=lock.distributions, download=sum(new.values())
            )
            sizes |= new
            environments[lock.digest] = key
        return Plan(steps=steps, environments=environments)

    def ready(self, step: Step) -> bool:
        """Tell whether the environment is there and complete."""
        return (self._directory(step.key) / _MARKER).exists()

    def prepare(self, step: Step, limits: Limits, say: Callable[[str], None], cancel: Event) -> None:
        """Make the environment; the marker that makes it count is written last."""
        directory = self._directory(step.key)
        self._environments.mkdir(parents=True, exist_ok=True)
        with FileLock(directory.with_suffix(".lock"), is_singleton=False, thread_local=False):
            if self.ready(step):
                return
            shutil.rmtree(directory, ignore_errors=True)
            say(f"installing {len(step.distributions)} distributions")
            try:
                self._install(step, directory, limits.build_timeout, cancel)
            except BaseException:
                shutil.rmtree(directory, ignore_errors=True)
                raise
            (directory / _MARKER).write_text(f"{_own(directory)}\n", encoding="utf-8")

    def _install(self, step: Step, directory: Path, timeout: float, cancel: Event) -> None:
        with tempfile.TemporaryDirectory(dir=self._environments, prefix=".install-") as scratch:
            listed = Path(scratch, "requirements.txt")
            listed.write_text(requirements(step), encoding="utf-8")
            try:
                for arguments in _commands(step, directory, listed):
                    run_uv(arguments, timeout=timeout, cancel=cancel)
            except UvError as error:
                reason = complaint(error.output) or str(error)
                if is_disk(error.output):
                    reason = "the disk is full"
                transient = not error.stopped and is_transient(error.output)
                raise StepFailedError(reason, log=error.output, transient=transient) from error

    def execute(self, job: Job, step: Step, say: Callable[[str], None], cancel: Event) -> RawAttempt:
        """Run a job as a process of this host, with the environment variables of a container."""
        if (reason := missing(job.device)) is not None:
            return RawAttempt(started=False, failure=reason)
        console: Console | None = None
        try:
            _describe(job)
            console = Console(job.directory / "log.txt")
            with tempfile.TemporaryDirectory(prefix="orchestrator-", ignore_cleanup_errors=True) as scratch:
                home = Path(scratch, "home")
                home.mkdir()
                attempt = self._run(job, step, console, home, cancel)
            if attempt.started:
                harvest = harvest_directory(job.directory / "out")
                attempt = replace(attempt, artifacts=harvest.taken, refused=harvest.refused)
        except OSError as error:
            attempt = RawAttempt(started=False, failure=f"the probes' process did not start: {error}")
        finally:
            log = console.close() if console is not None else ""
        if attempt.failure:
            say(attempt.failure)
        return replace(attempt, log=log)

    def _run(self, job: Job, step: Step, console: Console, home: Path, cancel: Event) -> RawAttempt:
        start = time.monotonic()
        group = ProcessGroup(
            self._argv(job, step),
            environment=self._variables(job, step, home),
            directory=home,
            console=console,
        )
        try:
            ending = see_through(group, deadline=job.deadline, cancel=cancel, ladder=self._ladder)
        finally:
            group.close()
        status = group.status()
        duration = time.monotonic() - start
        if status is None:
            failure = "the probes' process does not end, not even by SIGKILL: its device or disk may be wedged"
            return RawAttempt(started=False, failure=failure, duration=duration)
        return RawAttempt(
            exit_code=status if status >= 0 else None,
            signal=-status if status < 0 else None,
            deadline_passed=ending.deadline_passed,
            cancelled=ending.cancelled,
            duration=duration,
        )

    def held(self) -> Mapping[str, int]:
        """Return every complete environment with what it alone held when it was made.

        Where uv's cache is on the same file system that is little: the wheels are the cache's, and stay with it.
        """
        found: dict[str, int] = {}
        for marker in self._environments.glob(f"*/{_MARKER}"):
            with suppress(OSError, ValueError):  # being removed, or not ours
                found[marker.parent.name] = int(marker.read_text(encoding="utf-8"))
        return found

    def discard(self, key: str) -> None:
        """Remove an environment."""
        directory = self._directory(key)
        (directory / _MARKER).unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)

    def command(self, job: Job, step: Step) -> tuple[str, ...]:
        """Return the command that `execute` runs, with its environment variables; writes what it reads."""
        _describe(job)
        variables = self._variables(job, step, Path("/tmp/home"))  # noqa: S108 - people choose their own
        return ("env", "-i", *(f"{name}={value}" for name, value in variables.items()), *self._argv(job, step))

    def recipe(self, step: Step) -> str:
        """Return the uv commands and the requirements they read."""
        commands = _commands(step, self._directory(step.key), Path("requirements.txt"))
        lines = [f"{shlex.join(['uv', *arguments])}\n" for arguments in commands]
        return "".join(lines) + f"\n# requirements.txt\n{requirements(step)}"

    def _directory(self, key: str) -> Path:
        return self._environments / key

    def _argv(self, job: Job, step: Step) -> list[str]:
        python = self._directory(step.key) / "bin" / "python"
        launch = self._payload / "launch.py"
        return [str(python), "-u", str(launch), str(job.directory / "in/job.json"), str(job.directory / "out")]

    def _variables(self, job: Job, step: Step, home: Path) -> dict[str, str]:
        binaries = self._directory(step.key) / "bin"
        return {
            "PATH": f"{binaries}{os.pathsep}{_PATH}",
            "TMPDIR": str(home.parent),
            **user_environment(str(home)),
            **probe_environment(job.device, job.environment),
        }


def _commands(step: Step, directory: Path, listed: Path) -> list[list[str]]:
    python = str(directory / "bin" / "python")
    install = ["pip", "install", "--python", python, "--no-deps", "--no-index"]
    return [
        ["venv", "--python", step.base.reference, "--no-project", str(directory)],
        # uv refuses to check hashes of nothing.
        *([[*install, "--require-hashes", "-r", str(listed)]] if step.distributions else []),
    ]


def _describe(job: Job) -> None:
    hand_over(job, describe(job, probes=str(job.probes.resolve()), runner=str(job.runner.resolve())))


def _own(directory: Path) -> int:
    """Return the bytes of the files that no other directory holds: what uv linked is its cache's."""
    entries = (path.lstat() for path in directory.rglob("*"))
    return sum(entry.st_size for entry in entries if stat.S_ISREG(entry.st_mode) and entry.st_nlink == 1)
