"""GPUs that nobody should use until this host is booted again, on disk where every user and run finds them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from orchestrator.codec import from_json, to_json
from orchestrator.devices.leases import shared_directory
from orchestrator.errors import EnvironmentUnusableError
from orchestrator.files import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX = ".quarantine"
_MOST = 64 * 1024
_CONTROL = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A GPU that is not to be used, why, and in which boot of the host that was found."""

    unit: str
    reason: str
    boot: str
    since: datetime


class Quarantine:
    """The record of this host. `boot` names its current boot: what an earlier one recorded holds no more."""

    def __init__(self, directory: Path, boot: str) -> None:
        self._directory = directory
        self._boot = boot

    def add(self, unit: str, reason: str) -> None:
        """Put a GPU into quarantine; one that is there already stays for its first reason."""
        if self.reason(unit) is None:
            since = datetime.now(UTC).replace(microsecond=0)
            entry = Quarantined(unit=unit, reason=_CONTROL.sub(" ", reason), boot=self._boot, since=since)
            write_atomic(self._path(unit), json.dumps(to_json(entry)).encode())

    def reason(self, unit: str) -> str | None:
        """Return why a GPU is in quarantine, None where it is not."""
        found = self._read(self._path(unit))
        if found is None:
            return None
        return f"in quarantine since {found.since:%Y-%m-%d %H:%M} UTC: {found.reason}"

    def held(self) -> tuple[Quarantined, ...]:
        """Return every GPU that is in quarantine now."""
        paths = sorted(self._directory.glob(f"*{_SUFFIX}"))
        return tuple(found for path in paths if (found := self._read(path)) is not None)

    def forget(self) -> tuple[Quarantined, ...]:
        """Let every GPU out again and return them.

        Raises:
            EnvironmentUnusableError: a record is another user's.
        """
        held = self.held()
        for path in self._directory.glob(f"*{_SUFFIX}"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise EnvironmentUnusableError(
                    f"the quarantine of {path.name.removesuffix(_SUFFIX)} stays: {path}: {error.strerror}",
                    hint="its owner or root can remove the file",
                ) from error
        return held

    def _path(self, unit: str) -> Path:
        return self._directory / f"{unit}{_SUFFIX}"

    def _read(self, path: Path) -> Quarantined | None:
        """Return what a record says. One that nobody can read counts: it was meant to keep others away."""
        try:
            # Everybody may write to the directory: nothing but a plain file is followed or waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(_MOST)
            found = from_json(Quarantined, json.loads(data))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            unit = path.name.removesuffix(_SUFFIX)
            reason = f"its record {path} cannot be read ({type(error).__name__})"
            return Quarantined(unit=unit, reason=reason, boot=self._boot, since=datetime.fromtimestamp(0, UTC))
        return found if found.boot == self._boot else None


def quarantine(boot: str, directory: Path | None = None) -> Quarantine:
    """Return the record of this host.

    Raises:
        EnvironmentUnusableError: there is no place for it.
    """
    return Quarantine(directory or shared_directory(), boot)
