"""What the scheduler needs of a runtime, and what a runtime gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from orchestrator.devices import BACKENDS, Grant
from orchestrator.model import BaseImage, Device, Distribution, Limits, Lock, Wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event

MAX_ARTIFACT = 32 * 1024 * 1024
"""Largest file that is taken from a result directory, in bytes."""

ARTIFACTS = ("junit.xml", "report.jsonl", "progress.jsonl", "preflight.json", "session.json")
"""The files that the payload writes to its result directory (docs/reference/attempt.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What lies below the locked distributions: a base image or an interpreter.

    `digest` is part of every result's reuse key; `reference` is what the runtime starts from.
    """

    python: str
    digest: str
    reference: str
    origin: str
    """Where it came from, in words: "local image", "pulled", "bootstrapped from Debian bookworm", …"""
    prebuilt: bool = False
    """Whether the packages under test are in it already: then its one step installs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to prepare: a layer on its parent, or a whole environment.

    `key` is the content digest of the step with all its parents; nothing is prepared twice for one key.
    """

    key: str
    parent: str | None
    base: Base
    platform: str
    distributions: tuple[Distribution, ...]
    download: int = 0
    """Bytes of those wheels that no earlier step of the plan fetches, as far as the index tells their sizes."""

    @property
    def size(self) -> int:
        """Bytes of all its wheels as they are fetched, as far as the index tells."""
        return sum(d.size or 0 for d in self.distributions)

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        """What it installs, the largest first."""
        ordered = sorted(self.distributions, key=lambda d: (-(d.size or 0), d.wheel))
        return tuple(d.wheel for d in ordered)

    @property
    def title(self) -> str:
        """What people call it: its largest wheel, and how many more there are."""
        if self.base.prebuilt:
            return self.base.origin
        return title(self.wheels) or f"Python {self.base.python}"


def title(wheels: Sequence[Wheel]) -> str:
    """Name some wheels by the first of them: "torch 2.1.2 +3"."""
    if not wheels:
        return ""
    name, version, _ = wheels[0]
    return f"{name} {version}" + (f" +{len(wheels) - 1}" if len(wheels) > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps, parents first, and the step that holds each lock's environment (by lock digest)."""

    steps: Mapping[str, Step]
    environments: Mapping[str, str]

    def chain(self, lock: str) -> tuple[Step, ...]:
        """Return the steps that lead to a lock's environment, the base's first."""
        chain: list[Step] = []
        key: str | None = self.environments[lock]
        while key is not None:
            step = self.steps[key]
            chain.append(step)
            key = step.parent
        return tuple(reversed(chain))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A step that was prepared, by whichever run, and is still there."""

    key: str
    parent: str | None
    base: str
    """The digest of the base that the chain stands on."""
    platform: str
    wheels: tuple[Wheel, ...]
    """What the step itself adds to its parent, the largest first."""
    size: int
    """Bytes that it alone holds."""
    used: datetime
    """When it was made or last used, whichever is later (UTC)."""

    @property
    def title(self) -> str:
        """What people call it: its largest wheel, and how many more there are."""
        return title(self.wheels) or ("base" if self.key == self.base else "layer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Probes to execute in one cell's environment.

    `directory` is a fresh directory of this attempt on the host; the job description is written to
    `directory/in/job.json`, the console log to `directory/log.txt`, artifacts to `directory/out`.
    """

    attempt: str
    cell: str
    lock: Lock
    device: Device
    probes: Path
    runner: Path
    nodeids: tuple[str, ...]
    modules: tuple[tuple[str, str], ...]
    """(package name, module to import) of every package under test, in pre-flight order."""
    environment: Mapping[str, str]
    limits: Limits
    directory: Path
    grant: Grant | None = None
    """What it may compute on; None until the scheduler has it."""

    @property
    def ungranted(self) -> str | None:
        """Why it cannot be run as it is, None where it can: no GPU was given to it."""
        if self.grant is None and BACKENDS[self.device].leased:
            return f"no {self.device} was given to this cell"
        return None

    @property
    def deadline(self) -> float:
        """Seconds after which the whole attempt is stopped, whatever it does."""
        return deadline(self.limits, modules=len(self.modules), probes=len(self.nodeids))


def deadline(limits: Limits, *, modules: int, probes: int) -> float:
    """Return the seconds after which an attempt is stopped that imports some packages and runs some probes."""
    return 120.0 * (1 + modules) + (limits.probe_timeout + 15.0) * probes


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAttempt:
    """What came out of one execution, before anybody judges it.

    `artifacts` holds the bytes of the files that were there and readable; `refused` says of the others why
    not (missing files are in neither). Exactly one of `exit_code` and `signal` is set when the process ended.
    """

    exit_code: int | None = None
    signal: int | None = None
    started: bool = True
    """False where the process or container never ran: then `failure` says why, and it is infrastructure."""
    failure: str | None = None
    survived: bool = False
    """True where not even SIGKILL ended it: what it computed on is not to be used any more."""
    deadline_passed: bool = False
    cancelled: bool = False
    out_of_memory: bool = False
    duration: float = 0.0
    log: str = ""
    """Head and tail of the console output, control characters kept."""
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


class StepFailedError(Exception):
    """A step could not be prepared. `log` is the tail of its output; `transient` marks what a retry may cure."""

    def __init__(self, reason: str, *, log: str = "", transient: bool = False) -> None:
        super().__init__(reason)
        self.log = log
        self.transient = transient


class Runtime(Protocol):
    """Where environments are made and probes run. Methods may be called from several threads at once."""

    name: str
    notices: tuple[str, ...]
    """What a user should know about results from this runtime, one sentence each."""

    def base(self, image: BaseImage, say: Callable[[str], None]) -> Base:
        """Find or make what lies below cells: the base of one Python, or a prebuilt image.

        Raises:
            EnvironmentUnusableError: no way to get it works here; the message lists what was tried.
        """
        ...

    def contents(self, base: Base) -> Mapping[str, str] | None:
        """Return what a prebuilt base has installed, name to version; None as long as it was never here."""
        ...

    def plan(self, locks: Sequence[tuple[Lock, Base]]) -> Plan:
        """Plan the environments of all locks together, on what is held already. Nothing is made."""
        ...

    def ready(self, step: Step) -> bool:
        """Tell whether the step has been prepared before and is still there."""
        ...

    def expect(self, steps: Sequence[Step]) -> None:
        """Take note that these steps will be prepared, about in this order: their wheels may be fetched ahead."""
        ...

    def prepare(self, step: Step, limits: Limits, say: Callable[[str], None], cancel: Event) -> None:
        """Make a step whose parent is ready. `say` gets progress lines.

        Raises:
            StepFailedError: it could not be made.
        """
        ...

    def execute(self, job: Job, step: Step, say: Callable[[str], None], cancel: Event) -> RawAttempt:
        """Run a job in the environment of a ready step, within its limits, and collect what it left."""
        ...

    def held(self) -> Mapping[str, Held]:
        """Return everything that `prepare` made and that is still there, by key, with what it made them on.

        Steps of earlier runs and of other matrices are in it, as long as this tool made them.
        """
        ...

    def discard(self, key: str) -> bool:
        """Remove what `prepare` made; tell whether it is gone. What others stand on, or use just now, stays."""
        ...

    def export(self, base: Base, directory: Path, limits: Limits, cancel: Event) -> None:
        """Write what another host needs to have this base to a directory; nothing where it must bring it itself.

        Raises:
            StepFailedError: the base cannot be made or written.
        """
        ...

    def finish(self, say: Callable[[str], None], cancel: Event) -> None:
        """Wait for what goes on in the background; `cancel` ends the waiting."""
        ...

    def close(self) -> None:
        """End what goes on in the background, and let go of the world."""
        ...

    def command(self, job: Job, step: Step) -> tuple[str, ...]:
        """Return the exact command that `execute` would run, for people to repeat it.

        The job description that it reads is written to the job's directory.
        """
        ...

    def shell(self, job: Job, step: Step, *, terminal: bool) -> tuple[str, ...]:
        """Return the command that opens a shell where `execute` would run the job.

        `terminal` tells whether there is one; `again` is how the job is run from the shell. The job description is
        written to the job's directory.
        """
        ...

    def again(self, job: Job, step: Step) -> str:
        """Return what runs the job's probes, typed into the shell."""
        ...

    def recipe(self, step: Step) -> str:
        """Return how the step is made, as text: the Dockerfile or the commands."""
        ...
