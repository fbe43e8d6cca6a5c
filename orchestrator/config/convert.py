"""A checked file to the values that the other stages share. Nothing can go wrong any more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orchestrator import model
from orchestrator.config.bases import PYTHON
from orchestrator.config.checks import module_name
from orchestrator.config.schema import Range
from orchestrator.versions import SpecifierSet, exactly, parse_specifier, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from orchestrator.config.devices import Gpus
    from orchestrator.config.packages import Package
    from orchestrator.config.schema import Companion, File, Issue, Stack
    from orchestrator.versions import Version


def convert(file: File, path: Path) -> model.Matrix:
    """Return the matrix of a file that stands at `path`; relative directories are below it."""
    directory = path.parent.resolve()
    bases = {
        name: model.BaseImage(
            python=base.python or name,
            image=base.image,
            debian=base.debian,
            dockerfile=base.dockerfile,
            arguments=base.arguments,
        )
        for name, base in file.bases.items()
    }
    return model.Matrix(
        path=path,
        probes=(directory / file.probes).resolve(),
        images=(directory / file.images.dockerfiles).resolve(),
        registry=file.images.registry,
        packages={name: _package(name, package, directory) for name, package in file.packages.items()},
        indexes=file.indexes,
        stacks={
            name: _stack(name, stack, bases[stack.base or next(iter(bases))].python)
            for name, stack in file.stacks.items()
        },
        issues={name: _issue(name, issue) for name, issue in file.issues.items()},
        bases=bases,
        limits=model.Limits(**file.limits.model_dump()),
        environment=file.environment,
        devices={
            model.Device.XPU: _gpus(file.devices.xpu, tiles=file.devices.xpu.lease == "tile"),
            model.Device.CUDA: _gpus(file.devices.cuda),
        },
    )


def _package(name: str, package: Package, directory: Path) -> model.Package:
    finer = package.versions
    return model.Package(
        name=name,
        distribution=package.distribution or name,
        module=package.module or module_name(name),
        repository=package.repository,
        tag=package.tag,
        indexes={model.Device(device): tuple(indexes) for device, indexes in package.indexes.items()},
        git=None if finer is None or finer.git is None else _repository(finer.git, directory),
        build_requires=() if finer is None else tuple(finer.build_requires),
        build_environment={} if finer is None else finer.build_environment,
        nightlies={
            model.Device(device): tuple(indexes) for device, indexes in ((finer and finer.nightlies) or {}).items()
        },
    )


def _gpus(given: Gpus, *, tiles: bool = False) -> model.GpuUse:
    return model.GpuUse(use=tuple(given.use or ()), shared=given.shared, tiles=tiles, cdi=given.cdi)


def _repository(given: str, directory: Path) -> str:
    return given if "://" in given else os.path.realpath(directory / given)


def _stack(name: str, stack: Stack, first_python: str) -> model.Stack:
    python = tuple(stack.axes.python or (first_python,))
    return model.Stack(
        name=name,
        device=model.Device(stack.device),
        python=python,
        axes=tuple(
            model.Axis(package=package, versions=_versions(versions))
            for package, versions in stack.axes.packages.items()
        ),
        companions=tuple(_companion(package, companion) for package, companion in stack.companions.items()),
        requirements=tuple(stack.requirements),
        exclude=tuple(model.Exclusion(where=rule.where, reason=rule.reason) for rule in stack.exclude),
        include=tuple(_included(entry, python[0]) for entry in stack.include),
        resolution=stack.resolution,
        note=stack.note,
        runner=tuple(stack.runner),
        job_timeout=stack.job_timeout,
        base=stack.base,
        prebuilt=tuple(model.Prebuilt(where=rule.where, image=rule.image) for rule in stack.prebuilt),
    )


def _versions(given: list[Version] | SpecifierSet | Range) -> tuple[Version, ...] | model.VersionRange:
    options = given if isinstance(given, Range) else Range.model_construct(versions=given)
    if isinstance(options.versions, list):
        return tuple(options.versions)
    return model.VersionRange(
        specifier=options.versions,
        patches=options.patches,
        prereleases=options.prereleases,
        yanked=options.yanked,
    )


def _companion(package: str, companion: Companion) -> model.Companion:
    return model.Companion(
        package=package,
        follows=companion.follows,
        rules=tuple(_rules(companion)),
        same_minor=companion.same is not None,
    )


def _rules(companion: Companion) -> Iterator[tuple[SpecifierSet, SpecifierSet]]:
    pairs = [(parse_version(text), required) for text, required in (companion.pairs or {}).items()]
    # `==2.6.0` is also met by 2.6.0+xpu: a pair that names the local build must be asked first.
    for version, required in sorted(pairs, key=lambda pair: pair[0].local is None):
        yield exactly(version), required
    for text, required in (companion.ranges or {}).items():
        yield parse_specifier(text), required


def _included(entry: Mapping[str, Version], python: str) -> dict[str, str]:
    return {PYTHON: python} | {axis: str(version) for axis, version in entry.items()}


def _issue(name: str, issue: Issue) -> model.Issue:
    threshold = issue.threshold
    return model.Issue(
        id=name,
        title=issue.title,
        link=issue.link,
        probes=tuple(issue.probes),
        subjects=issue.subject,
        expect=model.State(issue.expect) if issue.expect else None,
        shows=issue.shows,
        threshold=model.Threshold(metric=threshold.metric, above=threshold.above) if threshold else None,
        absent_is_bad=issue.absent == "bad",
        timeout_is_bad=issue.timeout == "bad",
    )
