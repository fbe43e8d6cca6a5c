"""What a wheel's URL tells: the name of the file, and whom to name when it cannot be had."""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

_PLAIN = re.compile(r"[A-Za-z0-9_.+!-]{1,240}\.whl")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def wheel_name(url: str) -> str:
    """Return the last component of a URL's path, unquoted.

    Raises:
        ValueError: it is not the name of a wheel.
    """
    name = unquote(_last(url))
    # Looked at first, because to the parser a build or platform tag may be anything, a slash included.
    if _PLAIN.fullmatch(name):
        with suppress(InvalidWheelFilename):
            parse_wheel_filename(name)
            return name
    raise ValueError(f"{_printable(_last(url))} is not the name of a wheel")


def checked_sha256(text: str) -> str:
    """Return a SHA-256 as it is.

    Raises:
        ValueError: it is not 64 lower-case hexadecimal digits.
    """
    if _SHA256.fullmatch(text) is None:
        raise ValueError(f"{_printable(text)} is not a SHA-256")
    return text


def described(url: str) -> str:
    """Return "FILE from HOST": nothing of a URL that may be secret, whatever it looks like."""
    try:
        name = wheel_name(url)
    except ValueError:
        name = _printable(_last(url))
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    except ValueError:
        host = None
    return f"{name} from {_printable(host)}" if host else name


def _last(url: str) -> str:
    try:
        return urlsplit(url).path.rpartition("/")[2]
    except ValueError:
        return ""


def _printable(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.+!%:-]", "?", text)[:100] or "a file"
