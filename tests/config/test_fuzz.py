"""Whatever a file holds, the answer is a matrix or a ConfigError."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config import load
from orchestrator.errors import ConfigError

SHIPPED = (Path(__file__).parents[2] / "matrix.yaml").read_text()
TOKENS = re.findall(r"[\w.-]+|\s+|.", SHIPPED)
LINE = re.compile(r"/matrix\.yaml:(?:[0-9]+:[0-9]+:)? \S")

yamlish = st.lists(
    st.sampled_from(
        [*sorted(set(TOKENS)), "\t", "*a", "&a", "!!int ", "<<", "---\n", '"\\x00"', '"\\ud800"', "%YAML "]
    ),
    max_size=60,
).map("".join)


def survives(data: bytes) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, "matrix.yaml")
        path.write_bytes(data)
        try:
            load(path)
        except ConfigError as error:
            for line in str(error).split("\n"):
                assert LINE.search(line), line
                assert line.isprintable()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_bytes(data: bytes) -> None:
    survives(data)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_text(text: str) -> None:
    survives(text.encode("utf-8", "surrogatepass"))


@settings(deadline=None)
@given(yamlish)
def test_words_of_the_format(text: str) -> None:
    survives(text.encode())


@settings(deadline=None)
@given(st.data())
def test_a_piece_of_the_shipped_file_replaced(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TOKENS)))
    length = data.draw(st.integers(0, 20))
    replacement = data.draw(yamlish | st.text(max_size=10))
    text = "".join(TOKENS[:start]) + replacement + "".join(TOKENS[start + length :])
    survives(text.encode("utf-8", "surrogatepass"))
