"""JUnit XML that a hostile or dying process wrote, to cases; nothing else is believed.

Counts in the file's header are ignored: the cases count.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.parsers import expat

if TYPE_CHECKING:
    from junitparser import TestCase

MAX_BYTES = 32 * 1024 * 1024
MAX_CASES = 20_000
MAX_DEPTH = 24
MAX_TEXT = 4 * 1024 * 1024
"""Characters in one element, its attributes included."""

_TRUNCATED = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}


class Trouble(StrEnum):
    """Why a JUnit file is of no use."""

    MISSING = "missing"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    STALE = "of another attempt"


class JUnitUnusableError(Exception):
    """The file cannot count as a result."""

    def __init__(self, trouble: Trouble, detail: str = "") -> None:
        super().__init__(f"junit.xml is {trouble}" + (f": {detail}" if detail else ""))
        self.trouble = trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case; `status` is passed, failure, error or skipped."""

    classname: str
    name: str
    status: str
    message: str = ""
    time: float | None = None


def read_junit(data: bytes | None, attempt: str) -> tuple[Case, ...]:
    """Read the cases of the file that this attempt wrote.

    Raises:
        JUnitUnusableError: the file is missing, truncated, malformed, too large, or another attempt's.
    """
    if data is None:
        raise JUnitUnusableError(Trouble.MISSING)
    if len(data) > MAX_BYTES:
        raise JUnitUnusableError(Trouble.TOO_LARGE, f"{len(data)} bytes")
    _Guard().check(data)
    from junitparser import JUnitXml, JUnitXmlError, TestSuite  # noqa: PLC0415 - only where results are read

    try:
        # The parser is named, for junitparser prefers another one where that is installed.
        root = JUnitXml.fromfile(io.BytesIO(data), parse_func=ET.parse)
        suites = [root] if isinstance(root, TestSuite) else list(root)
        if not any(suite.name == attempt for suite in suites):
            raise JUnitUnusableError(Trouble.STALE)
        # A suite yields the cases of the suites inside it too.
        return tuple(_case(case) for suite in suites for case in suite)
    except (JUnitXmlError, SyntaxError, ValueError, RecursionError, LookupError) as error:
        raise JUnitUnusableError(Trouble.MALFORMED, str(error)[:200]) from None


def address(nodeid: str) -> tuple[str, str]:
    """Return the (classname, name) under which pytest's JUnit lists a node id."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = names[0].replace("/", ".").removesuffix(".py")
    return ".".join(names[:-1]), names[-1] + bracket + parameters


def _case(case: TestCase) -> Case:
    kinds = {type(result).__name__.lower(): result for result in case.result}
    status = next((kind for kind in ("failure", "error", "skipped") if kind in kinds), "passed")
    try:
        time = case.time
    except ValueError:
        time = None
    message = kinds[status].message if status in kinds else None
    return Case(
        classname=case.classname or "", name=case.name or "", status=status, message=message or "", time=time
    )


class _Guard:
    """Reads a whole file once, event by event, and refuses what no tree should be built of."""

    def __init__(self) -> None:
        self.depth = self.cases = self.text = 0

    def check(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(data, True)  # noqa: FBT003 - positional only: this is all of it
        except expat.ExpatError as error:
            trouble = Trouble.TRUNCATED if error.code in _TRUNCATED else Trouble.MALFORMED
            raise JUnitUnusableError(trouble, str(error)) from None
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            raise JUnitUnusableError(Trouble.MALFORMED, str(error)[:200]) from None

    def _doctype(self, *_: object) -> None:
        raise JUnitUnusableError(Trouble.MALFORMED, "it has a DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.cases += tag == "testcase"
        self.text = sum(map(len, attributes.values()))
        if self.depth > MAX_DEPTH:
            raise JUnitUnusableError(Trouble.TOO_LARGE, f"elements are nested more than {MAX_DEPTH} deep")
        if self.cases > MAX_CASES:
            raise JUnitUnusableError(Trouble.TOO_LARGE, f"more than {MAX_CASES} test cases")
        self._bound()

    def _end(self, _: str) -> None:
        self.depth -= 1
        self.text = 0

    def _characters(self, part: str) -> None:
        self.text += len(part)
        self._bound()

    def _bound(self) -> None:
        if self.text > MAX_TEXT:
            raise JUnitUnusableError(Trouble.TOO_LARGE, f"more than {MAX_TEXT} characters in one element")
