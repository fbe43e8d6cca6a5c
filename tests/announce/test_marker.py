"""The hidden line: what is written is read back, whatever the names, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.announce import Told, marker
from orchestrator.versions import Version

TOLD = Told(issue="torch-dot-half", stack="torch-cpu", digest="0123", at=Version("2.8.0+xpu"))
LINE = marker.written(TOLD)


@given(st.text(), st.text(), st.text(), st.none() | st.just(Version("2.8.0.dev20250101+xpu")), st.text())
def test_it_comes_back(issue, stack, digest, at, rest) -> None:
    told = Told(issue=issue, stack=stack, digest=digest, at=at)
    line = marker.written(told)
    assert line.count("--") == 2
    assert "\n" not in line
    assert marker.read(line) == marker.read(f"{line}\n{rest}") == marker.read(f"{line}\r\n{rest}") == told


@pytest.mark.parametrize(
    "body",
    [
        "",
        "It fails.",
        f"It fails.\n{LINE}",
        f" {LINE}",
        f"> {LINE}",
        f"{LINE} and more",
        "<!-- matrix-orchestrator {} -->",
        "<!-- matrix-orchestrator {'issue'} -->",
        '<!-- matrix-orchestrator {"issue": 1, "stack": "s", "digest": ""} -->',
        '<!-- matrix-orchestrator {"issue": "i", "stack": "s", "digest": "", "at": "new"} -->',
        '<!-- matrix-orchestrator {"issue": "i", "stack": "s", "digest": "", "at": 2} -->',
        '<!-- matrix-orchestrator {"a": ' + "[" * 100_000 + "} -->",
    ],
)
def test_what_is_none_of_ours(body) -> None:
    assert marker.read(body) is None


def test_another_line_leaves_the_text_as_it_is() -> None:
    after = Told(issue="i\\1", stack="s")
    assert marker.replaced(f"{LINE}\r\n\r\nText {LINE}", after) == f"{marker.written(after)}\r\n\r\nText {LINE}"
