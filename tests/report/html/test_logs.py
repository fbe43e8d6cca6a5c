from __future__ import annotations

from orchestrator.report.html.logs import BUDGET, COLUMNS, LEFT_OUT, LINES, Logs


def told(logs: Logs, number: int) -> list[str]:
    return [logs.lines[line] for line in logs.logs[number]]


def test_equal_lines_and_logs_are_kept_once() -> None:
    logs = Logs()
    first, second, again = logs.number(["a", "b"]), logs.number(["a", "c"]), logs.number(["a", "b"])
    assert first == again != second
    assert told(logs, second) == ["a", "c"]
    assert sorted(logs.lines) == ["a", "b", "c"]


def test_the_last_lines_are_kept_and_long_ones_cut() -> None:
    logs = Logs()
    number = logs.number([f"line {n}" for n in range(LINES + 5)] + ["x" * (COLUMNS + 9)])
    lines = told(logs, number)
    assert len(lines) == LINES
    assert lines[0] == "line 6"
    assert lines[-1] == "x" * (COLUMNS - 1) + "…"


def test_what_is_beyond_the_budget_is_left_out_and_what_is_known_is_not() -> None:
    logs = Logs()
    known = logs.number(["first"])
    numbers = [logs.number([f"{n:08}" + "x" * 250] * 1 + [f"{n}" * 40]) for n in range(3000)]
    assert LEFT_OUT in numbers
    assert numbers[0] != LEFT_OUT
    assert sum(map(len, logs.lines)) <= BUDGET
    assert logs.number(["first"]) == known


def test_the_room_left_is_used_for_shorter_ones() -> None:
    logs = Logs()
    whole = [f"{n:05}" + "y" * (COLUMNS - 5) for n in range(BUDGET // COLUMNS)]
    for start in range(0, len(whole), LINES):
        logs.number(whole[start : start + LINES])
    assert logs.number(["z" * COLUMNS] * 2) == LEFT_OUT
    assert logs.number(["short"]) != LEFT_OUT
