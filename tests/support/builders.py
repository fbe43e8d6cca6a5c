"""Small matrices and their parts, for tests that need one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.model import Axis, BaseImage, Companion, Device, Exclusion, Issue, Limits, Matrix, Package, Stack
from orchestrator.versions import SpecifierSet, Version, parse_specifier


def versions(*texts: str) -> tuple[Version, ...]:
    return tuple(map(Version, texts))


def axis(package: str, *texts: str) -> Axis:
    return Axis(package=package, versions=versions(*texts))


def stack(name: str, *axes: Axis, **more: Any) -> Stack:
    return Stack(name=name, axes=axes, **{"device": Device.CPU, "python": ("3.11",), **more})


def companion(package: str, follows: str, rules: dict[str, str], **more: Any) -> Companion:
    pairs = tuple((SpecifierSet(when), parse_specifier(then)) for when, then in rules.items())
    return Companion(package=package, follows=follows, rules=pairs, **more)


def exclusion(reason: str, **where: str) -> Exclusion:
    return Exclusion(where={name: parse_specifier(text) for name, text in where.items()}, reason=reason)


def issue(name: str, subjects: dict[str, str], *probes: str, **more: Any) -> Issue:
    return Issue(
        id=name, title=name, link=None, subjects=subjects, probes=probes or ("test_it.py::test_it",), **more
    )


def matrix(*stacks: Stack, issues: tuple[Issue, ...] = (), root: Path = Path(), **more: Any) -> Matrix:
    names = {part.package for one in stacks for part in (*one.axes, *one.companions)}
    packages = {
        name: Package(name=name, distribution=name, module=name.replace("-", "_")) for name in sorted(names)
    }
    given: dict[str, Any] = {
        "path": root / "matrix.yaml",
        "probes": root / "probes",
        "images": root / "images",
        "packages": packages,
        "indexes": {},
        "stacks": {one.name: one for one in stacks},
        "issues": {one.id: one for one in issues},
        "bases": {"3.11": BaseImage(python="3.11", image="python:3.11-slim", debian="bookworm")},
        "limits": Limits(),
    }
    return Matrix(**{**given, **more})
