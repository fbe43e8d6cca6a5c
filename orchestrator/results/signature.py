"""Failure signatures: equal for equal failures, whatever run, host or process they come from."""

from __future__ import annotations

import re
import signal

MAX_LENGTH = 200

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# Order matters: what a pattern replaces must not look like a number to a later one.
_VARYING = (
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "0x…"),
    # A path keeps its last part: which file or library it is says what failed, where it lies does not.
    (re.compile(r"(?<![\w.:/])(?:/[\w.+@~-]+)+/([\w.+@-]+)"), r"\1"),
    (re.compile(r"\b([\w-]+\.(?:py|cpp|cc|c|h|hpp|cu|cuh)):\d+(?::\d+)?\b"), r"\1"),
    (re.compile(r"\bline \d+\b"), "line N"),
    (re.compile(r"\bgw\d+\b"), "gwN"),
    (re.compile(r"\b(pid|tid|process|thread)([ =:]+)\d+\b", re.IGNORECASE), r"\1\2N"),
    # Floats vary from run to run; integers are shapes and dtypes, and tell failures apart. Versions have two dots.
    (re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.]*\d)", re.IGNORECASE), "N"),
    (re.compile(r"(?<![\w.])-?\d+e[+-]?\d+\b", re.IGNORECASE), "N"),
    (re.compile(r"(mean abs error) -?(?:\d+|nan|inf)\b", re.IGNORECASE), r"\1 N"),
)
_INTERNAL_ASSERT = re.compile(r"assert\b")


def failure_signature(headline: str) -> str:
    """Return the signature of a failure from its exception line, `Type: message`.

    Kept are the exception type, the words and the integers (shapes); replaced are addresses, paths, line numbers,
    process and worker ids and floats. The first line counts, and the next where the first only announces it.
    """
    lines = [line.strip() for line in _ESCAPES.sub("", headline).splitlines() if line.strip()]
    if not lines:
        return "no message"
    text = lines[0]
    if text.endswith(":") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    if _INTERNAL_ASSERT.match(text):
        # pytest drops the type of a plain assert.
        text = f"AssertionError: {text}"
    # Bounded before the patterns run, for no message is too long to be somebody's.
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * MAX_LENGTH])
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def signal_signature(number: int) -> str:
    """Return a signal's name, as `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def metric_signature(name: str, value: float) -> str:
    """Return the signature of a number that decided, as `mae = 1.4759`."""
    return f"{name} = {value:.5g}"
