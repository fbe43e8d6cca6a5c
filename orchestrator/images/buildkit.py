"""Build through the docker command, whose BuildKit the Engine API does not offer."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from docker.errors import APIError
from filelock import FileLock

from orchestrator.images.builder import OURS, Build, BuildError
from orchestrator.images.engine import ENGINE_ERRORS, endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event

    from orchestrator.images.builder import Builder
    from orchestrator.images.engine import Engine

_TICK = 0.2
_TRIES = 10
_PAUSE = 0.3
_GRACE = 10.0
_TRIAL_TIMEOUT = 20.0
TRIAL = "orchestrator/trial"
"""What the images are called with which builders are tried."""

_PASSED_ON = ("PATH", "HOME", "LANG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR")


class BuildKitBuilder:
    """BuildKit behind one way of calling it, for example `docker build` or `docker buildx build --load`."""

    name = "buildkit"

    def __init__(self, engine: Engine, command: tuple[str, ...], lock: Path) -> None:
        self._engine = engine
        self.command = command
        self._lock = lock

    def build(self, build: Build, *, line: Callable[[str], None], timeout: float, cancel: Event) -> None:
        """Build and tag one image (see `Builder.build`)."""
        argv = [*self.command, "--progress=plain", "--tag", build.tag]
        for name, value in build.arguments.items():
            argv += ["--build-arg", f"{name}={value}"]
        for name, value in build.labels.items():
            argv += ["--label", f"{name}={value}"]
        if build.network is not None:
            argv += ["--network", build.network]
        since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        try:
            with build.context() as context:
                _run([*argv, "-"], context, line, timeout, cancel)
        finally:
            self._forget(since)

    def _forget(self, since: str) -> None:
        """Drop BuildKit's own hold on our layers: removing the image must give the space back.

        One at a time: the engine refuses to count and to prune twice at once, and prunes that cross each other
        leave records in use for ever.
        """
        # What is not dropped now is dropped after the next build.
        with FileLock(self._lock, is_singleton=False, thread_local=False), suppress(*ENGINE_ERRORS):
            api = self._engine.api
            for identity in own_records(_patiently(api.df).get("BuildCache") or [], since):
                _patiently(partial(api.prune_builds, filters={"id": identity}, all=True))  # type: ignore[arg-type]


def _patiently(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Call the engine, again where somebody else has it count or prune just now."""
    for _ in range(_TRIES):
        with suppress(APIError):
            return call()
        time.sleep(_PAUSE)
    return call()


def own_records(records: list[dict[str, Any]], since: str) -> list[str]:
    """Return the ids of the cache records that a build of ours has made, children first.

    Records carry no labels. Ours are those of an instruction that runs our installer, with what they stand on,
    and the unpacked contexts made `since` (UTC, ISO 8601): nobody's build can hit one of those again.
    """
    by_id = {record["ID"]: record for record in records if not record.get("InUse")}
    own: dict[str, None] = {}
    for record in by_id.values():
        if any(ours in record.get("Description", "") for ours in OURS):
            at: dict[str, Any] | None = record
            while at is not None:
                own[at["ID"]] = None
                at = by_id.get(at.get("Parent", ""))
    for identity, record in by_id.items():
        what = record.get("Description", "")
        unpacked = what == "fileop target" and not record.get("Parent")
        if record.get("CreatedAt", "") >= since and (
            unpacked or what.startswith("http url http://build-context-")
        ):
            own[identity] = None
    return list(own)


def find_buildkit(engine: Engine, lock: Path, *, cancel: Event | None = None) -> BuildKitBuilder | None:
    """Return the first way of calling BuildKit that really builds something, None where none does or cancelled.

    `lock` is a file that builders of the same engine share.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    for command in candidates():
        builder = BuildKitBuilder(engine, command, lock)
        if works(builder, engine, cancel=cancel):
            return builder
        if cancel is not None and cancel.is_set():
            break
    return None


def candidates() -> Iterator[tuple[str, ...]]:
    """Yield the ways of calling BuildKit with the docker commands on PATH."""
    seen: set[Path] = set()
    for directory in os.get_exec_path():
        found = shutil.which("docker", path=directory)
        if found and (real := Path(found).resolve()) not in seen:
            seen.add(real)
            yield (found, "build")
            yield (found, "buildx", "build", "--load")


def works(builder: Builder, engine: Engine, *, cancel: Event | None = None) -> bool:
    """Build an image of nothing and remove it again: version numbers do not tell, trying does."""
    tag = f"{TRIAL}:{trial_prefix()}{threading.get_ident()}"
    trial = Build(tag=tag, key="trial", dockerfile="FROM scratch\nLABEL io.orchestrator.tool=trial\n")
    try:
        builder.build(trial, line=lambda _: None, timeout=_TRIAL_TIMEOUT, cancel=cancel or threading.Event())
        return engine.image(tag) is not None
    except (BuildError, *ENGINE_ERRORS):
        return False
    finally:
        with suppress(*ENGINE_ERRORS):  # there is none where the trial failed
            engine.api.remove_image(tag)


def trial_prefix() -> str:
    """Return how the tags begin with which this process tries builders."""
    return f"{os.getpid()}-"


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # The endpoint that the API calls use, whatever context the command line has; and no proxy of the host.
    return passed | {"DOCKER_HOST": endpoint(), "DOCKER_BUILDKIT": "1", "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}


def _run(argv: list[str], stdin: IO[bytes], line: Callable[[str], None], timeout: float, cancel: Event) -> None:
    deadline = time.monotonic() + timeout
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(f"{argv[0]} cannot be started: {error.strerror}") from error
    with process:
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_feed, args=(process, stdin), daemon=True).start()
        reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        why = None
        while process.poll() is None and why is None:
            _drain(lines, line, wait=_TICK)
            if cancel.is_set():
                why = "cancelled"
            elif time.monotonic() > deadline:
                why = f"not done after {timeout:.0f} s"
        if why is not None:
            _stop(process)
        reader.join(_GRACE)
        _drain(lines, line, wait=0)
        if why is not None:
            raise BuildError(f"the build was stopped: {why}", stopped=True)
        if process.returncode != 0:
            raise BuildError(f"the build ended with exit status {process.returncode}")


def _feed(process: subprocess.Popen[bytes], source: IO[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError, ValueError), process.stdin:  # it ended before it had read everything
            shutil.copyfileobj(source, process.stdin)


def _read(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[str]) -> None:
    if process.stdout is not None:
        for raw in process.stdout:
            if text := raw.decode(errors="replace").rstrip():
                lines.put(text)


def _drain(lines: queue.SimpleQueue[str], line: Callable[[str], None], *, wait: float) -> None:
    with suppress(queue.Empty):
        line(lines.get(timeout=wait) if wait else lines.get_nowait())
        while True:
            line(lines.get_nowait())


def _stop(process: subprocess.Popen[bytes]) -> None:
    # The command passes no signal on; the engine cancels the build when the connection breaks.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
