"""Reuse keys: a result is used again where everything that could change it is the same."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.codec import to_json
from orchestrator.errors import ConfigError
from orchestrator.execute.environment import probe_environment
from orchestrator.model import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from orchestrator.model import Cell, Lock, Matrix


class ReuseKeys:
    """The keys of a matrix's results.

    `runner` gives the digest of what runs probes on a Python ("3.11"); `fingerprint` says which device a cell
    computes on, where results depend on more than its kind.
    """

    def __init__(
        self,
        matrix: Matrix,
        *,
        runner: Callable[[str], str],
        fingerprint: Callable[[Cell], str] = lambda cell: cell.device,
    ) -> None:
        self._matrix = matrix
        self._runner = runner
        self._fingerprint = fingerprint
        self._modules: dict[str, str] = {}
        self._settings: dict[tuple[str, ...], str] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._together: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}

    def environment(self, lock: Lock, base: str) -> str:
        """Return the key of what is installed: the locked distributions on a base (by digest)."""
        return environment_key(lock.contents, base)

    def probes(self, cell: Cell, nodeids: Iterable[str]) -> Mapping[str, str]:
        """Return the key of each probe in a cell: its code, what it leans on, and how it is run.

        Raises:
            ConfigError: a probe's file cannot be read.
        """
        alike = (self._settings_of(cell), tuple(nodeids))
        found = self._together.get(alike)
        if found is None:
            found = self._together[alike] = {one: self._key(one, alike[0]) for one in alike[1]}
        return found

    def _key(self, nodeid: str, settings: str) -> str:
        known = self._keys.get((nodeid, settings))
        if known is None:
            known = self._keys[nodeid, settings] = probe_key(nodeid, self._module(nodeid), settings)
        return known

    def _settings_of(self, cell: Cell) -> str:
        """Return the digest of what a cell's probes run under, worked out once for all cells that are alike."""
        fingerprint = self._fingerprint(cell)
        alike = (cell.python, cell.device, fingerprint, *cell.requires)
        if alike not in self._settings:
            self._settings[alike] = self._digest_settings(cell, fingerprint)
        return self._settings[alike]

    def _digest_settings(self, cell: Cell, fingerprint: str) -> str:
        limits = self._matrix.limits
        return digest(
            {
                "runner": self._runner(cell.python),
                "support": self._support,
                "device": fingerprint,
                "environment": probe_environment(cell.device, self._matrix.environment),
                "modules": [self._matrix.packages[name].module for name in cell.requires],
                # Those that a probe can run into; the build's own do not touch it.
                "limits": to_json([limits.probe_timeout, limits.memory, limits.shm, limits.pids]),
            }
        )

    def _module(self, nodeid: str) -> str:
        name = nodeid.partition("::")[0]
        if name not in self._modules:
            self._modules[name] = _file_digest(self._matrix.probes / name)
        return self._modules[name]

    @cached_property
    def _support(self) -> str:
        return support_digest(self._matrix.probes)


def environment_key(lock: str, base: str) -> str:
    """Return the key of a lock (by digest) on a base (by digest)."""
    return digest([lock, base])


def probe_key(nodeid: str, module: str, settings: str) -> str:
    """Return the key of a probe: its node id, the digest of its file, and that of the settings it runs under."""
    return digest([nodeid, module, settings])


def support_digest(probes: Path) -> str:
    """Return the digest of what probe modules may lean on: every other Python and ini file beside them."""
    files = (path for pattern in ("*.py", "*.ini", "*.toml", "*.cfg") for path in probes.rglob(pattern))
    support: Mapping[str, str] = {
        path.relative_to(probes).as_posix(): _file_digest(path)
        for path in files
        if path.is_file() and not path.name.startswith("test_")
    }
    return digest(support)


def _file_digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read the probe file {path}: {error.strerror}") from None
