"""What the closure of a cell has that must be asked for by name, because the default index does not serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from orchestrator.model import DEFAULT_INDEX
from orchestrator.resolve.pages import IndexUnreachableError, Pages, configured_index
from orchestrator.resolve.request import Request, Wanted, project
from orchestrator.resolve.uv import compile_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from orchestrator.versions import Version


def needed_by_name(
    asked: Request,
    chosen: Sequence[tuple[Wanted, str]],
    helpers: Mapping[str, tuple[Wanted, str]],
    *,
    urls: Mapping[str, str],
    built: Mapping[str, Path],
    pages: Pages,
) -> list[tuple[Wanted, str]]:
    """Return what the closure needs from an index of its own, with that index; `helpers` by normalised name.

    uv takes an explicit index for direct dependencies only, so the names in the closure are found first, with
    the indexes open to every name, and those with an index of their own are then asked for by name. Besides the
    helpers, these are in a cell with a nightly build the names whose version only the nightly index has: torch
    asks there for a triton that was built with it.
    """
    nightly = tuple(dict.fromkeys(index for wanted, index in chosen if wanted.nightly))
    if not helpers and not nightly:
        return []
    known = {canonicalize_name(wanted.distribution) for wanted, _ in chosen} | helpers.keys()
    text = project(
        asked, [*chosen, *helpers.values()], urls, None, built=built, open_names=True, any_index=bool(nightly)
    )
    closure = compile_project(text, python=asked.python, platform=asked.platform, default_index=configured_index())
    needed = [helpers[wheel.name] for wheel in closure if wheel.name in helpers]
    for wheel in closure:
        if wheel.name in known:
            continue
        index = next((index for index in nightly if _serves(pages, index, wheel.name, wheel.version)), None)
        if index is None or _serves(pages, DEFAULT_INDEX, wheel.name, wheel.version):
            continue
        exact = Wanted(
            package=wheel.name,
            distribution=wheel.name,
            specifier=f"=={wheel.version}",
            candidates=(index,),
            nightly=True,
        )
        needed.append((exact, index))
    return needed


def _serves(pages: Pages, index: str, name: str, version: Version) -> bool:
    try:
        return any(release.version == version for release in pages.page(index, name).releases)
    except IndexUnreachableError:
        return False
