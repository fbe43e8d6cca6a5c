"""What a step installs, as the installer reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import PurePath

    from orchestrator.execute.port import Step
    from orchestrator.model import Distribution


def local_path(distribution: Distribution) -> Path | None:
    """Return the file a `file:` URL names, None for every other URL."""
    parts = urlsplit(distribution.url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def indexed(step: Step, index: str) -> str:
    """Return one line for each distribution, by name and hash, and the index that has exactly those."""
    lines = [f"{d.name}=={d.version} --hash=sha256:{d.sha256}" for d in step.distributions]
    return _text([f"--index-url {index}", *lines])


def requirements(step: Step, *, at: Callable[[Distribution], PurePath | None] = local_path) -> str:
    """Return one line for each distribution, by exact URL and hash; `at` says which are files, and where."""
    lines = []
    for d in step.distributions:
        path = at(d)
        url = d.url.partition("#")[0] if path is None else path.as_uri()
        lines.append(f"{d.name} @ {url} --hash=sha256:{d.sha256}")
    return _text(["--no-index", *lines])


def named(step: Step) -> str:
    """Return one line for each distribution, name==version: what must be found installed afterwards."""
    return _text([f"{d.name}=={d.version}" for d in step.distributions])


def carries_credentials(distribution: Distribution) -> bool:
    """Tell whether the URL has a user or a password in it."""
    return "@" in urlsplit(distribution.url).netloc


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
