"""uv as the resolver: a project file in, exact distributions or the resolver's words out."""

from __future__ import annotations

import re
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from orchestrator.model import Distribution
from orchestrator.uv import UvError, neutral_environment, run_uv
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT = 300.0
_TRANSIENT = re.compile(
    r"error sending request|failed to fetch|timed? ?out|dns error|connection (?:refused|reset)|"
    r"temporary failure|5\d\d (?:internal|bad gateway|service|gateway)|429 too many",
    re.IGNORECASE,
)
_UNDATED = re.compile(r"missing an upload date")


class NoSolutionError(Exception):
    """There is no answer: why, in uv's words where they are its own.

    `transient` where an index that did not answer may be why; `undated` where it told no dates. What is not
    `lasting` is asked again by the next run.
    """

    def __init__(self, reason: str, *, transient: bool, undated: bool = False, lasting: bool = True) -> None:
        super().__init__(reason)
        self.transient = transient
        self.undated = undated
        self.lasting = lasting and not transient


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel of an answer, before its index is named."""

    name: str
    version: Version
    url: str
    sha256: str | None
    size: int | None
    uploaded: datetime | None

    def locked(self, index: str, *, sha256: str, size: int | None) -> Distribution:
        """Return the distribution, complete."""
        return Distribution(
            name=self.name,
            version=self.version,
            url=self.url,
            sha256=sha256,
            size=size,
            index=index,
            uploaded=self.uploaded,
        )


def compile_project(text: str, *, python: str, platform: str, default_index: str | None) -> tuple[Wheel, ...]:
    """Resolve a pyproject.toml for one Python and platform, wheels only.

    Raises:
        NoSolutionError: there is none; the message is the resolver's explanation.
    """
    with tempfile.TemporaryDirectory(prefix="orchestrator-resolve-") as directory:
        source = Path(directory) / "pyproject.toml"
        source.write_text(text, encoding="utf-8")
        target = Path(directory) / "pylock.toml"
        command = [
            # Settings are read from where uv runs, not from where the project file is.
            *("--directory", directory, "pip", "compile", str(source), "--no-header"),
            *("--format", "pylock.toml", "--output-file", str(target)),
            *("--python-version", python, "--python-platform", platform, "--only-binary", ":all:"),
        ]
        if default_index is not None:
            command += ["--default-index", default_index]
        # The user's own settings may name the default index, so they are kept, as they are outside of projects.
        try:
            run_uv(command, timeout=_TIMEOUT, environment=neutral_environment())
        except UvError as error:
            raise _no_solution(error) from None
        return parse_lock(tomllib.loads(target.read_text(encoding="utf-8")), Path(directory))


def parse_lock(document: Mapping[str, Any], directory: Path) -> tuple[Wheel, ...]:
    """Read the packages of a pylock.toml (PEP 751) that stands in a directory."""
    return tuple(_wheel(package, directory) for package in document.get("packages", ()))


def _wheel(package: Mapping[str, Any], directory: Path) -> Wheel:
    if "archive" in package:  # a wheel that was given as a file
        path = (directory / package["archive"]["path"]).resolve()
        return Wheel(
            name=canonicalize_name(package["name"]),
            version=parse_wheel_filename(path.name)[1],
            url=path.as_uri(),
            sha256=package["archive"]["hashes"]["sha256"],
            size=path.stat().st_size,
            uploaded=None,
        )
    wheel = package["wheels"][0]  # resolved for one platform: uv writes the wheel it would install
    uploaded = wheel.get("upload-time")
    return Wheel(
        name=canonicalize_name(package["name"]),
        version=Version(package["version"]),
        url=wheel["url"],
        sha256=wheel.get("hashes", {}).get("sha256"),
        size=wheel.get("size"),
        uploaded=uploaded if isinstance(uploaded, datetime) else None,
    )


def _no_solution(error: UvError) -> NoSolutionError:
    lines = [line.strip() for line in error.output.splitlines() if not line.startswith("warning:")]
    words = " ".join(line for line in lines if line)
    words = re.sub(r"^error: |\bcause: ", "", words).replace("No solution found when resolving dependencies ", "")
    words = re.sub(r"\bcell depends on\b", "the cell needs", words)
    return NoSolutionError(
        words[:2000] or str(error),
        transient=error.stopped or _TRANSIENT.search(error.output) is not None,
        undated=_UNDATED.search(error.output) is not None,
    )
