"""uv as the resolver: a project file in, exact distributions or the resolver's words out."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from orchestrator.model import Distribution
from orchestrator.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT = 300.0
_TRANSIENT = re.compile(
    r"error sending request|failed to fetch|timed? ?out|dns error|connection (?:refused|reset)|"
    r"temporary failure|5\d\d (?:internal|bad gateway|service|gateway)|429 too many",
    re.IGNORECASE,
)
_UNDATED = re.compile(r"missing an upload date|filtered by `exclude-newer`")
# Settings of the caller's shell that would bend the answer without a trace in the lock.
_FOREIGN_SETTINGS = (
    "UV_EXCLUDE_NEWER", "UV_RESOLUTION", "UV_PRERELEASE", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXTRA_INDEX_URL",
    "UV_INDEX", "UV_INDEX_STRATEGY", "UV_FIND_LINKS", "UV_TORCH_BACKEND", "UV_PYTHON", "VIRTUAL_ENV",
)  # fmt: skip


class NoSolutionError(Exception):
    """uv found no answer: its words, and whether an index that did not answer may be why."""

    def __init__(self, reason: str, *, transient: bool, undated: bool) -> None:
        super().__init__(reason)
        self.transient = transient
        self.undated = undated


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


@cache
def uv_binary() -> str:
    """Return the uv executable that was installed with this package."""
    from uv import find_uv_bin  # noqa: PLC0415 - only where something is resolved or installed

    return find_uv_bin()


def uv_environment() -> dict[str, str]:
    """Return the caller's environment without the uv settings that would bend a resolution."""
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN_SETTINGS}


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
            uv_binary(), "pip", "compile", str(source), "--format", "pylock.toml", "--output-file", str(target),
            "--python-version", python, "--python-platform", platform, "--only-binary", ":all:",
            "--no-header", "--no-progress", "--color", "never",
        ]  # fmt: skip
        if default_index is not None:
            command += ["--default-index", default_index]
        try:
            done = subprocess.run(
                command,
                cwd=directory,
                env=uv_environment(),
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            reason = f"uv found no answer within {_TIMEOUT:.0f} s"
            raise NoSolutionError(reason, transient=True, undated=False) from None
        if done.returncode != 0:
            raise _no_solution(done.stderr)
        return parse_lock(tomllib.loads(target.read_text(encoding="utf-8")))


def parse_lock(document: Mapping[str, Any]) -> tuple[Wheel, ...]:
    """Read the packages of a pylock.toml (PEP 751)."""
    return tuple(_wheel(package) for package in document.get("packages", ()))


def _wheel(package: Mapping[str, Any]) -> Wheel:
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


def _no_solution(stderr: str) -> NoSolutionError:
    lines = [line.strip() for line in stderr.splitlines() if not line.startswith("warning:")]
    words = " ".join(line for line in lines if line)
    words = re.sub(r"^error: |\bcause: ", "", words).replace("No solution found when resolving dependencies ", "")
    words = re.sub(r"\bcell depends on\b", "the cell needs", words)
    return NoSolutionError(
        words[:2000] or "uv gave no reason",
        transient=_TRANSIENT.search(stderr) is not None,
        undated=_UNDATED.search(stderr) is not None,
    )
