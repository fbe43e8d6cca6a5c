"""The rehearsal of a sharded run, in containers."""

from __future__ import annotations

import pytest

from rehearsals import rehearse


@pytest.mark.engine
@pytest.mark.long
def test_shards_in_clean_checkouts_answer_like_one_run(tmp_path, layers_are_removed):
    done = rehearse(tmp_path, "docker", 3, ["--issue", "introduced", "--issue", "crash", "-k", "tinylib>=1.4"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the shards answer like a run over the merged store: report.json " in done.stdout
    assert "the shards answer like a run of its own: report.json " in done.stdout
