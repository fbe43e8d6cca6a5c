"""Clean text as Markdown or HTML shows it: letter by letter, and never as markup, mention or link."""

from __future__ import annotations

import html
import re
from urllib.parse import quote, urlsplit

# Parentheses and exclamation marks mean nothing without brackets; some signs only do where a block begins.
_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$]|\A[#+=-]")
# GitHub makes links of these, even of escaped ones; a joiner that shows nothing keeps it from seeing them.
_LINKED = re.compile(r"(?:@(?=\w)|#(?=\d)|\bGH-(?=\d)|://|\bwww\.)", re.IGNORECASE)
_JOINER = "\N{ZERO WIDTH JOINER}"


def markdown(text: str) -> str:
    """Return text for a place where Markdown is read, in a table as well."""
    return _MARKUP.sub(r"\\\g<0>", _unlinked(text))


def in_html(text: str) -> str:
    """Return text for a place where only HTML is read, such as a summary."""
    return html.escape(_unlinked(text))


def _unlinked(text: str) -> str:
    return _LINKED.sub(lambda found: found.group() + _JOINER, text)


def link(text: str, url: str | None) -> str:
    """Return text as a Markdown link, or as it is where the address is none of the web."""
    if url is None or not is_web(url):
        return markdown(text)
    return f"[{markdown(text)}]({quote(url, safe=':/?#@&=+,;%~!$')})"


def is_web(url: str) -> bool:
    """Tell whether an address is one that a browser opens from the web, and not a script."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.netloc)
