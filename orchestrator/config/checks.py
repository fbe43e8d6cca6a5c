"""What no value tells alone: names that must exist, versions that must differ, probes that must be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.config import probes
from orchestrator.config.bases import PYTHON, check_bases, check_pythons
from orchestrator.config.findings import Findings, nearest
from orchestrator.config.places import shown
from orchestrator.config.schema import Range
from orchestrator.model import DEFAULT_INDEX
from orchestrator.versions import parse_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from orchestrator.config.document import Document
    from orchestrator.config.packages import DeviceName
    from orchestrator.config.places import Keys, Problem
    from orchestrator.config.schema import Axes, Companion, File, Stack


def check(document: Document, file: File, directory: Path) -> tuple[Problem, ...]:
    """Return what is wrong across a file that stands in `directory`.

    A name counts as known where it is written, even if what it names is wrong in itself.
    """
    findings = Findings(document)
    _indexes(findings, file)
    check_bases(findings, file, directory)
    _packages(findings, file)
    for name, stack in file.stacks.items():
        _axes(findings, name, stack.axes)
        check_pythons(findings, file, name, stack)
        for package, companion in stack.companions.items():
            _companion(findings, name, package, companion)
        _distributions(findings, file, name, stack)
        _exclude(findings, name, stack)
        _prebuilt(findings, name, stack)
        _include(findings, name, stack)
    _subjects(findings, file)
    _probes(findings, file, directory / file.probes)
    return tuple(findings.problems)


def _indexes(findings: Findings, file: File) -> None:
    if DEFAULT_INDEX in file.indexes:
        message = f'"{DEFAULT_INDEX}" is the index that the installer uses when told nothing: choose another name'
        findings.add(("indexes", DEFAULT_INDEX), message, of_key=True)


def _packages(findings: Findings, file: File) -> None:
    alike = [(canonicalize_name(name), ("packages", name)) for name in file.packages]
    findings.distinct(alike, "package", of_key=True)
    known = (*findings.document.names("indexes"), DEFAULT_INDEX)
    for name, package in file.packages.items():
        at = ("packages", name)
        if package.module is None and not module_name(name).replace(".", "_").isidentifier():
            findings.add(at, f"{module_name(name)} cannot be imported: add `import`", of_key=True)
        _listed_indexes(findings, known, package.indexes, (*at, "indexes"))
        if package.versions is not None:
            declared = findings.document.names("indexes")
            _listed_indexes(findings, declared, package.versions.nightlies or {}, (*at, "versions", "nightlies"))


def _listed_indexes(
    findings: Findings, known: Iterable[str], of_devices: Mapping[DeviceName, list[str]], at: Keys
) -> None:
    for device, indexes in of_devices.items():
        listed: list[tuple[str, Keys]] = [(index, (*at, device, i)) for i, index in enumerate(indexes)]
        for index, keys in listed:
            findings.known(index, known, keys, "there is no index")
        findings.distinct(listed, "index")


def module_name(package: str) -> str:
    """Return the module that a package is taken to have."""
    return package.replace("-", "_")


def _axes(findings: Findings, stack: str, axes: Axes) -> None:
    at = ("stacks", stack, "axes")
    if not _axis_names(findings.document, stack):
        findings.add(at, "no package varies: name one, with its versions", of_key=True)
    pythons: list[tuple[str, Keys]] = [(python, (*at, PYTHON, i)) for i, python in enumerate(axes.python or ())]
    findings.distinct(pythons, "Python")
    packages = findings.document.names("packages")
    for package, versions in axes.packages.items():
        findings.known(package, packages, (*at, package), "there is no package", of_key=True)
        listed = versions.versions if isinstance(versions, Range) else versions
        below = (*at, package, "versions") if isinstance(versions, Range) else (*at, package)
        if isinstance(listed, list):
            findings.distinct([(version, (*below, i)) for i, version in enumerate(listed)], "version")


def _axis_names(document: Document, stack: str) -> tuple[str, ...]:
    return tuple(name for name in document.names("stacks", stack, "axes") if name != PYTHON)


def _companion(findings: Findings, stack: str, package: str, companion: Companion) -> None:
    at = ("stacks", stack, "companions", package)
    axes = _axis_names(findings.document, stack)
    if package in axes:
        findings.add(at, "an axis of this stack cannot be a companion too", of_key=True)
    else:
        packages = findings.document.names("packages")
        findings.known(package, packages, at, "there is no package", of_key=True)
    _followed(findings, stack, companion.follows, (*at, "follows"))
    pairs = [(parse_version(version), (*at, "pairs", version)) for version in companion.pairs or ()]
    findings.distinct(pairs, "version", of_key=True)


def _followed(findings: Findings, stack: str, axis: str, keys: Keys) -> None:
    if axis == PYTHON:
        findings.add(keys, "Python cannot be followed: name an axis that is a package")
    else:
        findings.known(axis, _axis_names(findings.document, stack), keys, f"stack {stack} has no axis")


def _distributions(findings: Findings, file: File, stack: str, value: Stack) -> None:
    """Check that a cell does not need one distribution in two versions."""
    at = ("stacks", stack)
    named: list[tuple[str, Keys]] = [(name, (*at, "axes", name)) for name in value.axes.packages]
    named += [(name, (*at, "companions", name)) for name in value.companions if name not in value.axes.packages]
    findings.distinct(
        [
            (canonicalize_name(file.packages[name].distribution or name), keys)
            for name, keys in named
            if name in file.packages
        ],
        "distribution",
        of_key=True,
    )


def _exclude(findings: Findings, stack: str, value: Stack) -> None:
    axes = (*_axis_names(findings.document, stack), PYTHON)
    for i, exclusion in enumerate(value.exclude):
        at = ("stacks", stack, "exclude", i)
        if not exclusion.where:
            findings.add(at, "would exclude every cell: add a condition on an axis")
        for axis in exclusion.where:
            findings.known(axis, axes, (*at, axis), f"stack {stack} has no axis", of_key=True)


def _prebuilt(findings: Findings, stack: str, value: Stack) -> None:
    axes = (*_axis_names(findings.document, stack), PYTHON)
    for i, rule in enumerate(value.prebuilt):
        at = ("stacks", stack, "prebuilt", i)
        for axis in rule.where:
            findings.known(axis, axes, (*at, axis), f"stack {stack} has no axis", of_key=True)
        if not rule.where and i + 1 < len(value.prebuilt):
            findings.add(at, "holds for every cell, so that no image after it is used: add a condition on an axis")


def _include(findings: Findings, stack: str, value: Stack) -> None:
    axes = _axis_names(findings.document, stack)
    for i, entry in enumerate(value.include):
        at = ("stacks", stack, "include", i)
        for axis in entry:
            findings.known(axis, (*axes, PYTHON), (*at, axis), f"stack {stack} has no axis", of_key=True)
        needed = (*axes, PYTHON) if len(value.axes.python or ()) > 1 else axes
        for axis in needed:
            if axis not in entry:
                findings.add((*at, axis), "missing: a cell has a version on every axis")


def _subjects(findings: Findings, file: File) -> None:
    stacks = findings.document.names("stacks")
    for issue, value in file.issues.items():
        for stack, axis in value.subject.items():
            at = ("issues", issue, "subject", stack)
            if findings.known(stack, stacks, at, "there is no stack", of_key=True):
                _followed(findings, stack, axis, at)


def _probes(findings: Findings, file: File, directory: Path) -> None:
    if not directory.is_dir():
        findings.add(("probes",), f"there is no directory {shown(file.probes)} here")
        return
    read: dict[str, tuple[str, ...] | probes.UnreadableError] = {}
    for issue, value in file.issues.items():
        listed: list[tuple[str, Keys]] = [(p, ("issues", issue, "probes", i)) for i, p in enumerate(value.probes)]
        findings.distinct(listed, "probe")
        for probe, keys in listed:
            name, _, test = probe.partition("::")
            if name not in read:
                read[name] = _tests(directory, name)
            tests = read[name]
            if isinstance(tests, probes.UnreadableError):
                near = "" if (directory / name).exists() else nearest(name, probes.files(directory))
                findings.add(keys, f"{shown(name)} {tests}{near}")
            elif f"{test.partition('::')[0]}::*" not in tests:
                findings.known(test, tests, keys, f"{name} has no test")


def _tests(directory: Path, name: str) -> tuple[str, ...] | probes.UnreadableError:
    try:
        return probes.tests(directory, name)
    except probes.UnreadableError as error:
        return error
