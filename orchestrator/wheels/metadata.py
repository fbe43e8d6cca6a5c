"""What a wheel itself says that it requires."""

from __future__ import annotations

import zipfile
import zlib
from email.parser import Parser
from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.model import Distribution
    from orchestrator.wheels.cache import WheelCache

_TIMEOUT = 20.0


def requires(distribution: Distribution, wheels: WheelCache) -> tuple[Requirement, ...] | None:
    """Return the requirements that a wheel declares; None where neither it nor its metadata is at hand.

    They are read from the wheel if it lies here, else from the file that indexes serve beside it (PEP 658): a
    wheel is not downloaded for them.
    """
    path = wheels.path(distribution)
    text = _beside(distribution.url) if path is None else _inside(path)
    return None if text is None else _read(text)


def _inside(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as wheel:
            # At the top: further down lies the metadata of what a wheel brings along.
            tops = (name for name in wheel.namelist() if name.count("/") == 1)
            name = next(name for name in tops if name.endswith(".dist-info/METADATA"))
            return wheel.read(name).decode("utf-8", "replace")
    except (OSError, StopIteration, zipfile.BadZipFile, zlib.error):
        return None


@lru_cache(maxsize=256)
def _beside(url: str) -> str | None:
    import requests  # noqa: PLC0415

    try:
        response = requests.get(f"{url.partition('#')[0]}.metadata", timeout=_TIMEOUT)
    except requests.RequestException:
        return None
    return response.text if response.ok else None


def _read(text: str) -> tuple[Requirement, ...]:
    found = []
    for line in Parser().parsestr(text, headersonly=True).get_all("Requires-Dist") or ():
        try:
            found.append(Requirement(line))
        except InvalidRequirement:  # what the installer would not take either does not tie anything
            continue
    return tuple(found)
