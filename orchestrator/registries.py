"""What names a place in a registry: `host:port/name`."""

from __future__ import annotations

import re

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
# A first part without a dot and a port would be looked for on the public hub.
_HOST = rf"(localhost|{_LABEL}(\.{_LABEL})+|{_LABEL}(\.{_LABEL})*:[0-9]{{1,5}})"
_COMPONENT = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_LONGEST = 200

PATTERN = rf"{_HOST}(/{_COMPONENT})+"
WORDS = "a place in a registry: host:port/name, the name in lowercase, and a host with a dot or a port"


def split(name: str) -> tuple[str, str]:
    """Split a place in a registry into host and name.

    Raises:
        ValueError: it is none.
    """
    if len(name) > _LONGEST or not re.fullmatch(PATTERN, name):
        raise ValueError(f"{name[:_LONGEST]!r} is not {WORDS}")
    host, _, path = name.partition("/")
    return host, path
