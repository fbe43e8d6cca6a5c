"""Fourteen releases of a small library, each with its own faults, and the answers that are true of them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelhouse import Wheelhouse

RELEASES = tuple(f"1.{minor}" for minor in range(14))

DIES_AT_IMPORT = "1.12"
UNRESOLVABLE = "1.13"


def source(minor: int) -> str:
    """Return the code of release 1.`minor`."""
    fails = {
        "introduced": minor >= 5,
        "fixed": minor <= 6,
        "again": 3 <= minor <= 5 or minor >= 10,
        "always": True,
        "api": 3 <= minor <= 6,
        "wrong_reason": minor <= 8,
    }
    body = ["import ctypes, os, signal, sys, time", f"__version__ = '1.{minor}'"]
    if f"1.{minor}" == DIES_AT_IMPORT:
        body.append("print('tinylib needs another engine'); os._exit(0)")
    for name in ("introduced", "fixed", "again", "always"):
        body.append(function(name, "raise RuntimeError('broken since somebody')" if fails[name] else "return 4"))
    if 3 <= minor <= 10:
        body.append(function("api", "raise RuntimeError('api is broken')" if fails["api"] else "return 4"))
    body.append(function("crash", "ctypes.string_at(0)" if minor in (8, 9) else "return 4"))
    body.append(function("hang", "time.sleep(3600)" if minor in (4, 5) else "return 4"))
    body.append(function("deaf", DEAF if minor == 2 else "return 4"))
    body.append(function("leave", "os._exit(0)" if minor == 9 else "return 4"))
    body.append(function("number", "return 24.08" if minor <= 7 else "return 4.0"))
    reason = (
        "raise TypeError('unexpected keyword')" if minor == 4 else "raise RuntimeError('shapes differ (53x2048)')"
    )
    body.append(function("wrong_reason", reason if fails["wrong_reason"] else "return 4"))
    return "\n".join(body) + "\n"


# Blocks every signal that a process may block and sleeps where no Python handler runs.
DEAF = "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals)); ctypes.CDLL(None).sleep(3600)"


def function(name: str, body: str) -> str:
    return f"def {name}():\n" + textwrap.indent(body, "    ")


def publish(house: Wheelhouse) -> None:
    """Put all releases on an index, a month apart, with a companion that one of them cannot have."""
    house.add("tinydep", "1.0", uploaded="2023-12-01T00:00:00Z")
    house.add("tinydep", "2.0", uploaded="2026-01-01T00:00:00Z")
    for minor, version in enumerate(RELEASES):
        house.add(
            "tinylib",
            version,
            {"tinylib/__init__.py": source(minor)},
            requires=("tinydep>=2",) if version == UNRESOLVABLE else ("tinydep",),
            uploaded=f"2024-{minor % 12 + 1:02}-01T00:00:00Z"
            if minor < 12
            else f"2025-0{minor - 11}-01T00:00:00Z",
        )


LOST = [DIES_AT_IMPORT, UNRESOLVABLE]
"""At the end of every series, where nothing can be known."""

ANSWERS = {
    # issue: (state, [(kind, after, version, untested)])
    "introduced": ("affected", [("introduced", "1.4", "1.5", [])]),
    "fixed": ("ok", [("introduced", None, "1.0", []), ("fixed", "1.6", "1.7", [])]),
    "again": (
        "affected",
        [("introduced", "1.2", "1.3", []), ("fixed", "1.5", "1.6", []), ("introduced", "1.9", "1.10", [])],
    ),
    "always": ("affected", [("introduced", None, "1.0", [])]),
    "api": ("ok", [("introduced", None, "1.3", []), ("fixed", "1.6", "1.7", [])]),
    "api-removal": (
        "affected",
        [("introduced", None, "1.0", []), ("fixed", "1.6", "1.7", []), ("introduced", "1.10", "1.11", [])],
    ),
    "crash": ("ok", [("introduced", "1.7", "1.8", []), ("fixed", "1.9", "1.10", [])]),
    "hang": ("ok", [("introduced", "1.3", "1.4", []), ("fixed", "1.5", "1.6", [])]),
    "deaf": ("ok", [("introduced", "1.1", "1.2", []), ("fixed", "1.2", "1.3", [])]),
    "leave": ("ok", []),
    "number": ("ok", [("introduced", None, "1.0", []), ("fixed", "1.7", "1.8", [])]),
    "wrong-reason": ("ok", [("introduced", None, "1.0", []), ("fixed", "1.8", "1.9", [])]),
}

OUTCOMES = {
    # (issue, version): (outcome, signature or the beginning of it)
    ("introduced", "1.4"): ("pass", None),
    ("introduced", "1.5"): ("fail", "RuntimeError: broken since somebody"),
    ("api", "1.2"): ("absent", "tinylib.api"),
    ("api", "1.11"): ("absent", "tinylib.api"),
    ("api-removal", "1.11"): ("absent", "tinylib.api"),
    ("crash", "1.8"): ("crash", "SIGSEGV"),
    ("hang", "1.4"): ("timeout", ""),
    ("deaf", "1.2"): ("timeout", ""),
    ("leave", "1.8"): ("pass", None),
    ("leave", "1.9"): ("error", "the process exited with status 0"),
    ("number", "1.7"): ("fail", "error = 20.08"),
    ("wrong-reason", "1.3"): ("fail", "RuntimeError: shapes differ (53x2048)"),
    ("wrong-reason", "1.4"): ("error", "TypeError: unexpected keyword"),
    ("always", DIES_AT_IMPORT): (
        "incompatible",
        "the process exited with status 0 during import: tinylib needs another engine",
    ),
    ("always", UNRESOLVABLE): ("unresolvable", ""),
}

MATRIX = """\
version: 1
probes: {probes}
images: {{dockerfiles: {images}}}
indexes: {{house: "{index}"}}
bases: {{"3.11": {{image: "python:3.11-slim", debian: bookworm}}}}
limits: {{probe-timeout: 3s, memory: 1GB, shm: 64MB}}
packages:
  tinylib: {{repository: "https://example.org/tinylib", indexes: {{cpu: [house]}}}}
  tinydep: {{indexes: {{cpu: [house]}}}}
stacks:
  tiny:
    device: cpu
    axes: {{tinylib: ">=1.0"}}
    companions: {{tinydep: {{follows: tinylib, ranges: {{">=0": "1.0"}}}}}}
issues:
{issues}
"""

_SPECIAL = {
    "api-removal": "absent: bad",
    "number": "threshold: {metric: error, above: 0.01}",
    "wrong-reason": "shows: shapes differ",
}
_PROBE = {"api-removal": "api", "wrong-reason": "wrong_reason"}


def matrix_text(*, probes: str, images: str, index: str) -> str:
    """Return a matrix.yaml over all releases, with one issue for each fault."""
    issues = [
        f'  {name}: {{title: "{name}", subject: {{tiny: tinylib}}, expect: {state}, '
        f'probes: ["test_tiny.py::test_{_PROBE.get(name, name)}"]'
        + (f", {_SPECIAL[name]}" if name in _SPECIAL else "")
        + "}"
        for name, (state, _) in ANSWERS.items()
    ]
    return MATRIX.format(probes=probes, images=images, index=index, issues="\n".join(issues))
