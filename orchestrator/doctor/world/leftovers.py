"""Look for what earlier runs have left: in the engine, and in the store."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from orchestrator.doctor.leftovers import AttemptsSeen, ContainerSeen, Owner
from orchestrator.doctor.world.images import engine
from orchestrator.execute.owner import PREFIX, has_died, host, start_ticks
from orchestrator.images import TOOL, TOOL_LABEL
from orchestrator.images.buildkit import TRIAL
from orchestrator.images.engine import tags

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

_DAY = 24 * 3600.0
_ANSWER = "attempt.json"


def left_in_engine(_cancel: Event) -> tuple[tuple[ContainerSeen, ...], tuple[str, ...]]:
    """Return the containers of this tool, and the tags of images that trying a builder has left for an hour."""
    with engine() as opened:
        found = opened.api.containers(all=True, filters={"label": f"{TOOL_LABEL}={TOOL}"})
        tried = opened.api.images(TRIAL)
    old = time.time() - _DAY / 24
    # BuildKit gives an image of nothing no date: whether its maker still runs is asked as well.
    names = [name for image in tried if image["Created"] < old for name in tags(image)]
    return tuple(_container(one) for one in found), tuple(sorted(name for name in names if not _is_tried(name)))


def _is_tried(tag: str) -> bool:
    pid = tag.rpartition(":")[2].partition("-")[0]
    return pid.isdigit() and start_ticks(int(pid)) is not None


def _container(found: dict[str, Any]) -> ContainerSeen:
    labels: dict[str, str] = found.get("Labels") or {}
    if has_died(labels):
        owner = Owner.DEAD
    else:
        owner = Owner.ALIVE if labels.get(f"{PREFIX}host") == host() else Owner.ELSEWHERE
    names = found.get("Names") or [found["Id"][:12]]
    return ContainerSeen(name=names[0].removeprefix("/"), state=str(found.get("State")), owner=owner)


def left_in_store(store: Path, cancel: Event) -> AttemptsSeen:
    """Return how many attempts have no answer after a day."""
    directory = store / "attempts"
    old, count = time.time() - _DAY, 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if cancel.is_set():
                    break
                over = entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < old
                count += over and not os.path.lexists(os.path.join(entry.path, _ANSWER))  # noqa: PTH118
    except OSError:  # there is no store yet, or it is being cleared just now
        pass
    return AttemptsSeen(directory=str(directory), count=count)
