"""`preflight.json` and `session.json`: what was installed, what imports, and how far the session came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator.codec import from_json
from orchestrator.model import Import

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A locked distribution and what is installed of it, if anything."""

    name: str
    wanted: str
    found: str | None

    @property
    def replaced(self) -> bool:
        """Whether something else, or nothing, is installed."""
        return self.found != self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What the payload checked before it started pytest."""

    attempt: str
    pins: tuple[Pin, ...]
    imports: tuple[Import, ...]
    runtime: Mapping[str, str] = field(default_factory=dict)
    """The device's libraries, with their versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How the payload ended; `pytest_exit` is None where pytest was not started."""

    attempt: str
    stage: str
    pytest_exit: int | None


def read_preflight(artifacts: Mapping[str, bytes]) -> Preflight | None:
    """Return what was checked; None where the file is missing or not whole."""
    return _read(Preflight, artifacts.get("preflight.json"))


def read_session(artifacts: Mapping[str, bytes]) -> Session | None:
    """Return how the payload ended; None where it never came to say so."""
    return _read(Session, artifacts.get("session.json"))


def _read(kind: type[T], data: bytes | None) -> T | None:
    try:
        return from_json(kind, json.loads(data or b""))
    except (ValueError, RecursionError):  # what a process that dies leaves behind
        return None
