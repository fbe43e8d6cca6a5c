"""Ask the container engine who it is; where it does not answer, find out why and who else does."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.doctor.engine import EngineSeen, Silence, Unreachable
from orchestrator.doctor.world.rights import rights
from orchestrator.images import ENGINE_ERRORS, brief, connect
from orchestrator.images.engine import endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

TIMEOUT = 3.0
_KNOCK = 0.5
_ANCIENT = "API versions below"
"""What the client library says of an engine that is too old for it."""


def look_at_engine(_cancel: Event) -> EngineSeen | Unreachable:
    """Return what the engine says of itself, or why it says nothing."""
    try:
        client = connect(TIMEOUT)
    except ENGINE_ERRORS as error:
        return _silent(error)
    try:
        asked = time.time()
        said: dict[str, Any] = client.info()
        now = (asked + time.time()) / 2
        version: dict[str, Any] = client.version()
        return _seen(said, version, now)
    except ENGINE_ERRORS as error:
        return _silent(error)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return _silent(OSError(f"it does not answer like an engine ({type(error).__name__})"))
    finally:
        client.close()


def _seen(said: dict[str, Any], version: dict[str, Any], now: float) -> EngineSeen:
    components = version.get("Components") or [{}]
    podman = "Podman" in str(components[0].get("Name"))
    root = str(said.get("DockerRootDir") or "")
    proxies = {name: str(said.get(name) or "") for name in ("HttpProxy", "HttpsProxy", "NoProxy")}
    security = [str(option) for option in said.get("SecurityOptions") or ()]
    return EngineSeen(
        endpoint=endpoint(),
        product="Podman" if podman else "Docker",
        version=str(version["Version"]),
        api=str(version["ApiVersion"]),
        system=f"{version.get('Os') or said.get('OSType')}/{version.get('Arch')}",
        driver=str(said.get("Driver") or ""),
        cgroup_version=str(said.get("CgroupVersion") or "1"),  # engines from before 20.10 know no other
        cgroup_driver=str(said.get("CgroupDriver") or ""),
        rootless=any("rootless" in option for option in security),
        limits_memory=bool(said.get("MemoryLimit", True)),
        limits_pids=bool(said.get("PidsLimit", True)),
        memory=int(said.get("MemTotal") or 0),
        root=root,
        local=endpoint().startswith("unix://") or _is_loopback(endpoint()),
        ahead=_ahead(said.get("SystemTime"), now),
        runtimes=tuple(said.get("Runtimes") or ()),
        cdi=bool(said.get("CDISpecDirs")),
        proxies={name: value for name, value in proxies.items() if value},
    )


def _is_loopback(where: str) -> bool:
    host = where.partition("://")[2].rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _ahead(told: object, now: float) -> float | None:
    try:
        # The engine gives nanoseconds, which the parser cuts off.
        moment = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return moment.astimezone(UTC).timestamp() - now


def _silent(error: BaseException) -> Unreachable:
    where = endpoint()
    path = Path(where.removeprefix("unix://")) if where.startswith("unix://") else None
    return Unreachable(
        endpoint=where,
        named=is_named(),
        silence=_silence(error, path),
        reason=brief(error),
        socket=None if path is None else rights(path),
        elsewhere=tuple(_elsewhere(where)),
    )


def is_named() -> bool:
    """Tell whether the user names the engine."""
    return bool(os.environ.get("DOCKER_HOST"))


def _silence(error: BaseException, path: Path | None) -> Silence:
    if _ANCIENT in str(error):
        return Silence.ANCIENT
    chain = list(_causes(error))
    if any(isinstance(one, FileNotFoundError) for one in chain):
        return Silence.ABSENT
    if any(isinstance(one, PermissionError) for one in chain):
        return Silence.FORBIDDEN
    if any(isinstance(one, TimeoutError) for one in chain):
        return Silence.HANGS
    if any(isinstance(one, ConnectionRefusedError) for one in chain):
        return Silence.NO_SOCKET if path is not None and not _is_socket(path) else Silence.REFUSED
    return Silence.OTHER


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _elsewhere(tried: str) -> Iterator[tuple[str, str]]:
    """Find the engines that answer at the other usual places, and where the docker command's context leads."""
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places = [
        *_context(Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")),
        ("Docker", "unix:///var/run/docker.sock"),
        ("rootless Docker", f"unix://{runtime}/docker.sock"),
        ("rootless Podman", f"unix://{runtime}/podman/podman.sock"),
        ("Podman", "unix:///run/podman/podman.sock"),
    ]
    told = {tried}
    for what, where in places:
        if where not in told and _listens(where):
            told.add(where)
            yield what, where


def _context(config: Path) -> Iterator[tuple[str, str]]:
    """Return the endpoint of the docker command's current context, which this program does not follow."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        name = (
            os.environ.get("DOCKER_CONTEXT") or json.loads((config / "config.json").read_bytes())["currentContext"]
        )
        directory = hashlib.sha256(name.encode()).hexdigest()
        meta = json.loads((config / "contexts/meta" / directory / "meta.json").read_bytes())
        yield f"the context {name!r} of the docker command", str(meta["Endpoints"]["docker"]["Host"])


def _listens(where: str) -> bool:
    scheme, _, path = where.partition("://")
    if scheme != "unix":
        return False  # whoever listens at an address need not be an engine
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(_KNOCK)
        try:
            knock.connect(path)
        except OSError:
            return False
    return True
