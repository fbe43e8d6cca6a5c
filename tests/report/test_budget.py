from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.budget import Section, fitted

ROW = "| é row |"
TABLE = Section(head="| head |\n|---|\n", rows=(ROW,) * 100)


def test_what_fits_is_not_touched() -> None:
    assert fitted([Section(head="a"), Section(head="b", rows=("1", "2"))], 100, "a page") == "a\n\nb1\n2\n"


def test_a_long_table_is_cut_to_its_first_rows_and_leaves_room_for_what_follows() -> None:
    told = fitted([TABLE, Section(head="next")], 1000, "a page")
    lines = told.splitlines()
    kept = lines.count(ROW)
    assert 10 < kept < 30
    assert lines[:2] == ["| head |", "|---|"]
    assert f"…{100 - kept} rows more" in lines
    assert told.endswith("\n\nnext\n")


def test_a_block_that_is_cut_is_still_closed() -> None:
    block = Section(head="<details>\n\n", rows=("- row",) * 500, tail="\n\n</details>")
    told = fitted([block], 600, "a page")
    assert told.startswith("<details>\n\n- row\n")
    assert told.endswith("rows more\n\n</details>\n")


def test_what_cannot_be_cut_is_left_out_and_counted() -> None:
    sections = [Section(head="a" * 60), Section(head="b" * 60), Section(head="c" * 20), Section(rows=("d" * 90,))]
    assert (
        fitted(sections, 100, "a page") == f"{'a' * 60}\n\n{'c' * 20}\n\n…2 sections more than a page can hold.\n"
    )


def test_one_row_that_is_too_long_is_counted() -> None:
    assert fitted([Section(rows=("x" * 500,))], 100, "a page") == "…1 section more than a page can hold.\n"


@given(st.integers(0, 400), st.integers(1, 30))
def test_a_section_is_cut_to_its_limit(limit: int, count: int) -> None:
    section = Section(head="head\n", rows=tuple("é" * length for length in range(count)), tail="\ntail")
    told = section.within(limit)
    assert len(told.encode()) <= limit
    assert told in ("", section.text) or told.startswith("head\n")


@given(
    st.lists(
        st.builds(
            Section,
            head=st.text(alphabet="aé", max_size=40),
            rows=st.lists(st.text(alphabet="bé", max_size=30), max_size=20).map(tuple),
            tail=st.text(alphabet="c", max_size=10),
        ),
        max_size=8,
    ),
    st.integers(0, 600),
)
def test_the_budget_is_kept(sections: list[Section], budget: int) -> None:
    told = fitted(sections, budget, "a page")
    note = len("\n\n…8 sections more than a page can hold.\n".encode())
    assert len(told.encode()) <= budget + note
    kept = [section for section in sections if section.text and section.text in told]
    assert len(kept) == len([s for s in sections if s.text]) or "more" in told
