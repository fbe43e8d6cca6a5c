# ruff: noqa: INP001 - shipped as files, never a package
"""The pytest plugin of a probe session: who runs when, who dies how, and no probe past its hard deadline.

Loaded in the controller and, through the same command line, in the one xdist worker. What it sees goes to
`progress.jsonl`, line by line as it happens, for a process that dies writes no report.
Python 3.8 or later, and the pytest, xdist and execnet that `runner-*.txt` pin.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Generator, Sequence  # noqa: UP035 - Python 3.8

import pytest

GRACE = 10.0
"""Seconds after a probe's timeout until its process is killed, for hangs that hold the interpreter."""

WORKERLESS = 3
"""Exit status, pytest's own for an internal error, of a session whose worker never came up."""

MAX_TEXT = 64 * 1024
MAX_WORD = 200
OOM_COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))

Wrapper = Generator[None, Any, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that launch.py gives."""
    group = parser.getgroup("probes")
    group.addoption("--probe-job", metavar="FILE", type=Path, help="the job description")
    group.addoption("--probe-out", metavar="DIR", type=Path, help="where progress is written")


def pytest_configure(config: pytest.Config) -> None:
    """Take one side: xdist gives its workers an input."""
    progress = Progress(config.option.probe_out)
    if hasattr(config, "workerinput"):
        side: object = Worker(json.loads(config.option.probe_job.read_text(encoding="utf-8")), progress)
    else:
        side = Controller(progress)
    config.pluginmanager.register(side, "orchestrator-probes")


class Progress:
    """The record of a session, appended by the controller and its workers alike."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "progress.jsonl"

    def write(self, phase: str, **fields: object) -> None:
        """Append one line. One write to a file opened for appending: lines of two processes never mix."""
        record = {"phase": phase, "time": time.monotonic(), "pid": os.getpid(), **fields}
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, (json.dumps(record) + "\n").encode())
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """Return what has been written so far."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def hang_file(self, pid: int) -> Path:
        """Return where a worker that passes its hard deadline leaves its stack traces."""
        return self.directory / f"hang-{pid}.txt"

    def lethal_modules(self) -> dict[str, int | None]:
        """Return the probe modules at whose import a worker died, and its exit status."""
        importing: dict[int, str] = {}
        lethal = {}
        for record in self.read():
            if record["phase"] == "collect":
                importing[record["pid"]] = record["probe"]
            elif record["phase"] == "collected":
                importing.pop(record["pid"], None)
            elif record["phase"] == "worker-exit" and record["worker"] in importing:
                lethal[importing.pop(record["worker"])] = record["status"]
        return lethal


class Worker:
    """Runs the probes."""

    def __init__(self, job: dict[str, Any], progress: Progress) -> None:
        self.expected = job["nodeids"]
        self.deadline = job["probe_timeout"] + job.get("grace", GRACE)
        self.progress = progress
        self.lethal = progress.lethal_modules()
        # Opened now: a process out of file descriptors or memory could not do it later.
        self.hangs = progress.hang_file(os.getpid()).open("w")
        # execnet sends file descriptor 1 to /dev/null; what probes print belongs in the log.
        os.dup2(2, 1)
        faulthandler.enable(all_threads=False)

    def arm(self) -> None:
        """Start the hard deadline: a thread that needs no interpreter lock, so it works while C code hangs."""
        faulthandler.dump_traceback_later(self.deadline, exit=True, file=self.hangs)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module:
        """Do not import again what killed the worker before this one."""
        module: pytest.Module = pytest.Module.from_parent(parent, path=module_path)
        if module.nodeid not in self.lethal:
            return module
        lethal: LethalModule = LethalModule.from_parent(parent, path=module_path)
        lethal.status = self.lethal[module.nodeid]
        return lethal

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Wrapper:
        """Watch the import of a probe module as a probe is watched."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        self.progress.write("collect", probe=collector.nodeid)
        self.arm()
        try:
            report = yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        shorten(report)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the expected probes. Files are asked for, as one unknown node id would cost the whole session."""
        dropped = [item for item in items if not is_expected(item.nodeid, self.expected)]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if is_expected(item.nodeid, self.expected)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Leave the manifest of what there is to run."""
        self.progress.write("collected", probes=[item.nodeid for item in session.items])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Wrapper:
        """Record when a probe starts and finishes, under the hard deadline."""
        sys.stderr.write(f"\n[probe] {item.nodeid}\n")
        sys.stderr.flush()
        kills = oom_kills()
        self.progress.write("start", probe=item.nodeid)
        self.arm()
        try:
            result = yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.progress.write("finish", probe=item.nodeid, oom_kills=oom_kills() - kills)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        """Record that the fixtures are up."""
        result = yield from no_exit()
        self.progress.write("setup-done", probe=item.nodeid)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Wrapper:
        """Keep the session when a probe wants to end it."""
        return (yield from no_exit())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Wrapper:
        """Keep the session when a fixture wants to end it."""
        return (yield from no_exit())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Wrapper:
        """Make what a probe recorded fit to leave the process."""
        report = yield
        # In place: the item goes on collecting into the same list.
        item.user_properties[:] = [plain(name, value) for name, value in item.user_properties]
        report.user_properties = list(item.user_properties)
        shorten(report)
        return report


class Controller:
    """Watches the worker; pytest's own plugins beside it write the reports."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ANN401 - xdist has no public type
        """Record how a worker died."""
        if error is None:
            return
        # Private in execnet, whose version is pinned; nothing public tells how a worker ended.
        process = node.gateway._io.popen  # noqa: SLF001
        try:
            status = process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # it lost its connection and lives on
            process.kill()
            status = None
        to_blame = len(self.progress.lethal_modules())
        self.progress.write("worker-exit", worker=process.pid, status=status, hang=self.hang(process.pid))
        collected = any(r["phase"] == "collected" and r["pid"] == process.pid for r in self.progress.read())
        if not collected and len(self.progress.lethal_modules()) == to_blame:
            # No module to leave out next time, so every next worker would die in the same way.
            pytest.exit(f"the worker died before it imported a probe module: {describe(status)}", WORKERLESS)

    def hang(self, pid: int) -> str | None:
        """Return the stack traces that a worker left at its hard deadline, if that is how it died."""
        path = self.progress.hang_file(pid)
        return path.read_text(encoding="utf-8", errors="replace")[:MAX_TEXT] or None if path.exists() else None


class LethalModule(pytest.Module):
    """Stands for a probe module whose import killed a worker: an error of its own, and the rest runs."""

    status: int | None = None

    def collect(self) -> list[pytest.Item]:
        """Refuse, saying how the worker died."""
        raise self.CollectError(f"{describe(self.status)} while {self.nodeid} was imported")


def is_expected(nodeid: str, expected: Sequence[str]) -> bool:
    """Tell whether a probe is one of the expected node ids, or a parametrisation of one."""
    return any(nodeid == probe or nodeid.startswith(f"{probe}[") for probe in expected)


def describe(status: int | None) -> str:
    """Say in words how a process ended."""
    if status is None:
        return "the process was lost"
    return f"killed by signal {-status}" if status < 0 else f"the process exited with status {status}"


def no_exit() -> Wrapper:
    """Make an attempt to end the session a failure of the one probe that makes it."""
    try:
        return (yield)
    except pytest.exit.Exception as error:
        raise RuntimeError(f"the probe called pytest.exit: {error}") from None


def plain(name: object, value: object) -> tuple[str, object]:
    """Return a recorded property as a number or short text: other types cannot leave the worker."""
    if type(value) not in (bool, int, float):
        try:
            value = float(value)  # type: ignore[arg-type] # any number-like: a NumPy scalar, a tensor of one
        except Exception:  # noqa: BLE001 - whatever a foreign type raises, what has no number is kept as text
            value = str(value)[:MAX_WORD]
    return str(name)[:MAX_WORD], value


def shorten(report: Any) -> None:  # noqa: ANN401 - the two kinds of report share no public base
    """Bound what a failure says; its first line stays."""
    report.sections = [(title, text[-MAX_TEXT:]) for title, text in report.sections]
    if report.longrepr is None or isinstance(report.longrepr, tuple):
        return
    text = report.longreprtext
    if len(text) > MAX_TEXT:
        crash = getattr(report.longrepr, "reprcrash", None)
        first = text if crash is None else crash.message
        report.longrepr = f"{first[: MAX_TEXT // 2]}\n[…]\n{text[-MAX_TEXT // 2 :]}"


def oom_kills() -> int:
    """Return how many processes of this control group the kernel has killed for want of memory."""
    for path in OOM_COUNTERS:
        try:
            fields = dict(line.split() for line in path.read_text().splitlines())
            return int(fields.get("oom_kill", 0))
        except (OSError, ValueError):  # no such control group here; try the other kind
            continue
    return 0
