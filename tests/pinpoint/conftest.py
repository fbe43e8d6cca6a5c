"""Small matrices and measurements of made-up packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.model import (
    Axis,
    Cell,
    Companion,
    Device,
    Distribution,
    Issue,
    Judgement,
    Limits,
    Lock,
    Matrix,
    Outcome,
    Package,
    Stack,
    State,
    Verdict,
    VersionRange,
)
from orchestrator.pinpoint import Measured
from orchestrator.versions import SpecifierSet, Version, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

JUDGEMENTS = {
    "g": Judgement(outcome=Outcome.PASS, verdict=Verdict.GOOD),
    "b": Judgement(outcome=Outcome.FAIL, verdict=Verdict.BAD, signature="ValueError: no"),
    "?": Judgement(outcome=Outcome.INFRA, verdict=Verdict.UNKNOWN),
    "d": Judgement(outcome=Outcome.NO_DEVICE, verdict=Verdict.UNKNOWN),
    "n": Judgement(outcome=Outcome.NOT_RUN, verdict=Verdict.UNKNOWN),
}


@pytest.fixture
def matrix() -> Callable[..., Matrix]:
    """Make a matrix of one stack `s`, whose issue `i` is followed along the first axis."""

    def make(
        axes: Mapping[str, Sequence[str] | VersionRange],
        *,
        python: tuple[str, ...] = ("3.11",),
        expect: State | None = None,
        companion: str | None = None,
        repository: str | None = "https://example.org/lib/",
        tag: str = "v{version}",
    ) -> Matrix:
        subject = next(iter(axes))
        made = tuple(
            Axis(package=name, versions=v if isinstance(v, VersionRange) else tuple(map(Version, v)))
            for name, v in axes.items()
        )
        companions = (Companion(package=companion, follows=subject),) if companion else ()
        stack = Stack(name="s", device=Device.CPU, python=python, axes=made, companions=companions)
        issue = Issue(
            id="i", title="It breaks", link=None, probes=("t.py::t",), subjects={"s": subject}, expect=expect
        )
        names = [*axes, *([companion] if companion else [])]
        packages = {
            name: Package(name=name, distribution=name.upper(), module=name, repository=repository, tag=tag)
            for name in names
        }
        return Matrix(
            path=Path("matrix.yaml"),
            probes=Path("probes"),
            images=Path("images"),
            packages=packages,
            indexes={},
            stacks={"s": stack},
            issues={"i": issue},
            bases={},
            limits=Limits(),
        )

    return make


@pytest.fixture
def measured() -> Callable[..., Measured]:
    """Make a cell of stack `s`, judged by a letter of JUDGEMENTS; no letter is no judgement."""

    def make(
        letters: str,
        versions: Mapping[str, str],
        *,
        python: str = "3.11",
        locked: Mapping[str, str] | None = None,
        git: str | None = None,
        excluded: str | None = None,
        requires: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> Measured:
        parsed = {name: Version(version) for name, version in versions.items()}
        asked = {name: exactly(version) for name, version in parsed.items()}
        asked |= {name: SpecifierSet(specifier) for name, specifier in (requires or {}).items()}
        cell = Cell(
            id="-".join(["s", python, *versions.values()]),
            stack="s",
            device=Device.CPU,
            python=python,
            versions=parsed,
            requires=asked,
            excluded=excluded,
        )
        wheels = tuple(
            Distribution(name=name, version=Version(version), url="", sha256=version, size=None, index="default")
            for name, version in sorted((locked or {}).items())
        )
        return Measured(
            cell=cell,
            lock=Lock(python=python, platform="linux", as_of=None, distributions=wheels) if locked else None,
            git_versions={next(iter(versions)): git} if git else {},
            judgements={"i": JUDGEMENTS[letters]} if letters else {},
            reason=reason,
        )

    return make
