"""Take the results out of a stopped container, without unpacking anything it made."""

from __future__ import annotations

import io
import stat
import tarfile
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from docker.errors import NotFound

from orchestrator.execute.artifacts import Harvest, objection
from orchestrator.execute.docker_spec import OUT
from orchestrator.execute.port import ARTIFACTS, MAX_ARTIFACT
from orchestrator.images import ENGINE_ERRORS, brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker import APIClient

_ENVELOPE = 16 * 1024
"""What a tar stream of one file may add: headers, padding, extended attributes."""

_LITTLE = 4 * 1024 * 1024
"""Bytes of a result directory that are read in one go."""

_GO_MODES = ((1 << 31, stat.S_IFDIR), (1 << 27, stat.S_IFLNK), (1 << 25, stat.S_IFIFO), (1 << 24, stat.S_IFSOCK))
_GO_DEVICE = 1 << 26


def harvest_container(api: APIClient, container: str) -> Harvest:
    """Read the expected files: all at once where that is little, else each by itself.

    Every request makes the engine mount the container's file systems, which costs more than what is read. A
    directory of any size is safe to ask for: what is beyond the first `_LITTLE` bytes is never transferred.
    """
    harvest = _at_once(api, container)
    for name in ARTIFACTS:
        if name in harvest.taken or name in harvest.refused:
            continue
        try:
            stream, found = api.get_archive(container, f"{OUT}/{name}")
        except NotFound:
            continue
        except ENGINE_ERRORS as error:
            harvest.refused[name] = f"the engine does not give it: {brief(error)}"
            continue
        with closing(stream):
            _take(harvest, name, stream, found or {})
    return harvest


def _at_once(api: APIClient, container: str) -> Harvest:
    """Read the directory, nothing where it holds too much.

    What is missing here may be there all the same: it is asked for by itself, which tells what is wrong with it.
    A link is not left to that, because Podman follows it.
    """
    harvest = Harvest()
    try:
        stream, _ = api.get_archive(container, OUT)
        with closing(stream):
            received = _limited(stream, _LITTLE)
    except ENGINE_ERRORS:
        return harvest
    with suppress(tarfile.TarError), tarfile.open(fileobj=io.BytesIO(received or b""), mode="r:") as tar:
        # The directory itself comes first: `out`, and `/` of Podman's volumes.
        root = (tar.next() or tarfile.TarInfo()).name.strip("/")
        for member in tar:
            directory, _, name = member.name.rpartition("/")
            if directory.strip("/") != root or name not in ARTIFACTS:
                continue
            if member.issym():
                harvest.refused[name] = str(objection(stat.S_IFLNK, 0))
            elif member.isreg() and (file := tar.extractfile(member)) is not None:
                harvest.taken[name] = file.read()
    return harvest


def _limited(stream: Iterator[bytes], limit: int) -> bytes | None:
    """Return what a stream holds, None where it is more than `limit` bytes."""
    received = bytearray()
    for chunk in stream:
        received += chunk
        if len(received) > limit:
            return None
    return bytes(received)


def _take(harvest: Harvest, name: str, stream: Iterator[bytes], found: dict[str, Any]) -> None:
    reason = objection(_mode(int(found.get("mode", 0))), int(found.get("size", 0)))
    if reason is None:
        try:
            data = _single(stream, name)
        except (tarfile.TarError, *ENGINE_ERRORS) as error:
            reason = f"arrived broken: {brief(error)}"
        else:
            if data is not None:
                harvest.taken[name] = data
                return
            reason = "is no regular file"
    harvest.refused[name] = reason


def _single(stream: Iterator[bytes], name: str) -> bytes | None:
    """Return the one regular member of a tar stream, None where it is anything else."""
    received = _limited(stream, MAX_ARTIFACT + _ENVELOPE)
    if received is None:
        return None
    with tarfile.open(fileobj=io.BytesIO(received), mode="r:") as tar:
        member = tar.next()
        if member is None or not member.isreg() or member.name != name or member.size > MAX_ARTIFACT:
            return None
        file = tar.extractfile(member)
        return file.read() if file is not None else None


def _mode(go: int) -> int:
    """Translate the engine's file mode, which is Go's, to that of `stat`."""
    for bit, kind in _GO_MODES:
        if go & bit:
            return kind
    return stat.S_IFCHR if go & _GO_DEVICE else stat.S_IFREG
