"""Attempts as the payload leaves them, made by hand: whole, or wrong in one chosen way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

from orchestrator.execute.port import RawAttempt
from orchestrator.results.junit import address

ATTEMPT = "cell-1a2b3c4d"
PHASES = ("setup", "call", "teardown")


@dataclass(frozen=True, kw_only=True)
class Item:
    """What one collected probe did."""

    failed: Mapping[str, str] = ()  # type: ignore[assignment] # phase to headline; empty
    skipped: str | None = None
    metrics: Mapping[str, float] = ()  # type: ignore[assignment] # idem
    dies: int | None = None
    hangs: bool = False
    running: bool = False
    oom_kills: int = 0

    @property
    def ended(self) -> bool:
        return self.dies is None and not self.hangs and not self.running


PASSED = Item()
DIES = replace(PASSED, dies=-11)


def fails(headline: str, when: str = "call", **metrics: float) -> Item:
    return Item(failed={when: headline}, metrics=metrics)


def attempt(  # noqa: PLR0913 - everything that can be wrong in its own way, by keyword
    items: Mapping[str, Item],
    *,
    imports: Sequence[Mapping[str, object]] = (),
    pins: Sequence[tuple[str, str, str | None]] = (),
    collected: Sequence[str] | None = None,
    pytest_exit: int | None = None,
    suite: str = ATTEMPT,
    session: str = ATTEMPT,
    without: Sequence[str] = (),
    replaced: Mapping[str, bytes] = (),  # type: ignore[assignment] # empty
    log: str | None = None,
    **raw: object,
) -> RawAttempt:
    """Return an attempt that did `items` and, in what is not named, ended as such an attempt ends."""
    status = int(not all(item.ended and not item.failed for item in items.values()))
    status = pytest_exit if pytest_exit is not None else status
    files = {
        "preflight.json": _json(
            attempt=session,
            pins=[{"name": name, "wanted": wanted, "found": found} for name, wanted, found in pins],
            imports=[dict(seen) for seen in imports],
        ),
        "progress.jsonl": _progress(items, collected),
        "report.jsonl": _report(items),
        "junit.xml": _junit(items, suite),
        "session.json": _json(attempt=session, stage="pytest", pytest_exit=status),
    }
    files |= dict(replaced)
    if log is None:
        log = "".join(f"\n[probe] {nodeid}\nprinted by {nodeid}\n" for nodeid in items)
    return RawAttempt(
        **{
            "exit_code": None if "signal" in raw else status,
            "log": log,
            "artifacts": {name: data for name, data in files.items() if name not in without},
            **raw,
        }
    )


def _json(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def _lines(records: Sequence[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _progress(items: Mapping[str, Item], collected: Sequence[str] | None) -> bytes:
    worker, clock = 100, 1000.0
    records: list[dict[str, object]] = [
        {
            "phase": "collected",
            "time": clock,
            "pid": worker,
            "probes": list(items if collected is None else collected),
        }
    ]
    for nodeid, item in items.items():
        common = {"probe": nodeid, "pid": worker}
        records.append({"phase": "start", "time": clock, **common})
        records.append({"phase": "setup-done", "time": clock + 0.5, **common})
        clock += 2
        if item.ended:
            records.append({"phase": "finish", "time": clock, "oom_kills": item.oom_kills, **common})
        elif not item.running:
            death = {"worker": worker, "status": 1 if item.hangs else item.dies}
            traceback = "Timeout (0:02:10)!\n  File test.py" if item.hangs else None
            records.append({"phase": "worker-exit", "time": clock, "pid": 1, "hang": traceback, **death})
            worker += 1
    return _lines(records)


def _report(items: Mapping[str, Item]) -> bytes:
    records: list[dict[str, object]] = [{"$report_type": "SessionStart"}]
    for nodeid, item in items.items():
        common = {
            "$report_type": "TestReport",
            "nodeid": nodeid,
            "user_properties": list(dict(item.metrics).items()),
        }
        for when in PHASES if item.ended else PHASES[:1]:
            failure = dict(item.failed).get(when)
            outcome, longrepr = "passed", None
            if failure is not None:
                outcome, longrepr = "failed", {"reprcrash": {"path": "f.py", "lineno": 3, "message": failure}}
            elif item.skipped is not None and when == "call":
                outcome, longrepr = "skipped", ["f.py", 3, f"Skipped: {item.skipped}"]
            elif dict(item.failed).get("setup") and when == "call":
                continue
            records.append({**common, "when": when, "outcome": outcome, "longrepr": longrepr, "duration": 0.5})
        if not item.ended and not item.running:
            text = f"worker 'gw0' crashed while running {nodeid!r}"
            records.append({**common, "when": "???", "outcome": "failed", "longrepr": text, "duration": 0})
    return _lines([*records, {"$report_type": "SessionFinish", "exitstatus": 1}])


def _junit(items: Mapping[str, Item], suite: str) -> bytes:
    cases = []
    for nodeid, item in items.items():
        classname, name = address(nodeid)
        inside = []
        failed = dict(item.failed) if item.ended else {"setup": "worker 'gw0' crashed"}
        for when, headline in failed.items():
            inside.append(f"<{'failure' if when == 'call' else 'error'} message={quoteattr(headline)} />")
        if item.skipped is not None:
            inside.append(f"<skipped message={quoteattr(item.skipped)} />")
        names = f"classname={quoteattr(classname)} name={quoteattr(name)}"
        cases += [f"<testcase {names} time='0.5'>{result}</testcase>" for result in inside or [""]]
    return (
        f"<?xml version='1.0' encoding='utf-8'?><testsuites><testsuite name={quoteattr(suite)}>"
        f"{''.join(cases)}</testsuite></testsuites>"
    ).encode()
