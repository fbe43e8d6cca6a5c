"""Which Debian mirror this host uses, from its apt sources. Pure, but for reading the files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_MIRROR = "https://deb.debian.org/debian"

_ONE_LINE = re.compile(r"deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")


@dataclass(frozen=True, slots=True)
class Source:
    """One archive: where it is, and which suites and components are taken from it."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def mirror(suite: str, etc_apt: Path = Path("/etc/apt")) -> str:
    """Return the mirror for a Debian suite: the host's own where it uses one, else Debian's."""
    sources = [s for s in sources_of(etc_apt) if "main" in s.components and s.uri.startswith(("http:", "https:"))]
    exact = [s.uri for s in sources if suite in s.suites and _is_debian(s.uri)]
    alike = [s.uri for s in sources if _is_debian(s.uri)]
    return next(iter(exact + alike), DEFAULT_MIRROR)


def sources_of(etc_apt: Path) -> list[Source]:
    """Read every source, in the one-line and in the deb822 format; files that cannot be read are passed over."""
    found: list[Source] = []
    parts = etc_apt / "sources.list.d"
    for path in (etc_apt / "sources.list", *sorted(parts.glob("*.list"))):
        found += one_line(_text(path))
    for path in sorted(parts.glob("*.sources")):
        found += deb822(_text(path))
    return found


def one_line(text: str) -> Iterator[Source]:
    """Read `deb [options] uri suite component…` lines."""
    for line in text.splitlines():
        if match := _ONE_LINE.fullmatch(line.partition("#")[0].strip()):
            yield Source(_tidy(match["uri"]), (match["suite"],), tuple(match["components"].split()))


def deb822(text: str) -> Iterator[Source]:
    """Read stanzas of `Types:`, `URIs:`, `Suites:` and `Components:`."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n[ \t]*\n", kept):
        fields: dict[str, list[str]] = {}
        name = ""
        for line in stanza.splitlines():
            if line[:1].isspace():
                fields.setdefault(name, []).extend(line.split())
            else:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.split()
        if "deb" in fields.get("types", ()) and fields.get("enabled", ["yes"])[:1] != ["no"]:
            for uri in fields.get("uris", ()):
                yield Source(_tidy(uri), tuple(fields.get("suites", ())), tuple(fields.get("components", ())))


def _is_debian(uri: str) -> bool:
    # A mirror carries the archive under …/debian, a snapshot under …/debian/<date>; security has its own archive.
    return "debian" in urlsplit(uri).path.split("/")


def _tidy(uri: str) -> str:
    return uri.rstrip("/")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
