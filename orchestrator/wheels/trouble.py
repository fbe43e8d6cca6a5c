"""Tell what kind of trouble the output of a failed build shows."""

from __future__ import annotations

import re

_NETWORK = re.compile(
    r"""
    error\ sending\ request | client\ error\ \(connect\) | dns\ error | failed\ to\ lookup\ address
    | temporary\ failure\ in\ name\ resolution | name\ or\ service\ not\ known | could\ not\ resolve
    | connection\ (refused|reset|timed\ out|aborted|closed) | network\ is\ unreachable | no\ route\ to\ host
    | (operation|read|request|i/o)\ ?\ timed?[\ -]?out | i/o\ timeout | timed\ out\ (while|after)
    | incomplete(read|\ message) | unexpected\ (eof|end\ of\ file) | end\ of\ file\ before\ message
    | error\ decoding\ response\ body | request\ or\ response\ body\ error | tls\ handshake\ (eof|timeout)
    | http\ status\ server\ error\ \(5\d\d | http\ status\ client\ error\ \((408|425|429)
    | \b(500|502|503|504)\ (internal\ server\ error|bad\ gateway|service\ unavailable|gateway\ time-?out)
    | \b429\ too\ many\ requests | readtimeouterror | newconnectionerror
    | temporary\ failure\ resolving | could\ not\ connect\ to | cannot\ initiate\ the\ connection  # apt
    | failed\ to\ create\ endpoint  # the engine's own network
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CERTIFICATE = re.compile(
    r"invalid peer certificate|unknownissuer|certificate verify failed|unable to get local issuer"
    r"|self[- ]signed certificate|certificate signed by unknown authority"
    r"|certificate verification failed|no system certificates available",  # apt
    re.IGNORECASE,
)
_PERMANENT = re.compile(
    r"no matching distribution|no solution found|resolutionimpossible|hash mismatch|no space left on device"
    r"|http status client error \((401|403|404|410)"
    r"|unable to locate package|does not have a release file|\b404\s+not found"
    r"|version '[^']*' for '[^']*' was not found",  # apt
    re.IGNORECASE,
)
_CAUSE = re.compile(r"(caused by:|cause:|╰─▶|├─▶)\s*", re.IGNORECASE)
_INSTRUCTION = re.compile(r"executor failed running \[.*\]: (.+)")
"""How BuildKit says that an instruction could not be run, or with which status it ended."""

_FRAME = re.compile(r"-+$|> \[\d+/\d+\] |(ERROR: )?executor failed running \[|(DONE|CACHED)\b|sha256:[0-9a-f]{64}")
"""What BuildKit prints around the output of an instruction."""

_STARTS = ("error:", "\N{MULTIPLICATION SIGN}", "E: ")
_DISK = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)


def is_certificate(output: str) -> bool:
    """Tell whether TLS failed because the other side's certificate is not known here."""
    return _CERTIFICATE.search(output) is not None


def is_transient(output: str) -> bool:
    """Tell whether a retry may cure it: the network or an index, never a version that does not exist."""
    if is_certificate(output) or _PERMANENT.search(output):
        return False
    return _NETWORK.search(output) is not None


def is_disk(output: str) -> bool:
    """Tell whether the disk is full."""
    return _DISK.search(output) is not None


def complaint(output: str) -> str | None:
    """Return the installer's own words on what is wrong, None where it said nothing recognisable."""
    lines = [_plain(line) for line in output.splitlines()]
    start = next((i for i, line in enumerate(lines) if line.startswith(_STARTS)), None)
    if start is None:
        instruction = next((match[1] for line in reversed(lines) if (match := _INSTRUCTION.match(line))), None)
        return None if instruction is None or instruction.startswith("exit code") else instruction
    said = [next(lines[start].removeprefix(s) for s in _STARTS if lines[start].startswith(s)).strip()]
    for line in lines[start + 1 :]:
        if not (cause := _CAUSE.match(line)):
            break
        said.append(line[cause.end() :])
    return ": ".join(said)


def readable(output: str) -> str:
    """Return the output without what builders put around it: step numbers, rules, the instruction once more."""
    lines = (_plain(line) for line in output.splitlines())
    return "\n".join(line for line in lines if line and not _FRAME.match(line))


def _plain(line: str) -> str:
    # BuildKit puts "#7 12.34 " before every line of a step; terminals get colours.
    return re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"^#\d+ (\d+\.\d+ )?", "", line)).strip()
