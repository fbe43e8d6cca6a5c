"""The strings of the format.

What passes here may end up in an argument list, a Dockerfile, a URL or a file name: it is matched as a whole.
"""

from __future__ import annotations

import keyword
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from packaging.requirements import InvalidRequirement, Requirement

from orchestrator import registries
from orchestrator.config.places import shown
from orchestrator.config.scalar import Scalar, matching, unchanged
from orchestrator.versions import SpecifierSet, Version, parse_specifier, parse_version

_NAME = r"[a-z0-9][a-z0-9-]{0,63}"
_PACKAGE = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_NODE = r"([A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.py(::[A-Za-z_][A-Za-z0-9_]*){1,2}"
_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
_URL_PATH = r"(/[A-Za-z0-9._~:@!$&()*+,;=%/-]*)?"
_QUERY = r"(\?[A-Za-z0-9._~:@!$&()*+,;=%/?-]*)?(#[A-Za-z0-9._~:@!$&()*+,;=%/?-]*)?"
_IMAGE_TAG = r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?"
_IMAGE = rf"({_HOST}/)?[a-z0-9][a-z0-9._-]*(/[a-z0-9._-]+)*{_IMAGE_TAG}"
_RUNNER = r"[A-Za-z0-9][A-Za-z0-9._=/:+@-]{0,99}"
_WINDOWS = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
_VERSIONS = "versions must be strings"
_PYTHON = r"3\.[0-9]{1,2}"
_DOCKERFILE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_RESERVED = frozenset({"BASE", "STEP", "PYTHON"})


def _name(text: str) -> str:
    if not re.fullmatch(_NAME, text):
        raise ValueError(f"{shown(text)} is not a name: lowercase letters, digits and '-', at most 64")
    if _WINDOWS.fullmatch(text):
        raise ValueError(f"{shown(text)} cannot be a file name on Windows, and results are kept under this name")
    return text


def _package(text: str) -> str:
    if not re.fullmatch(_PACKAGE, text):
        raise ValueError(f"{shown(text)} is not a package name: letters, digits, '.', '_' and '-'")
    if text in {"python", "reason"}:
        raise ValueError(f"{shown(text)} has a meaning of its own: choose another name and give the distribution")
    return text


def _visible(text: str) -> str:
    # Not only escape sequences: direction overrides and lone surrogates have no place in a report either.
    bad = next((character for character in text if not character.isprintable()), None)
    if bad is not None:
        raise ValueError(f"has a control or invisible character, U+{ord(bad):04X}")
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return _visible(text)


def _folded(text: str) -> str:
    return _filled(" ".join(text.split()))


def _module(text: str) -> str:
    parts = text.split(".")
    if not text.isascii() or not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise ValueError(f"{shown(text)} is not the name of a module")
    return text


def _tag(text: str) -> str:
    literal = text.replace("{version}", "").replace("{public}", "")
    if literal == text:
        raise ValueError(f"{shown(text)} does not contain {{version}} (or {{public}})")
    if not re.fullmatch(r"[A-Za-z0-9._/+-]*", literal):
        raise ValueError(f"{shown(text)} is not a tag: letters, digits, '.', '_', '/', '+', '-' and {{version}}")
    return text


def _version(text: str) -> Version:
    if re.match(r"[<>=~!]|.*\*", text):
        raise ValueError(f"{shown(text)} is a specifier, and one version is wanted here")
    return parse_version(text)


def _specifier(text: str) -> SpecifierSet:
    if not re.fullmatch(r"[A-Za-z0-9.+!*<>=~,_ -]+", text) or not text.strip() or "===" in text:
        raise ValueError(f"{shown(text)} is not a version or specifier (try '>=2.1,<2.9')")
    return parse_specifier(text)


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(_visible(text))
    except InvalidRequirement:
        wanted = "a requirement: write a name and versions, like 'numpy>=1.26,<3' (no paths, no options)"
        raise ValueError(f"{shown(text)} is not {wanted}") from None
    if requirement.url is not None:
        raise ValueError(f"{shown(text)} has a URL: requirements come from the indexes only")
    return str(requirement)


def _resolution(text: str) -> Literal["as-of-release", "latest"] | datetime:
    if text == "as-of-release":
        return "as-of-release"
    if text == "latest":
        return "latest"
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{shown(text)} is not as-of-release, latest or a date like 2025-01-31") from None
    return day + timedelta(hours=23, minutes=59, seconds=59)


def _node(text: str) -> str:
    if text.endswith("]"):
        raise ValueError(f"{shown(text)} names one parameter: leave out the brackets, all are run")
    if not re.fullmatch(_NODE, text):
        raise ValueError(f"{shown(text)} is not a probe: write file.py::test or file.py::Class::test")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(f"{shown(text)} is not the name of an environment variable")
    if re.search(r"TOKEN|SECRET|PASSW|KEY$", text.upper()):
        raise ValueError(f"{shown(text)} looks like a secret: these values are written to results and logs")
    return text


def _base(text: str) -> str:
    return text if re.fullmatch(_PYTHON, text) else _name(text)


def _argument(text: str) -> str:
    if _variable(text) in _RESERVED or text.upper().endswith("_PROXY"):
        raise ValueError(f"{shown(text)} is given to every Dockerfile: choose another name")
    return text


def _url(schemes: str, *, rest: str = "") -> Scalar[str]:
    *others, last = schemes.split("|")
    words = f"{', '.join(others)} or {last}" if others else last
    pattern = re.compile(f"({schemes})://{_HOST}{_URL_PATH}{rest}")

    def parse(text: str) -> str:
        if re.match(r"[A-Za-z+]+://[^/]*@", text):
            raise ValueError("a URL with a user name or password: these values are written to results and logs")
        if not pattern.fullmatch(text):
            raise ValueError(f"{shown(text)} is not a URL that starts with {words}")
        return text

    return Scalar(parse=parse, schema={"pattern": f"^{pattern.pattern}$"}, longest=500)


def _index_url(text: str) -> str:
    if text.startswith("file:"):
        if not re.fullmatch(r"file:///[A-Za-z0-9._~+%/-]*", text):
            raise ValueError(f"{shown(text)} is not the URL of a directory: write file:///path/to/it")
        return text
    return _url("https|http|file").parse(text)


def _git(text: str) -> str:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        if not text.startswith("https:"):
            raise ValueError(f"{shown(text)} is not a git repository: write an https URL or a path")
        return _https.parse(text)
    if text.startswith("-"):
        raise ValueError(f"{shown(text)} reads like an option: write {shown(f'./{text}')}")
    return _filled(text)


_https = _url("https")
Name = Annotated[str, Scalar(parse=_name, schema={"pattern": f"^{_NAME}$"})]
PackageName = Annotated[str, Scalar(parse=_package, schema={"pattern": f"^{_PACKAGE}$"})]
PackageReference = Annotated[str, matching(_PACKAGE, "a package name: letters, digits, '.', '_' and '-'")]
Distribution = Annotated[str, matching(_PACKAGE, "the name of a distribution")]
Module = Annotated[str, Scalar(parse=_module, schema={"pattern": r"^[A-Za-z_][A-Za-z0-9_.]*$"})]
IndexName = Annotated[str, matching(r"[a-z0-9][a-z0-9._-]{0,63}", "the name of an index: a-z, 0-9, '.', '_', '-'")]
IndexUrl = Annotated[str, Scalar(parse=_index_url, schema={"pattern": "^(https|http|file)://"}, longest=500)]
Repository = Annotated[str, _https]
GitRepository = Annotated[str, Scalar(parse=_git, longest=500)]
Link = Annotated[str, _url("https|http", rest=_QUERY)]
Tag = Annotated[str, Scalar(parse=_tag, schema={"pattern": r"\{(version|public)\}"})]
Image = Annotated[str, matching(_IMAGE, "the name of an image, like python:3.11-slim")]
RunnerLabel = Annotated[str, matching(_RUNNER, "the label of a runner, like ubuntu-latest or self-hosted")]
Registry = Annotated[str, matching(registries.PATTERN, registries.WORDS)]
Debian = Annotated[str, matching(r"[a-z]{2,32}", "the name of a Debian suite, like bookworm")]
Directory = Annotated[str, Scalar(parse=_filled)]
Text = Annotated[str, Scalar(parse=_folded, longest=2000)]
Excerpt = Annotated[str, Scalar(parse=_filled, longest=2000)]
Python = Annotated[str, matching(_PYTHON, 'a Python version: write it like "3.11"', wanted=_VERSIONS)]
ExactVersion = Annotated[Version, Scalar(parse=_version, wanted=_VERSIONS)]
Specifier = Annotated[SpecifierSet, Scalar(parse=_specifier, wanted=_VERSIONS)]
VersionKey = Annotated[str, Scalar(parse=unchanged(_version))]
SpecifierKey = Annotated[str, Scalar(parse=unchanged(_specifier))]
RequirementText = Annotated[str, Scalar(parse=_requirement)]
Resolution = Annotated[
    Literal["as-of-release", "latest"] | datetime,
    Scalar(parse=_resolution, schema={"pattern": "^(as-of-release|latest|[0-9]{4}-[0-9]{2}-[0-9]{2})$"}),
]
BaseName = Annotated[str, Scalar(parse=_base, schema={"pattern": f"^({_PYTHON}|{_NAME})$"})]
Dockerfile = Annotated[str, matching(_DOCKERFILE, "the name of a Dockerfile, like xpu.Dockerfile")]
Argument = Annotated[str, Scalar(parse=_argument, schema={"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})]
NodeId = Annotated[str, Scalar(parse=_node, schema={"pattern": f"^{_NODE}$"})]
Variable = Annotated[str, Scalar(parse=_variable, schema={"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})]
VariableValue = Annotated[str, Scalar(parse=_visible, longest=2000)]
Metric = Annotated[str, matching(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", "the name of a recorded number")]
