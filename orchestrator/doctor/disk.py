"""Judge free space: of the engine's data, and of the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.doctor.finding import BOTH, Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 10**9
"""Bytes below which a run cannot work: logs and results are lost before anything says that the disk is full."""

LEAST_FILES = 20_000
"""Files that an environment of torch may have."""

_TIGHT = 10 * 10**9
"""Bytes of which a few layers of torch leave nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A file system: bytes and files that this user can still write; None files where it counts none."""

    path: str
    free: int
    files: int | None
    writable: bool = True
    trouble: str = ""
    """Why nothing can be written, in the system's words."""


def judge_engine_disk(volume: Volume | None, *, root: str, held: int | None, limit: int) -> Iterator[Finding]:
    """Judge the space for images. `held` is what images of ours hold already, None where that is not known."""
    if volume is None:
        yield Finding(
            id="disk.engine",
            level=Level.NOTE,
            summary=f"the engine keeps its data in {root or 'an unknown place'}, which is not seen from here",
            hint="`docker system df` says what it holds; look at the free space on its machine",
        )
        return
    if (full := _full(volume)) is not None:
        yield Finding(
            id="disk.engine",
            level=Level.PROBLEM,
            summary=f"{full} where the engine keeps its images, {root}",
            hint="`orchestrator prune --all` drops the images of this tool; `docker system df` shows the others",
            stops=("docker",),
        )
        return
    room = f"{size(volume.free)} free where the engine keeps its images, {root}"
    if held is None:
        yield Finding(id="disk.engine", level=Level.OK, summary=room)
        return
    may_take = max(0, limit - held)
    detail = f"images of this tool hold {size(held)}, `limits.disk` is {size(limit)}"
    if volume.free < may_take:
        tight = volume.free < _TIGHT
        yield Finding(
            id="disk.engine",
            level=Level.PROBLEM if tight else Level.NOTE,
            summary=f"{room}, and `limits.disk` lets a run take {size(may_take)} more",
            detail=detail,
            hint=(
                f"lower `limits.disk` to at most {size(held + volume.free - LEAST)}, or free some; "
                "`orchestrator plan` says what a run needs"
            ),
        )
        return
    yield Finding(id="disk.engine", level=Level.OK, summary=room, detail=detail)


def judge_store(volume: Volume, *, wheels: int) -> Iterator[Finding]:
    """Judge the place of results, locks and caches; `wheels` is how much the wheel cache may take."""
    if not volume.writable:
        yield Finding(
            id="disk.store",
            level=Level.PROBLEM,
            summary=f"nothing can be written to the store {volume.path}: {volume.trouble}",
            hint="name another place with --store, or take the directory over with chown",
            stops=BOTH,
        )
        return
    if (full := _full(volume)) is not None:
        yield Finding(
            id="disk.store",
            level=Level.PROBLEM,
            summary=f"{full} for the store {volume.path}",
            hint="`orchestrator prune --wheels` empties the cache of wheels; or name another place with --store",
            stops=BOTH,
        )
        return
    room = f"{size(volume.free)} free for the store {volume.path}"
    if volume.free < wheels:
        yield Finding(
            id="disk.store",
            level=Level.NOTE,
            summary=f"{room}, and `limits.wheels` lets the cache of wheels take {size(wheels)}",
            hint="lower `limits.wheels`, or name another place with --store",
        )
        return
    yield Finding(id="disk.store", level=Level.OK, summary=room)


def _full(volume: Volume) -> str | None:
    if volume.free < LEAST:
        return f"only {size(volume.free)} free"
    if volume.files is not None and volume.files < LEAST_FILES:
        return f"only {volume.files} more files fit (inodes)"
    return None


def size(value: float) -> str:
    """Write a number of bytes: 1.4 GB, 12 MB, 3 kB."""
    if value >= 10**9:
        return f"{value / 1e9:.1f} GB"
    return f"{value / 1e6:.0f} MB" if value >= 10**6 else f"{max(value, 0) / 1e3:.0f} kB"
