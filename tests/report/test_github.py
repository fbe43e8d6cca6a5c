from __future__ import annotations

import re
from dataclasses import replace

import pytest
from msgspec import structs

import lettered
from orchestrator.model import Report, Surprise
from orchestrator.report import github, render

COMMAND = re.compile(r"::(error|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def annotated(*kinds: Surprise) -> Report:
    members = [lettered.series("gb", issue=f"i{number}") for number in range(len(kinds))]
    return lettered.report(*members, findings=tuple(map(lettered.finding, members, kinds)))


def unescaped(text: str) -> str:
    """Undo what the format asks for, the per cent sign last, as the runner does."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_errors_for_what_is_affected_and_notices_for_what_is_fixed() -> None:
    lines = github.commands(annotated(Surprise.FIXED, Surprise.REGRESSION, Surprise.AFFECTED))
    assert [COMMAND.fullmatch(line).group(1, 2) for line in lines] == [
        ("error", "Regression%3A i1"),
        ("error", "Unexpectedly affected%3A i2"),
        ("notice", "Unexpectedly fixed%3A i0"),
    ]
    assert lines[0].endswith("::regression: i1 is affected in s at lib 2.0, and was ok before (It: broke)")
    assert "broke" not in lines[2]


@pytest.mark.parametrize("kind", list(Surprise))
@pytest.mark.parametrize(("count", "shown"), [(9, 9), (10, 10), (11, 10), (300, 10)])
def test_no_more_than_github_shows(kind: Surprise, count: int, shown: int) -> None:
    lines = github.commands(annotated(*[kind] * count))
    assert len(lines) == shown
    assert lines[-1].endswith(f"and {count - 9} findings more: see the report") == (count > 10)
    assert len({COMMAND.fullmatch(line).group(1) for line in lines}) == 1


def test_only_what_is_new() -> None:
    report = annotated(Surprise.REGRESSION, Surprise.FIXED)
    regression, fixed = report.findings
    assert len(github.commands(report)) == 2
    told = replace(report, findings=(replace(regression, new=False), fixed))
    assert [line.partition(" ")[0] for line in github.commands(told)] == ["::notice"]
    known = replace(report, findings=tuple(replace(one, new=False) for one in report.findings))
    assert github.commands(known) == ()


def test_nothing_is_an_empty_line() -> None:
    assert render(lettered.report(lettered.series("g")), "github") == "\n"


@pytest.mark.parametrize(
    "text",
    ["\r\n::error::made up", "a%0A::error::b", "100% of, a:b", "##[error]no", "\u2028::warning::x", "\x1b[31mred"],
)
def test_no_text_ends_its_command_or_begins_another(text: str) -> None:
    one = lettered.series("gb", issue=f"issue {text}", fixed={"python": text})
    points = (one.points[0], structs.replace(one.points[1], signature=text))
    report = lettered.report(replace(one, points=points), findings=(lettered.finding(one),))
    for lines in (github.commands(report), render(report, "github").splitlines()):
        (line,) = lines
        found = COMMAND.fullmatch(line)
        assert found is not None
        assert line.isprintable()
        assert "##[" not in line
        assert not re.search("%(?!25|3A|2C)", line)
    assert "\n" not in unescaped(found.group(3))


def test_a_text_comes_back_as_it_was() -> None:
    line = github.command("error", "50%: a, b", "50%: a, b")
    assert line == "::error title=50%25%3A a%2C b::50%25: a, b"
    assert [unescaped(part) for part in COMMAND.fullmatch(line).group(2, 3)] == ["50%: a, b"] * 2
