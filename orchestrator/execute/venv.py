"""Run probes in virtual environments of this host: no isolation, but nothing to install either."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.execute.artifacts import harvest_directory
from orchestrator.execute.console import Console
from orchestrator.execute.environment import probe_environment, user_environment
from orchestrator.execute.environments import Environments
from orchestrator.execute.handover import describe, hand_over
from orchestrator.execute.interpreter import Interpreters
from orchestrator.execute.ladder import LADDER, Ladder, see_through
from orchestrator.execute.port import RawAttempt, StepFailedError
from orchestrator.execute.process import ProcessGroup
from orchestrator.execute.runner import PAYLOAD
from orchestrator.planning import plan_steps
from orchestrator.uv import UvError, run_uv
from orchestrator.wheels.requirements import requirements
from orchestrator.wheels.trouble import complaint, is_disk, is_transient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from orchestrator.execute.port import Base, Held, Job, Plan, Step
    from orchestrator.model import BaseImage, Limits, Lock
    from orchestrator.wheels.cache import WheelCache


_RECIPE = "venv 1"
"""Part of every key: raise it when an environment would come out differently for the same wheels."""

_PATH = "/usr/local/bin:/usr/bin:/bin"


class VenvRuntime:
    """Every lock gets one virtual environment, every attempt a process group of its own (see `Runtime`)."""

    name = "venv"
    notices: tuple[str, ...] = (
        "probes run unsandboxed in virtual environments on this host: no limits on memory, network or files",
    )

    def __init__(
        self, cache: Path, wheels: WheelCache, *, payload: Path = PAYLOAD, ladder: Ladder = LADDER
    ) -> None:
        root = cache.resolve() / "venv"
        self._environments = Environments(root / "environments")
        self._interpreters = Interpreters(root / "interpreters.json")
        self._wheels = wheels
        self._payload = payload
        self._ladder = ladder

    def base(self, image: BaseImage, say: Callable[[str], None]) -> Base:
        """Find the interpreter of one Python."""
        if image.prebuilt:
            raise EnvironmentUnusableError(
                f"{image.image} is a prebuilt image, and a virtual environment cannot be one",
                hint="use the docker runtime",
            )
        return self._interpreters.find(image.python, say)

    def contents(self, base: Base) -> Mapping[str, str] | None:  # noqa: ARG002 - no base here is prebuilt
        """Return nothing: no base is prebuilt here."""
        return None

    def plan(self, locks: Sequence[tuple[Lock, Base]]) -> Plan:
        """Plan the steps of all locks together, like layers of images."""
        return plan_steps(locks, _RECIPE, self.held().values())

    def ready(self, step: Step) -> bool:
        """Tell whether the environment is there and complete."""
        return self._environments.ready(step.key)

    def expect(self, steps: Sequence[Step]) -> None:
        """Do nothing: uv downloads while it installs."""

    def prepare(self, step: Step, limits: Limits, say: Callable[[str], None], cancel: Event) -> None:
        """Make the environment by hard links: its parent's files, and its own wheels from uv's cache."""
        try:
            with self._environments.making(step) as wanted:
                if wanted:
                    say(f"installing {len(step.distributions)} distributions")
                    self._environments.grow(step)
                    self._install(step, limits.build_timeout, cancel)
        except OSError as error:
            raise StepFailedError(f"the environment cannot be written: {error}") from error

    def _install(self, step: Step, timeout: float, cancel: Event) -> None:
        with tempfile.TemporaryDirectory(dir=self._environments.root, prefix=".install-") as scratch:
            listed = Path(scratch, "requirements.txt")
            listed.write_text(requirements(step, at=self._wheels.path), encoding="utf-8")
            try:
                for arguments in self._commands(step, listed):
                    said = run_uv(arguments, timeout=timeout, cancel=cancel)
            except UvError as error:
                reason = complaint(error.output) or str(error)
                if is_disk(error.output):
                    reason = "the disk is full"
                transient = not error.stopped and is_transient(error.output)
                raise StepFailedError(reason, log=error.output, transient=transient) from error
        installed = {line for line in said.split() if "==" in line}
        if differ := sorted(installed ^ set(self._environments.locked(step))):
            raise StepFailedError(f"what is installed is not what is locked: {' '.join(differ)}", log=said)

    def execute(self, job: Job, step: Step, say: Callable[[str], None], cancel: Event) -> RawAttempt:
        """Run a job as a process of this host, with the environment variables of a container."""
        if (reason := job.ungranted) is not None:
            return RawAttempt(started=False, failure=reason)
        self._environments.touch(step.key)
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
            # Should this process be killed, the GPU is not free before the probes have ended.
            holds=() if job.grant is None or job.grant.lease is None else job.grant.lease.descriptors,
        )
        try:
            ending = see_through(group, deadline=job.deadline, cancel=cancel, ladder=self._ladder)
        finally:
            group.close()
        status = group.status()
        duration = time.monotonic() - start
        if status is None:
            failure = "the probes' process does not end, not even by SIGKILL: its device or disk may be wedged"
            return RawAttempt(started=False, failure=failure, survived=True, duration=duration)
        return RawAttempt(
            exit_code=status if status >= 0 else None,
            signal=-status if status < 0 else None,
            deadline_passed=ending.deadline_passed,
            cancelled=ending.cancelled,
            duration=duration,
        )

    def held(self) -> Mapping[str, Held]:
        """Return every complete environment."""
        return self._environments.held()

    def discard(self, key: str) -> bool:
        """Remove an environment, unless others stand on it."""
        return self._environments.discard(key)

    def export(self, base: Base, directory: Path, limits: Limits, cancel: Event) -> None:
        """Write nothing: the other host brings its own interpreter."""

    def finish(self, say: Callable[[str], None], cancel: Event) -> None:
        """Nothing goes on in the background here."""

    def close(self) -> None:
        """Nothing goes on in the background here."""

    def command(self, job: Job, step: Step) -> tuple[str, ...]:
        """Return the command that `execute` runs, with its environment variables; writes what it reads."""
        return (*self._clean_environment(job, step), *self._argv(job, step))

    def shell(self, job: Job, step: Step, *, terminal: bool) -> tuple[str, ...]:
        """Return the command that opens a shell with the environment variables of a job."""
        kept = [f"TERM={os.environ.get('TERM', 'dumb')}"] if terminal else []
        return (*self._clean_environment(job, step), *kept, shutil.which("bash") or "sh")

    def again(self, job: Job, step: Step) -> str:
        """Return the command that `execute` runs."""
        return shlex.join(self._argv(job, step))

    def _clean_environment(self, job: Job, step: Step) -> tuple[str, ...]:
        """Return the beginning of a command that gets no variable of this host; writes what the payload reads."""
        _describe(job)
        variables = self._variables(job, step, Path("/tmp/home"))  # noqa: S108 - people choose their own
        return ("env", "-i", *(f"{name}={value}" for name, value in variables.items()))

    def recipe(self, step: Step) -> str:
        """Return the uv commands and the requirements they read."""
        lines = [f"{shlex.join(['uv', *args])}\n" for args in self._commands(step, Path("requirements.txt"))]
        return "".join(lines) + f"\n# requirements.txt\n{requirements(step, at=self._wheels.path)}"

    def _commands(self, step: Step, listed: Path) -> list[list[str]]:
        """Return what is run: the environment itself unless it grows from a parent's, its wheels, and a check."""
        directory = self._environments.directory(step.key)
        python = ["--python", str(directory / "bin" / "python")]
        install = ["pip", "install", *python, "--no-deps", "--require-hashes", "-r", str(listed)]
        # Relocatable: the scripts of a parent work in its children too.
        make = ["venv", "--relocatable", "--python", step.base.reference, "--no-project", str(directory)]
        return [
            *([make] if step.parent is None else []),
            # uv refuses to check hashes of nothing.
            *([install] if step.distributions else []),
            ["pip", "list", *python, "--format", "freeze"],
        ]

    def _argv(self, job: Job, step: Step) -> list[str]:
        python = self._environments.directory(step.key) / "bin" / "python"
        launch = self._payload / "launch.py"
        return [str(python), "-u", str(launch), str(job.directory / "in/job.json"), str(job.directory / "out")]

    def _variables(self, job: Job, step: Step, home: Path) -> dict[str, str]:
        binaries = self._environments.directory(step.key) / "bin"
        return {
            "PATH": f"{binaries}{os.pathsep}{_PATH}",
            "TMPDIR": str(home.parent),
            **user_environment(str(home)),
            **probe_environment(job.device, job.environment),
            **({} if job.grant is None else job.grant.confinement),
        }


def _describe(job: Job) -> None:
    hand_over(job, describe(job, probes=str(job.probes.resolve()), runner=str(job.runner.resolve())))
