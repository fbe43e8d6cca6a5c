"""JUnit XML that a hostile or dying process wrote, to cases; nothing else is believed.

Counts in the file's header are ignored: the cases count.
"""

from __future__ import annotations

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


_STATUSES = ("failure", "error", "skipped")
_PRUNED = frozenset(("properties", "property", "system-out", "system-err"))
"""Elements that no status depends on."""


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
    tree = _Pruned().read(data)
    from junitparser import JUnitXml, JUnitXmlError, TestSuite  # noqa: PLC0415 - only where results are read

    try:
        root = JUnitXml.fromroot(tree)  # type: ignore[arg-type] # its name for the same class
        suites = [root] if isinstance(root, TestSuite) else list(root)
        if not any(suite.name == attempt for suite in suites):
            raise JUnitUnusableError(Trouble.STALE)
        # A suite yields the cases of the suites inside it too.
        return tuple([_case(case) for suite in suites for case in suite])
    except (JUnitXmlError, SyntaxError, ValueError, RecursionError, LookupError) as error:
        raise JUnitUnusableError(Trouble.MALFORMED, str(error)[:200]) from None


def address(nodeid: str) -> tuple[str, str]:
    """Return the (classname, name) under which pytest's JUnit lists a node id."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = names[0].replace("/", ".").removesuffix(".py")
    return ".".join(names[:-1]), names[-1] + bracket + parameters


def _case(case: TestCase) -> Case:
    status, message = "passed", None
    if results := case.result:
        kinds = {type(result).__name__.lower(): result for result in results}
        status = next((kind for kind in _STATUSES if kind in kinds), status)
        message = kinds[status].message if status in kinds else None
    try:
        time = case.time
    except ValueError:
        time = None
    return Case(
        classname=case.classname or "", name=case.name or "", status=status, message=message or "", time=time
    )


class _Pruned:
    """Builds a tree of what counts in a file, event by event, and stops at what no tree should be built of."""

    def __init__(self) -> None:
        self._depth = self._cases = self._text = 0
        self._builder = ET.TreeBuilder()
        self._open, self._close = self._builder.start, self._builder.end

    def read(self, data: bytes) -> ET.Element:
        """Return the suites, the cases and their results, without text.

        Raises:
            JUnitUnusableError: the file is truncated, malformed or too large.
        """
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        if len(data) > MAX_TEXT:  # else no element can have more: without a DOCTYPE text only gets shorter
            parser.StartElementHandler = self._start_bounded
            parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(data, True)  # noqa: FBT003 - positional only: this is all of it
        except expat.ExpatError as error:
            trouble = Trouble.TRUNCATED if error.code in _TRUNCATED else Trouble.MALFORMED
            raise JUnitUnusableError(trouble, str(error)) from None
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            raise JUnitUnusableError(Trouble.MALFORMED, str(error)[:200]) from None
        return self._builder.close()

    def _doctype(self, *_: object) -> None:
        raise JUnitUnusableError(Trouble.MALFORMED, "it has a DOCTYPE")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise JUnitUnusableError(Trouble.TOO_LARGE, f"elements are nested more than {MAX_DEPTH} deep")
        if tag == "testcase":
            self._cases += 1
            if self._cases > MAX_CASES:
                raise JUnitUnusableError(Trouble.TOO_LARGE, f"more than {MAX_CASES} test cases")
        if tag not in _PRUNED or self._depth == 1:
            self._open(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag not in _PRUNED or not self._depth:
            self._close(tag)

    def _start_bounded(self, tag: str, attributes: dict[str, str]) -> None:
        self._text = 0
        self._characters(*attributes.values())
        self._start(tag, attributes)

    def _characters(self, *parts: str) -> None:
        self._text += sum(map(len, parts))
        if self._text > MAX_TEXT:
            raise JUnitUnusableError(Trouble.TOO_LARGE, f"more than {MAX_TEXT} characters in one element")
