import io
import time

import pytest
from rich.console import Console

from orchestrator.cli.board import LineBoard, LiveBoard, board
from orchestrator.execute.progress import Task, TaskKind

CELL = Task(kind=TaskKind.EXECUTE, name="torch-cpu-py3.11-torch2.1.2")
LAYER = Task(kind=TaskKind.PREPARE, name="torch 2.1.2 +3", download=2_700_000_000)


@pytest.fixture
def out():
    return io.StringIO()


def test_lines_tell_what_began_what_ended_and_what_is_left(out):
    with board(Console(file=out, width=80), width=1) as shown:
        shown.phase("resolving 2 cells")
        shown.planned((LAYER, CELL))
        shown.started(LAYER)
        shown.finished(LAYER, "built", good=True)
        shown.started(CELL)
        shown.finished(CELL, "1 pass, 1 fail", good=True)
        shown.note("something to know")
    text = out.getvalue()
    assert "1 environments or layers to build, 1 cells to run; about 2.7 GB to download" in text
    assert "build torch 2.1.2 +3 (2.7 GB)" in text
    assert "built in 0 s; 1 done, 0 running, 1 queued, 2.7 GB of 2.7 GB fetched" in text
    assert f"run   {CELL.name}: 1 pass, 1 fail in 0 s; 2 done" in text
    assert "note: something to know" in text
    assert all(line.startswith("[") for line in text.splitlines())


def test_silence_is_broken_by_a_heartbeat_with_the_last_line(out):
    shown = LineBoard(Console(file=out, width=80), width=1, heartbeat=0.05)
    with shown.shown():
        shown.planned((CELL,))
        shown.started(CELL)
        shown.said(CELL, "importing torch")
        deadline = time.monotonic() + 10
        while "still run" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert f"still run {CELL.name} (0 s, last: importing torch)" in out.getvalue()


def test_a_terminal_gets_a_live_board_and_lines_only_for_what_ended(out):
    console = Console(file=out, width=100, force_terminal=True)
    with board(console, width=2) as shown:
        assert isinstance(shown, LiveBoard)
        shown.planned((CELL, LAYER))
        shown.started(CELL)
        shown.said(CELL, "importing torch")
        shown.finished(CELL, "2 pass", good=True)
    assert f"run   {CELL.name}: 2 pass in 0 s" in out.getvalue()


def test_what_a_container_says_cannot_drive_the_terminal(out):
    with board(Console(file=out, width=80), width=1) as shown:
        shown.planned((CELL,))
        shown.started(CELL)
        shown.finished(CELL, "bad\x1b[2J\x07\u202eline\nnext", good=False)
    assert "badline next" in out.getvalue()
    assert "\x1b" not in out.getvalue()
