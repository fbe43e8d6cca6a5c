"""`bisect` in containers: the answer of virtual environments, from cells that were built."""

from __future__ import annotations

import pytest

from bisections import answer, bisect, changes, write_releases


@pytest.mark.engine
def test_containers_give_the_same_answer(tmp_path, layers_are_removed):
    code, _, stderr, found = bisect(
        write_releases(tmp_path), "regression", "--good", "1.14", "--bad", "1.19", "--runtime", "docker"
    )
    assert code == 0, stderr
    assert list(found["result"]["cells"]) == [f"1.{minor}" for minor in range(14, 20)]
    assert changes(found) == [("introduced", "1.17", "1.18", [])]
    assert answer(stderr) == "regression was introduced in 1.18 (after 1.17), along tinylib"
