from dataclasses import replace

from orchestrator.images.memory import Memory, Remembered
from orchestrator.model import BaseImage

IMAGE = BaseImage(python="3.11", image="python:3.11-slim", debian="bookworm")
FOUND = Remembered(identity="sha256:1", way="pulled", words="pulled python:3.11-slim")


def test_kept_for_the_next_run(tmp_path):
    Memory(tmp_path / "bases.json").put(IMAGE, FOUND)
    kept = Memory(tmp_path / "bases.json").get(IMAGE)
    assert kept is not None
    assert replace(kept, when="") == FOUND
    assert kept.when
    assert Memory(tmp_path / "bases.json").get(replace(IMAGE, python="3.12")) is None


def test_damage_is_forgotten(tmp_path):
    path = tmp_path / "bases.json"
    memory = Memory(path)
    for text in ("{", "[]", '{"python:3.11-slim 3.11 bookworm": {"unknown": 1}}'):
        path.write_text(text, encoding="utf-8")
        assert memory.get(IMAGE) is None
        memory.put(IMAGE, FOUND)
        assert memory.get(IMAGE) is not None


def test_lock_can_be_taken_twice_in_a_row(tmp_path):
    memory = Memory(tmp_path / "deep" / "bases.json")
    for _ in range(2):
        with memory.locked():
            memory.put(IMAGE, FOUND)
