"""Real sessions: the launcher in a process of its own, with the pinned runner, on probes made for the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.execute.port import ARTIFACTS, RawAttempt
from orchestrator.execute.runner import PAYLOAD, prepare_runner
from orchestrator.results import classify

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.model import ProbeResult


@pytest.fixture(scope="session")
def runner(request: pytest.FixtureRequest) -> Path:
    """The runner for this Python, kept in pytest's cache; installing it takes the package index."""
    cache = request.config.cache
    assert cache is not None
    return prepare_runner(cache.mkdir("orchestrator"), f"{sys.version_info.major}.{sys.version_info.minor}")


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session that can be started, and what it leaves."""

    directory: Path
    nodeids: Sequence[str]
    environment: Mapping[str, str]

    def run(self, during: Callable[[subprocess.Popen[bytes]], None] = lambda _: None) -> RawAttempt:
        command = [sys.executable, str(PAYLOAD / "launch.py"), str(self.directory / "job.json"), str(self.out)]
        with (self.directory / "log.txt").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self.environment)
            try:
                during(process)
                code = process.wait(timeout=90)
            finally:
                process.kill()
                process.wait()
        return RawAttempt(
            exit_code=code,
            log=(self.directory / "log.txt").read_text(errors="replace"),
            artifacts={name: (self.out / name).read_bytes() for name in ARTIFACTS if (self.out / name).exists()},
        )

    def results(self, raw: RawAttempt | None = None) -> dict[str, ProbeResult]:
        raw = raw or self.run()
        return {result.probe: result for result in classify(raw, attempt="cell-1", nodeids=self.nodeids)}

    @property
    def out(self) -> Path:
        return self.directory / "out"

    def interrupt_in(self, probe: str) -> Callable[[subprocess.Popen[bytes]], None]:
        """Return what sends SIGINT once a probe has been set up."""

        def wait_and_send(process: subprocess.Popen[bytes]) -> None:
            progress = self.out / "progress.jsonl"
            wanted = f'"setup-done", "probe": "{probe}"'
            for _ in range(300):
                lines = progress.read_text().splitlines() if progress.exists() else []
                if any(
                    json.loads(line).items() >= {"phase": "setup-done", "probe": probe}.items() for line in lines
                ):
                    process.send_signal(signal.SIGINT)
                    return
                time.sleep(0.1)
            pytest.fail(f"never saw {wanted}")

        return wait_and_send


@pytest.fixture
def session(tmp_path: Path, runner: Path) -> Callable[..., Session]:
    """Return what makes a session of probe files, node ids, and settings of the job."""

    def make(
        files: Mapping[str, str],
        nodeids: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        **job: Any,
    ) -> Session:
        probes = tmp_path / "probes"
        for name, text in files.items():
            path = probes / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "out").mkdir()
        description = {
            "attempt": "cell-1",
            "pins": {},
            "modules": [],
            "nodeids": list(nodeids),
            "probe_timeout": 20,
            "import_timeout": 20,
            "grace": 1,
            "probes": str(probes),
            "runner": str(runner),
            **job,
        }
        (tmp_path / "job.json").write_text(json.dumps(description))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        return Session(
            directory=tmp_path,
            nodeids=nodeids,
            environment={**inherited, "HOME": str(tmp_path / "home" / "new"), **(environment or {})},
        )

    return make
