# ruff: noqa: INP001 - shipped as files, never a package
"""Run the probes of one attempt: `python launch.py JOB_JSON OUT_DIR`.

Standard library only, Python 3.8 or later. Checks that what is installed is what was locked, imports every
package under test in a process of its own, and only then starts pytest. What it leaves in OUT_DIR is
described in docs/reference/attempt.md; `session.json` comes last, so a session without one was cut short.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
PREFLIGHT_FAILED = 3
NOTHING_TO_RUN = 5
RESTARTS = 10000
"""More workers than a session can lose: every one that dies takes a probe or a probe module with it."""
KEPT = 32 * 1024
"""Bytes kept of each end of an import's output."""

IMPORT = r"""
import importlib, importlib.metadata, json, os, sys, traceback

sys.path[:] = [entry for entry in sys.path if entry]
package, name, descriptor, toolkit = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def first(*readers):
    for read in readers:
        try:
            value = read()
        except Exception:
            continue
        if value:
            return str(value)
    return None


def git_version(module):
    version = importlib.import_module(name + ".version")
    top = name.rpartition(".")[2]
    # Of the module itself only: torch_xla and IPEX also tell which torch they were built with.
    words = ["git_version", "__git_version__", "__%s_gitrev__" % top, "__xla_gitrev__", "__ipex_gitrev__"]
    return first(*[lambda p=place, w=word: getattr(p, w) for place in (version, module) for word in words])


report = {}
try:
    module = importlib.import_module(name)
except Exception as error:
    traceback.print_exc()
    report["error"] = "".join(traceback.format_exception_only(type(error), error)).strip()[-2000:]
else:
    report["version"] = first(
        lambda: module.__version__,
        lambda: importlib.metadata.version(package),
        lambda: importlib.metadata.version(name),
    )
    report["git_version"] = first(lambda: git_version(module))
    # What a build was made for: torch.version.xpu is the oneAPI release that it brings.
    report["toolkit"] = first(lambda: toolkit and getattr(importlib.import_module(name + ".version"), toolkit))
sys.stdout.flush()
os.write(descriptor, json.dumps(report).encode())
# A crash of the library's own clean-up at exit is not a failed import.
os._exit(0)
"""


def main(argv: list[str]) -> int:
    """Run the attempt and return the exit status."""
    job, out = json.loads(Path(argv[1]).read_text(encoding="utf-8")), Path(argv[2]).absolute()
    if os.environ.get("HOME"):
        Path(os.environ["HOME"]).mkdir(parents=True, exist_ok=True)
    os.environ.update(PYTHONUNBUFFERED="1", PYTHONFAULTHANDLER="1", PYTHONDONTWRITEBYTECODE="1")
    pins = check_pins(job["pins"])
    fit = all(pin["found"] == pin["wanted"] for pin in pins)
    modules = job["modules"] if fit else []
    toolkit = job.get("toolkit", "")
    runtime = system_versions(job.get("system_packages", []))
    imports = []
    for package, module in modules:
        seen = try_import(package, module, job["import_timeout"], toolkit)
        found = seen.pop("toolkit")
        if found:
            runtime[f"{module}.version.{toolkit}"] = found
        imports.append(seen)
    fit = fit and not any(seen["error"] for seen in imports)
    preflight = {
        "attempt": job["attempt"],
        "python": sys.version.split()[0],
        "pins": pins,
        "imports": imports,
        "runtime": runtime,
    }
    write_json(out / "preflight.json", preflight)
    status = run_pytest(job, Path(argv[1]).absolute(), out) if fit else PREFLIGHT_FAILED
    session = {
        "attempt": job["attempt"],
        "stage": "pytest" if fit else "preflight",
        "pytest_exit": status if fit else None,
    }
    write_json(out / "session.json", session)
    return status


def check_pins(pins: dict[str, str]) -> list[dict[str, str | None]]:
    """Return every pinned distribution with its wanted and its installed version."""
    installed: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            # The first on the search path is the one that gets imported.
            installed.setdefault(normalise(name), distribution.version)
    checked: list[dict[str, str | None]] = []
    for name, wanted in sorted(pins.items()):
        found = installed.get(normalise(name))
        if found is not None and spelling(found) == spelling(wanted):
            found = wanted
        checked.append({"name": name, "wanted": wanted, "found": found})
    return checked


def normalise(name: str) -> str:
    """Return a distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def spelling(version: str) -> tuple[str, str]:
    """Return a version so that the spellings of one, as in a file name and in metadata, come out equal.

    Not all of PEP 440, which is not in the standard library: what it does not know counts as replaced.
    """
    public, _, local = version.strip().lower().lstrip("v").partition("+")
    public = re.sub(r"[-_.]?(alpha|beta|preview|pre|rc|post|dev|a|b|c)[-_.]?(\d*)", _suffix, public)
    public = re.sub(r"^(\d+(?:\.\d+)*?)(?:\.0)*(?=$|[^.\d]|\.[a-z])", r"\1", public)
    return public, re.sub(r"[-_.]", ".", local)


def _suffix(match: re.Match[str]) -> str:
    letters = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc", "post": ".post", "dev": ".dev"}
    return letters.get(match[1], match[1]) + (match[2] or "0")


def system_versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of those Debian packages that are installed; none where this is no Debian."""
    query = shutil.which("dpkg-query")
    if query is None or not packages:
        return {}
    # It fails where it does not know one of them, and tells of the others all the same.
    shown = subprocess.run(
        [query, "-W", "-f", "${db:Status-Status}\t${Package}\t${Version}\n", *packages],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    lines = [line.split("\t") for line in shown.stdout.decode("utf-8", "replace").splitlines()]
    return {line[1]: line[2] for line in lines if line[0] == "installed"}


def try_import(package: str, module: str, timeout: float, toolkit: str = "") -> dict[str, str | None]:
    """Import a module in a process of its own and return what that came to."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORT, package, module, str(writer), toolkit],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[writer],
        start_new_session=True,
    )
    os.close(writer)
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    output, answer = Ends(process.stdout), Ends(os.fdopen(reader, "rb"))
    status: int | None = None
    try:
        status = process.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # The group, so that nothing it started outlives it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    text = output.text()
    sys.stderr.write(f"[import] {module}\n{text}")
    seen: dict[str, str | None] = {
        "package": package,
        "version": None,
        "git_version": None,
        "error": None,
        "toolkit": None,
    }
    try:
        seen.update(json.loads(answer.text()))
    except ValueError:  # it never came to write its answer
        seen["error"] = how_it_ended(status, timeout, text)
    return seen


def how_it_ended(status: int | None, timeout: float, text: str) -> str:
    """Say how an import ended that raised no exception."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    tail = (": " + " / ".join(lines[-3:]))[:1000] if lines else ""
    if status is None:
        return f"the import took more than {timeout:g} s{tail}"
    if status >= 0:
        return f"the process exited with status {status} during import{tail}"
    try:
        name = signal.Signals(-status).name
    except ValueError:  # a real-time signal
        name = f"signal {-status}"
    return f"{name} during import"


class Ends:
    """Reads a stream to its end on a thread and keeps its first and last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.head, self.tail, self.cut = stream, b"", b"", False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self) -> None:
        """Take in the stream."""
        for chunk in iter(lambda: os.read(self.stream.fileno(), KEPT), b""):
            room = KEPT - len(self.head)
            self.head += chunk[:room]
            self.cut = self.cut or len(self.tail) + len(chunk[room:]) > KEPT
            self.tail = (self.tail + chunk[room:])[-KEPT:]

    def text(self) -> str:
        """Return what was kept, once the stream has ended or nothing more is to be expected."""
        # A grandchild that left the process group may hold the stream open.
        self.thread.join(timeout=5)
        data = self.head + (b"\n[...]\n" if self.cut else b"") + self.tail
        return data.decode("utf-8", "replace")


def run_pytest(job: dict[str, Any], description: Path, out: Path) -> int:
    """Run the probes and return pytest's exit status, as a shell tells it where a signal ended it."""
    probes = Path(job["probes"]).absolute()
    files = sorted({nodeid.split("::")[0] for nodeid in job["nodeids"]})
    files = [file for file in files if (probes / file).is_file()]
    if not files:
        return NOTHING_TO_RUN
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Packages under test bring pytest plugins of their own.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [*pytest_command(job, description, probes, out), *files]
    process = subprocess.Popen(command, cwd=probes, env=environment, stdin=subprocess.DEVNULL)
    for number in (signal.SIGINT, signal.SIGTERM):
        # On SIGINT pytest still writes its reports.
        signal.signal(number, lambda received, _: process.send_signal(received))
    status = process.wait()
    return status if status >= 0 else 128 - status


def pytest_command(job: dict[str, Any], description: Path, probes: Path, out: Path) -> list[str]:
    """Return the pytest command line, without the files."""
    python = [sys.executable, str(HERE / "runner_path.py"), str(Path(job["runner"]).absolute())]
    settings = probes / "pytest.ini"
    if not settings.is_file():
        # Named all the same, else pytest looks for one in the directories above.
        settings = out / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
    command = [*python, "-m", "pytest", "-c", str(settings), "--rootdir", str(probes), "--confcutdir", str(probes)]
    for plugin in ("xdist.plugin", "pytest_timeout", "pytest_reportlog.plugin", "orchestrator_probe_plugin"):
        command += ["-p", plugin]
    # The first two would write to the probes and disarm the deadline, the third hold all logs in memory.
    for plugin in ("cacheprovider", "faulthandler", "logging"):
        command += ["-p", f"no:{plugin}"]
    return [
        *command,
        # One worker, as -n1, but started through runner_path.py like its controller.
        *("--dist", "load", "--tx", f"popen//python={shlex.join(python)}"),
        f"--max-worker-restart={RESTARTS}",
        f"--timeout={job['probe_timeout']:g}",
        "--timeout-method=signal",
        f"--junitxml={out / 'junit.xml'}",
        f"--report-log={out / 'report.jsonl'}",
        *("-o", "junit_family=xunit1", "-o", f"junit_suite_name={job['attempt']}"),
        *("--probe-job", str(description), "--probe-out", str(out)),
        # Output goes to the log as it comes: nothing is held in memory, and a crash does not lose it.
        *("--capture=no", "--tb=short", "--color=no", "-q"),
    ]


def write_json(path: Path, value: object) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv))
