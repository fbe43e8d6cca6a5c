"""Judge the container engine: whether it answers, and whether it is one that containers can be run on safely."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from orchestrator.doctor.disk import size
from orchestrator.doctor.finding import Finding, Level
from orchestrator.doctor.rights import Rights, how_to_join

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_API = (1, 41)
"""Docker 20.10: the first with cgroup v2, and the oldest that the containers here are tested on."""

_WHOLE_COPIES = ("vfs",)
_SKEW = 5.0
_START = "`sudo systemctl start docker`"


class Silence(StrEnum):
    """Why an engine does not answer."""

    ABSENT = "absent"
    NO_SOCKET = "no socket"
    REFUSED = "refused"
    FORBIDDEN = "forbidden"
    HANGS = "hangs"
    ANCIENT = "ancient"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """An engine that could not be asked."""

    endpoint: str
    named: bool
    """DOCKER_HOST names it; else it is the usual place."""
    silence: Silence
    reason: str
    socket: Rights | None = None
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Other engines that answer on this host: what has them, and their endpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSeen:
    """An engine as it describes itself."""

    endpoint: str
    product: str
    version: str
    api: str
    system: str
    """Operating system and architecture of the containers, `linux/amd64`."""
    driver: str
    cgroup_version: str
    cgroup_driver: str
    rootless: bool
    limits_memory: bool
    limits_pids: bool
    memory: int
    """Bytes that the engine's machine has."""
    root: str
    """Where it keeps its data, on its own machine."""
    local: bool
    """It shares this host's file systems, as far as one can tell."""
    ahead: float | None
    """Seconds that its clock is ahead of this host's; None where it does not tell."""
    runtimes: tuple[str, ...] = ()
    cdi: bool = False
    proxies: Mapping[str, str] = field(default_factory=dict)


def judge_silence(seen: Unreachable) -> Iterator[Finding]:
    """Say why no engine answers, and what to do about just that."""
    detail = "; ".join(f"{what} has one at {endpoint}" for what, endpoint in seen.elsewhere)
    hint = _hint(seen)
    if seen.elsewhere:
        hint = f"`export DOCKER_HOST={seen.elsewhere[0][1]}`" + (f"; or {hint}" if hint else "")
    yield Finding(
        id="engine",
        level=Level.PROBLEM,
        summary=f"no engine answers at {seen.endpoint}{_named(seen)}: {_WORDS[seen.silence] or seen.reason}",
        detail="; ".join(part for part in (seen.reason if _WORDS[seen.silence] else "", detail) if part),
        hint=hint,
        stops=("docker",),
    )


_WORDS = {
    Silence.ABSENT: "there is no such socket",
    Silence.NO_SOCKET: "this is not a socket",
    Silence.REFUSED: "nobody listens there",
    Silence.FORBIDDEN: "this user may not open it",
    Silence.HANGS: "it takes the connection and never answers",
    Silence.ANCIENT: "it is too old",
    Silence.OTHER: "",
}


def _named(seen: Unreachable) -> str:
    return " (from DOCKER_HOST)" if seen.named else ""


def _hint(seen: Unreachable) -> str:
    if seen.silence is Silence.FORBIDDEN:
        if seen.socket is None:
            return f"a directory above the socket is closed to this user: look at `namei -l {_path(seen)}`"
        return how_to_join(seen.socket) + " (the group is as good as root)"
    if seen.silence is Silence.ANCIENT:
        return "install Docker 20.10 or newer"
    if seen.named:
        if seen.silence is Silence.HANGS:
            return "restart that engine, or `unset DOCKER_HOST` for the local one"
        return "correct DOCKER_HOST or start that engine; `unset DOCKER_HOST` for the local one"
    return {
        Silence.ABSENT: f"install Docker and start it: {_START}",
        Silence.NO_SOCKET: f"remove {_path(seen)} and start Docker: {_START}",
        Silence.REFUSED: f"Docker has died or was never started: {_START}, then `journalctl -u docker`",
        Silence.HANGS: "`sudo systemctl restart docker`; `journalctl -u docker` may say what it waits for",
    }.get(seen.silence, f"see whether `docker version` works, and start Docker: {_START}")


def _path(seen: Unreachable) -> str:
    return seen.endpoint.partition("://")[2]


def judge_engine(seen: EngineSeen) -> Iterator[Finding]:
    """Say what an engine is like, and what about it keeps containers from working or from being safe."""
    yield Finding(
        id="engine",
        level=Level.OK,
        summary=f"{seen.product} {seen.version} answers at {seen.endpoint}",
        detail=f"{seen.system}, data in {seen.root}",
    )
    yield _api(seen)
    if seen.system.partition("/")[0] != "linux":
        yield Finding(
            id="engine.system",
            level=Level.PROBLEM,
            summary=f"the engine runs {seen.system} containers, and images here are Linux",
            hint="switch the engine to Linux containers",
            stops=("docker",),
        )
    yield _storage(seen)
    yield _cgroups(seen)
    yield _privileges(seen)
    if not seen.local:
        yield Finding(
            id="engine.local",
            level=Level.PROBLEM,
            summary=f"the engine at {seen.endpoint} is on another machine, and containers read this one's files",
            hint="run on that machine, or unset DOCKER_HOST",
            stops=("docker",),
        )
    if seen.ahead is not None:
        yield _clock(seen.ahead)


def _api(seen: EngineSeen) -> Finding:
    found = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", seen.api)
    if found and (int(found[1]), int(found[2])) >= LEAST_API:
        return Finding(id="engine.api", level=Level.OK, summary=f"API {seen.api}")
    least = ".".join(map(str, LEAST_API))
    return Finding(
        id="engine.api",
        level=Level.PROBLEM,
        summary=f"the engine's API is {seen.api or 'unknown'}, and {least} is the oldest that will do",
        hint="install Docker 20.10 or newer, or Podman 3 or newer",
        stops=("docker",),
    )


def _storage(seen: EngineSeen) -> Finding:
    if seen.driver in _WHOLE_COPIES:
        return Finding(
            id="engine.storage",
            level=Level.PROBLEM,
            summary=f"the storage driver {seen.driver} copies layers as a whole: what is shared saves no space",
            hint='set "storage-driver": "overlay2" in /etc/docker/daemon.json (fuse-overlayfs in a container)',
        )
    return Finding(id="engine.storage", level=Level.OK, summary=f"storage driver {seen.driver or 'unknown'}")


def _cgroups(seen: EngineSeen) -> Finding:
    lacking = [
        what
        for what, able in (("memory", seen.limits_memory), ("the number of processes", seen.limits_pids))
        if not able
    ]
    words = f"cgroup v{seen.cgroup_version or '?'}, driver {seen.cgroup_driver or 'unknown'}"
    if lacking:
        return Finding(
            id="engine.limits",
            level=Level.PROBLEM,
            summary=f"the engine cannot limit {' and '.join(lacking)}: one probe can take this host down",
            detail=words,
            hint="use cgroup v2 with systemd; rootless: delegate the memory and pids controllers to the user",
        )
    return Finding(id="engine.limits", level=Level.OK, summary=f"memory and processes can be limited ({words})")


def _privileges(seen: EngineSeen) -> Finding:
    if seen.rootless:
        return Finding(
            id="engine.rootless",
            level=Level.NOTE,
            summary="the engine is rootless: a container may open a device only where this user may",
        )
    return Finding(id="engine.rootless", level=Level.OK, summary="the engine runs as root")


def _clock(ahead: float) -> Finding:
    if abs(ahead) > _SKEW:
        way = "ahead of" if ahead > 0 else "behind"
        return Finding(
            id="engine.clock",
            level=Level.PROBLEM,
            summary=f"the engine's clock is {abs(ahead):.0f} s {way} this host's: times are compared with both",
            hint="synchronise both (`timedatectl set-ntp true`); a virtual machine that slept may need a restart",
        )
    return Finding(id="engine.clock", level=Level.OK, summary="the engine's clock agrees with this host's")


def judge_memory(seen: EngineSeen, wanted: int) -> Iterator[Finding]:
    """Compare what a cell may use with what the engine's machine has; bytes."""
    if 0 < seen.memory < wanted:
        yield Finding(
            id="engine.memory",
            level=Level.PROBLEM,
            summary=(
                f"`limits.memory` lets a cell use {size(wanted)}, and the engine's machine has {size(seen.memory)}"
            ),
            hint="lower `limits.memory` in the matrix, or give the machine more",
        )
