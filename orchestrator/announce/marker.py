"""The first line of an issue that is kept here: hidden, it says which issue of the matrix it is about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from orchestrator.versions import Version, parse_version

_LINE = re.compile(r"\A<!-- matrix-orchestrator (\{[^\r\n]*\}) -->[ \t]*(?=\r?\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an issue on GitHub is about, and what it said last."""

    issue: str
    stack: str
    digest: str = ""
    """Of the findings that it told; empty where it said that there is none any more."""
    at: Version | None = None
    """The earliest of the versions where they were read: a run that does not reach it cannot call them fixed."""


def written(told: Told) -> str:
    """Return the hidden line."""
    document = {"issue": told.issue, "stack": told.stack, "digest": told.digest}
    if told.at is not None:
        document["at"] = str(told.at)
    # A comment of HTML ends at `-->`, and must not hold `--` before.
    text = json.dumps(document, sort_keys=True).replace("-", "\\u002d").replace(">", "\\u003e")
    return f"<!-- matrix-orchestrator {text} -->"


def read(body: str) -> Told | None:
    """Return what the first line of an issue's body says, or None where it is none of ours."""
    found = _LINE.match(body)
    if found is None:
        return None
    try:
        document = json.loads(found[1])
        texts = [document[name] for name in ("issue", "stack", "digest")]
        at = document.get("at")
        if not all(isinstance(text, str) for text in (*texts, *([] if at is None else [at]))):
            return None
        issue, stack, digest = texts
        return Told(issue=issue, stack=stack, digest=digest, at=None if at is None else parse_version(at))
    except (ValueError, KeyError, RecursionError):
        return None


def replaced(body: str, told: Told) -> str:
    """Return a body that `read` understands with another hidden line."""
    return _LINE.sub(lambda _found: written(told), body, count=1)
