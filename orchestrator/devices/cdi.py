"""Devices by the Container Device Interface: which of those that are specified on this host holds a device node.

Found by the node, not by a guess at the name: generators name devices by card, by number, by UUID or by address.
https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import EnvironmentUnusableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orchestrator.devices.port import Passthrough

_SUFFIXES = (".json", ".yaml", ".yml")
_MOST = 4 * 1024 * 1024


class CdiUnusableError(EnvironmentUnusableError):
    """The matrix asks for CDI, and this engine or host cannot do it; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Specified:
    name: str
    nodes: frozenset[str]


def spec_directories(info: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return where an engine looks for specifications, from what it says of itself.

    Raises:
        CdiUnusableError: it does not know CDI, or has it switched off.
    """
    version = str(info.get("ServerVersion") or "unknown")
    if "CDISpecDirs" not in info:
        raise CdiUnusableError(f"this engine (version {version}) does not know CDI, which Docker has since 25")
    directories = tuple(Path(str(path)) for path in info["CDISpecDirs"] or ())
    if not directories:
        raise CdiUnusableError(
            f'CDI is switched off in this engine (version {version}): set {{"features": {{"cdi": true}}}} in its'
            " daemon.json"
        )
    return directories


def through_cdi(passthrough: Passthrough, directories: Iterable[Path]) -> Passthrough:
    """Return a passthrough by CDI devices instead of nodes, each the narrowest that holds its node.

    Raises:
        CdiUnusableError: a node is in no specification.
    """
    places = tuple(directories)
    specified = [one for directory in places for one in _specified(directory)]
    names = []
    for node in passthrough.by_cdi:
        holding = sorted((len(one.nodes), one.name) for one in specified if node in one.nodes)
        if not holding:
            where = " or ".join(map(str, places))
            raise CdiUnusableError(f"no CDI device in {where} has {node}: generate the specification again")
        names.append(holding[0][1])
    return passthrough.resolved(tuple(names))


def _specified(directory: Path) -> Iterator[_Specified]:
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.suffix in _SUFFIXES:
            spec = _load(path)
            kind, devices = spec.get("kind"), spec.get("devices")
            for device in devices if isinstance(devices, list) else ():
                if isinstance(device, dict) and isinstance(device.get("name"), str | int):
                    yield _Specified(name=f"{kind}={device['name']}", nodes=frozenset(_nodes(device)))


def _nodes(device: dict[str, Any]) -> Iterator[str]:
    edits = device.get("containerEdits")
    listed = edits.get("deviceNodes") if isinstance(edits, dict) else None
    for node in listed if isinstance(listed, list) else ():
        if isinstance(node, dict):
            # The path on the host may be another than the one in the container.
            yield str(node.get("hostPath") or node.get("path"))


def _load(path: Path) -> dict[str, Any]:
    """Return a specification; one that cannot be read specifies nothing, as the engine sees it too."""
    import yaml  # noqa: PLC0415 - only where the matrix asks for CDI

    try:
        with path.open("rb") as file:
            # A JSON file is YAML too.
            spec = yaml.safe_load(file.read(_MOST))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return spec if isinstance(spec, dict) else {}
