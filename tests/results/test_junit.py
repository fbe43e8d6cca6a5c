"""JUnit files that a hostile, dying or merely odd process wrote."""

from __future__ import annotations

import time
import tracemalloc
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from orchestrator.results.junit import MAX_BYTES, Case, JUnitUnusableError, Trouble, address, read_junit


def suite(cases: str, *, name: str = "now", head: str = '<?xml version="1.0" encoding="utf-8"?>') -> bytes:
    return f'{head}<testsuites><testsuite name="{name}">{cases}</testsuite></testsuites>'.encode()


ONE = suite('<testcase classname="test_a" name="test_one" time="0.25"/>')


def trouble(data: bytes | None) -> Trouble:
    with pytest.raises(JUnitUnusableError) as caught:
        read_junit(data, "now")
    return caught.value.trouble


def test_cases_are_read_with_their_status() -> None:
    data = suite(
        '<testcase classname="c" name="passes" time="0.5"><properties><property name="p" value="1"/></properties>'
        '</testcase><testcase classname="c" name="fails"><failure message="boom">text</failure></testcase>'
        '<testcase classname="c" name="breaks"><error message="late"/></testcase>'
        '<testcase classname="c" name="skips"><skipped message="absent: x"/></testcase>'
    )
    assert read_junit(data, "now") == (
        Case(classname="c", name="passes", status="passed", time=0.5),
        Case(classname="c", name="fails", status="failure", message="boom"),
        Case(classname="c", name="breaks", status="error", message="late"),
        Case(classname="c", name="skips", status="skipped", message="absent: x"),
    )


BAD = {
    "missing": (None, Trouble.MISSING),
    "empty": (b"", Trouble.TRUNCATED),
    "cut in a tag": (ONE[:-40], Trouble.TRUNCATED),
    "cut in an attribute": (ONE[: ONE.index(b"0.25")], Trouble.TRUNCATED),
    "without its end": (ONE.removesuffix(b"</testsuites>"), Trouble.TRUNCATED),
    "cut in a character": (suite("<testcase name='é'/>")[:-34], Trouble.TRUNCATED),
    "two roots": (ONE + b"<testsuites/>", Trouble.MALFORMED),
    "NUL": (ONE.replace(b"0.25", b"\0"), Trouble.MALFORMED),
    "not XML": (b"Killed\n", Trouble.MALFORMED),
    "another root": (b"<html></html>", Trouble.MALFORMED),
    "unknown encoding": (suite("", head='<?xml version="1.0" encoding="klingon"?>'), Trouble.MALFORMED),
    "undefined entity": (suite('<testcase name="&x;"/>'), Trouble.MALFORMED),
    "of another attempt": (suite("", name="before"), Trouble.STALE),
    "no suite": (b"<testsuites/>", Trouble.STALE),
    "too many bytes": (b" " * (MAX_BYTES + 1), Trouble.TOO_LARGE),
    "too many cases": (suite("<testcase/>" * 20_001), Trouble.TOO_LARGE),
    "too deep": (b"<testsuites>" * 100_000, Trouble.TOO_LARGE),
    "too much text": (suite(f"<testcase><failure>{'x' * 5_000_000}</failure></testcase>"), Trouble.TOO_LARGE),
    "too much in an attribute": (suite(f'<testcase name="{"x" * 5_000_000}"/>'), Trouble.TOO_LARGE),
}


@pytest.mark.parametrize(("data", "expected"), BAD.values(), ids=BAD)
def test_a_file_of_no_use_says_why(data: bytes | None, expected: Trouble) -> None:
    assert trouble(data) is expected


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
DOCTYPES = {
    "billion laughs": f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>',
    "quadratic": f'<!DOCTYPE x [<!ENTITY a "{"a" * 100_000}">]>',
    "external file": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    "external address": '<!DOCTYPE x SYSTEM "http://192.0.2.1/x.dtd">',
    "parameter entity": '<!DOCTYPE x [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>',
    "small internal entity": '<!DOCTYPE x [<!ENTITY a "test_one">]>',
    "bare": "<!DOCTYPE testsuites>",
}


@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES)
def test_any_doctype_is_refused_at_once(doctype: str) -> None:
    data = doctype.encode() + b'<testsuites><testsuite name="now"><testcase name="t"/></testsuite></testsuites>'
    started = time.monotonic()
    with pytest.raises(JUnitUnusableError, match="DOCTYPE"):
        read_junit(data, "now")
    assert time.monotonic() - started < 1


def test_refusing_costs_no_more_than_the_file() -> None:
    data = suite("<testcase/>" * 2_000_000)
    tracemalloc.start()
    try:
        assert trouble(data) is Trouble.TOO_LARGE
        assert tracemalloc.get_traced_memory()[1] < 2 * len(data)
    finally:
        tracemalloc.stop()


ODD = {
    "no attributes": ("<testcase/>", Case(classname="", name="", status="passed")),
    "message without text": (
        "<testcase name='t'><failure/></testcase>",
        Case(classname="", name="t", status="failure"),
    ),
    "failure and error": (
        "<testcase name='t'><error message='e'/><failure message='f'/></testcase>",
        Case(classname="", name="t", status="failure", message="f"),
    ),
    "thousands": (
        "<testcase name='t' time='1,234.5'/>",
        Case(classname="", name="t", status="passed", time=1234.5),
    ),
    "no number": ("<testcase name='t' time='soon'/>", Case(classname="", name="t", status="passed")),
    "unknown tags": (
        "<what/><testcase name='t'><ever><failure/></ever></testcase>",
        Case(classname="", name="t", status="failure"),
    ),
}


@pytest.mark.parametrize(("cases", "expected"), ODD.values(), ids=ODD)
def test_odd_cases_are_read(cases: str, expected: Case) -> None:
    assert read_junit(suite(cases), "now") == (expected,)


def test_duplicate_names_and_nested_suites_are_all_read() -> None:
    data = suite("<testcase name='t'/><testcase name='t'/><testsuite name='in'><testcase name='u'/></testsuite>")
    assert sorted(case.name for case in read_junit(data, "now")) == ["t", "t", "u"]


def test_the_header_is_not_believed() -> None:
    data = b'<testsuite name="now" tests="abc" failures="0" time="nan"><testcase><failure/></testcase></testsuite>'
    assert [case.status for case in read_junit(data, "now")] == ["failure"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = suite("<testcase name='é'/>", head=f'<?xml version="1.0" encoding="{declared}"?>').decode()
    assert read_junit(text.encode(encoding), "now")[0].name == "é"


NAMES = ("testsuite", "testcase", "failure", "error", "skipped", "properties", "property", "system-out", "what")


def nested(made: tuple[str, list[ET.Element]]) -> ET.Element:
    tag, children = made
    element = ET.Element(tag, name=f"{tag} {len(children)}", message="m", time="1.5")
    element.text = "said"
    element.extend(children)
    return element


ELEMENTS = st.recursive(
    st.sampled_from(NAMES).map(ET.Element),
    lambda inner: st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=3)).map(nested),
    max_leaves=8,
)


@given(st.lists(ELEMENTS, max_size=4))
def test_what_is_left_out_of_the_tree_changes_nothing(children: list[ET.Element]) -> None:
    """Cases of pytest hold nothing but results and what is left out; junitparser reads the whole tree."""
    root = ET.Element("testsuites")
    root.append(suite := ET.Element("testsuite", name="now"))
    for number, child in enumerate(children):
        case = ET.SubElement(suite, "testcase", name=f"t{number}", classname="c")
        case.extend(
            ET.Element(one.tag, message="m") for one in child.iter() if one.tag not in ("testcase", "testsuite")
        )
    whole = [
        (case.name, [type(result).__name__.lower() for result in case.result])
        for one in JUnitXml.fromroot(root)
        for case in one
    ]
    for case, (name, results) in zip(read_junit(ET.tostring(root), "now"), whole, strict=True):
        assert case.name == name
        assert case.status in (results or ["passed"])


@given(st.binary(max_size=200) | st.text(alphabet="<>/&;=\"' testcaseui!?", max_size=80).map(str.encode))
def test_whatever_the_bytes_there_is_an_answer(data: bytes) -> None:
    assert isinstance(trouble(data), Trouble)


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("test_a.py::test_one", ("test_a", "test_one")),
        ("sub/test_a.py::TestIt::test_one", ("sub.test_a.TestIt", "test_one")),
        ("test_a.py::test_one[a::b/c.py]", ("test_a", "test_one[a::b/c.py]")),
    ],
)
def test_addresses_are_pytests(nodeid: str, expected: tuple[str, str]) -> None:
    assert address(nodeid) == expected
