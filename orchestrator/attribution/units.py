"""What differs between two locks, in units that can be taken from one side or the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packaging.requirements import Requirement

    from orchestrator.model import Lock

TESTED, DRIFT = 1.0, 0.1
"""How likely a package under test is to blame, and something else that moved with it. A convention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Distributions that only move together: a package, and what it requires at an exact version."""

    name: str
    distributions: tuple[str, ...]
    weight: float


def differing(good: Lock, bad: Lock) -> tuple[str, ...]:
    """Return the names of the distributions that are not the same in two locks."""
    one, other = ({d.name: d.version for d in lock.distributions} for lock in (good, bad))
    return tuple(sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)))


def units(names: Sequence[str], tested: Sequence[str], ties: Iterable[tuple[str, str]]) -> tuple[Unit, ...]:
    """Group distributions into units: `ties` are pairs of which one requires the other exactly.

    A unit is called by the first of `tested` in it, else by the one that requires the others.
    """
    leader = {name: name for name in names}

    def top(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for requiring, required in ties:
        if requiring in leader and required in leader and top(requiring) != top(required):
            leader[top(required)] = top(requiring)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(top(name), []).append(name)
    found = [_unit(first, members, tested) for first, members in groups.items()]
    order = {name: place for place, name in enumerate(tested)}
    return tuple(sorted(found, key=lambda unit: (order.get(unit.name, len(order)), unit.name)))


def exact_ties(requires: Mapping[str, Sequence[Requirement]]) -> tuple[tuple[str, str], ...]:
    """Return the pairs (requiring, required) of distributions tied by an exact requirement."""
    return tuple(
        (name, canonicalize_name(requirement.name))
        for name, requirements in requires.items()
        for requirement in requirements
        if any(one.operator in ("==", "===") and not one.version.endswith(".*") for one in requirement.specifier)
    )


def _unit(leader: str, members: Sequence[str], tested: Sequence[str]) -> Unit:
    named = [name for name in tested if name in members]
    return Unit(
        name=named[0] if named else leader,
        distributions=tuple(members),
        weight=TESTED if named else DRIFT,
    )
