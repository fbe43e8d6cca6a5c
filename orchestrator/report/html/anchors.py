"""Names for places on the page that a link can lead to: the same for the same thing in every report."""

from __future__ import annotations

from hashlib import sha256

_LENGTH = 10


def anchor(kind: str, *parts: object) -> str:
    """Return an id made of a letter for the kind and a digest of what the place is about.

    Text of others is never in an id, so that nothing has to be escaped in a link.
    """
    told = "\0".join(map(str, parts))
    return f"{kind}-{sha256(told.encode(errors='surrogatepass')).hexdigest()[:_LENGTH]}"
