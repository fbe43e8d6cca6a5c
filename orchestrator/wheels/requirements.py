"""What a step installs, as the installer reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from orchestrator.execute.port import Step
    from orchestrator.model import Distribution

WHEELS = "/tmp/build/wheels"  # noqa: S108 - inside the image that is built


def requirements(step: Step, *, wheels: str | None = None) -> str:
    """Return one line for each distribution: name, exact URL and hash.

    With `wheels`, files of this host are named in that directory instead of where they lie.
    """
    return "".join(f"{_line(d, wheels)}\n" for d in step.distributions)


def local_wheels(step: Step) -> dict[str, Path]:
    """Return the distributions that no index serves: file name to where it lies on this host."""
    paths = [path for d in step.distributions if (path := local_path(d)) is not None]
    return {path.name: path for path in paths}


def local_path(distribution: Distribution) -> Path | None:
    """Return the file a `file:` URL names, None for every other URL."""
    parts = urlsplit(distribution.url)
    return Path(url2pathname(unquote(parts.path))) if parts.scheme == "file" else None


def carries_credentials(distribution: Distribution) -> bool:
    """Tell whether the URL has a user or a password in it."""
    return "@" in urlsplit(distribution.url).netloc


def _line(distribution: Distribution, wheels: str | None) -> str:
    url = distribution.url.partition("#")[0]
    path = local_path(distribution)
    if wheels is not None and path is not None:
        url = f"file://{wheels}/{path.name}"
    return f"{distribution.name} @ {url} --hash=sha256:{distribution.sha256}"
