import pytest

from builders import axis, exclusion, issue, matrix, stack
from orchestrator.errors import ConfigError
from orchestrator.matrix import Selection, expand, select

MATRIX = matrix(
    stack("cpu", axis("torch", "2.1.0", "2.2.0", "2.3.0"), exclude=(exclusion("broken", torch="2.3.0"),)),
    stack("xla", axis("torch_xla", "2.5.1", "2.6.0")),
    stack("idle", axis("torch", "2.2.0")),
    issues=(issue("dot", {"cpu": "torch"}), issue("einsum", {"xla": "torch_xla"})),
)


def ids(**asked):
    return [cell.id for cell in select(MATRIX, expand(MATRIX), Selection(**asked))]


def test_everything_that_some_issue_asks_about_and_no_rule_excludes():
    assert ids() == ["cpu-py3.11-torch2.1.0", "cpu-py3.11-torch2.2.0", "xla-py3.11-torch_xla2.5.1",
                     "xla-py3.11-torch_xla2.6.0"]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"globs": ("*torch2.1*",)}, ["cpu-py3.11-torch2.1.0"]),
        ({"globs": ("*2.1.0", "*2.6.0")}, ["cpu-py3.11-torch2.1.0", "xla-py3.11-torch_xla2.6.0"]),
        ({"skip": ("cpu*", "*2.5.1")}, ["xla-py3.11-torch_xla2.6.0"]),
        ({"only": ("cpu-py3.11-torch2.2.0",)}, ["cpu-py3.11-torch2.2.0"]),
        ({"stacks": ("xla",), "globs": ("*2.6*",)}, ["xla-py3.11-torch_xla2.6.0"]),
        ({"issues": ("dot",)}, ["cpu-py3.11-torch2.1.0", "cpu-py3.11-torch2.2.0"]),
        ({"only": ("cpu-py3.11-torch2.3.0",)}, []),
        ({"expression": "torch>=2.2"}, ["cpu-py3.11-torch2.2.0"]),
        ({"expression": "not cpu and torch_xla<2.6"}, ["xla-py3.11-torch_xla2.5.1"]),
        ({"expression": "einsum or torch==2.1.0"},
         ["cpu-py3.11-torch2.1.0", "xla-py3.11-torch_xla2.5.1", "xla-py3.11-torch_xla2.6.0"]),
        ({"expression": "not (xla or torch<2.2)"}, ["cpu-py3.11-torch2.2.0"]),
        ({"expression": "python==3.11 and DOT and not not torch2.1"}, ["cpu-py3.11-torch2.1.0"]),
    ],
)  # fmt: skip
def test_selection(asked, expected):
    assert ids(**asked) == expected


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"only": ("cpu-py3.11-torch2.2.1",)}, "--only: there is no", "did you mean 'cpu-py3.11-torch2.2.0'"),
        ({"issues": ("dots",)}, "--issue: there is no 'dots'", "did you mean 'dot'"),
        ({"stacks": ("zzz",)}, "--stack: there is no 'zzz'", "orchestrator list"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_with_the_nearest(asked, message, hint):
    with pytest.raises(ConfigError, match=message) as caught:
        ids(**asked)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("expression", "column"),
    [("", 1), ("torch and", 10), ("(torch", 7), ("torch)", 6), ("or torch", 1), ("torch xla", 7), ("torch>=x", 1),
     ("(" * 60 + "a" + ")" * 60, 52)],
)  # fmt: skip
def test_a_malformed_expression_shows_its_place(expression, column):
    with pytest.raises(ConfigError, match=f"-k: column {column} of"):
        ids(expression=expression)
