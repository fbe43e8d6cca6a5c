from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config.document import MAX_DEPTH, Document, parse
from orchestrator.config.places import Keys, Mark

TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=8)
SCALARS = TEXTS | st.integers(-(10**17), 10**17) | st.booleans()
TREES = st.dictionaries(
    TEXTS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


def quoted(tree: object) -> str:
    """YAML in which every string is in quotes, over several lines."""

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))
    Dumper.ignore_aliases = lambda _self, _data: True  # type: ignore[method-assign]
    return yaml.dump(tree, Dumper=Dumper, allow_unicode=True, width=10_000)


def leaves(document: Document) -> list[Keys]:
    return [keys for keys in document.values if keys in document.sources]


@settings(deadline=None)
@given(TREES)
def test_values_are_those_that_were_written(tree: dict[str, object]) -> None:
    document = parse(quoted(tree).encode())
    assert document.value == tree
    assert document.problems == ()


@settings(deadline=None)
@given(TREES)
def test_marks_are_where_the_scalars_are(tree: dict[str, object]) -> None:
    text = quoted(tree)
    document = parse(text.encode())
    lines = text.split("\n")
    for keys in leaves(document):
        mark = document.mark(keys)
        value = yaml.safe_load(lines[mark.line - 1][mark.column - 1 :].split("\n")[0])
        assert value == at(document.value, keys)


def at(value: object, keys: Keys) -> object:
    for key in keys:
        value = value[key]  # type: ignore[index]
    return value


def test_scalars_follow_yaml_1_2_and_booleans_1_1() -> None:
    text = "[1, -2, 1.5, 1e3, .5, true, no, On, 010, 0x1F, 1_000, 1:30, 2024-01-31, 2.1.0, '1', .inf, y, =]"
    assert parse(text.encode()).value == [
        *[1, -2, 1.5, 1000.0, 0.5, True, False, True],
        *["010", "0x1F", "1_000", "1:30", "2024-01-31", "2.1.0", "1", ".inf", "y", "="],
    ]


def test_nearest_mark() -> None:
    document = parse(b"a:\n  b: [1]\n")
    assert document.mark(("a", "b", 0)) == Mark(line=2, column=7)
    assert document.mark(("a", "b", 7, "x")) == Mark(line=2, column=6)
    assert document.key_mark(("a", "b")) == Mark(line=2, column=3)
    assert document.key_mark(("a", "b", 0)) == Mark(line=2, column=7)
    assert document.mark(("z",)) == Mark(line=1, column=1)
    assert document.names("a") == ("b",)
    assert document.names("a", "b") == document.names("z") == ()


def test_deepest_nesting() -> None:
    assert parse(("[" * MAX_DEPTH + "]" * MAX_DEPTH).encode()).problems == ()
