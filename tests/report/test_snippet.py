"""Every probe that is shipped, and small ones that lean on things in each way there is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.report.snippet import probe_source

PROBES = Path(__file__).parents[2] / "probes"
SHIPPED = [
    (path, f"{path.name}::{name}")
    for path in sorted(PROBES.glob("test_*.py"))
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def run(source: str, directory: Path) -> str:
    """Run a snippet by pytest in a process of its own, and return how it ended: "1 passed"."""
    alone = directory / "alone"
    alone.mkdir()
    (alone / "test_probe.py").write_text(source, encoding="utf-8")
    options = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnknownMarkWarning", "-q", "-c", "/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, alone / "test_probe.py"],
        cwd=alone,
        check=False,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
    )
    return done.stdout.splitlines()[-1].partition(" in ")[0] if done.stdout else done.stderr


@pytest.fixture
def probes(tmp_path: Path):
    """Write files of probes and return the snippet of one: name=text of files, `::` stands for the node id."""

    def write(nodeid: str, **files: str) -> str:
        root = tmp_path / "probes"
        for name, text in files.items():
            path = root / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return probe_source(root / nodeid.partition("::")[0], nodeid)

    return write


@pytest.mark.parametrize(("path", "nodeid"), SHIPPED, ids=[nodeid for _, nodeid in SHIPPED])
def test_a_shipped_probe_is_whole_and_holds_nothing_else(path: Path, nodeid: str) -> None:
    source = probe_source(path, nodeid)
    module = ast.parse(source)
    compile(module, nodeid, "exec")
    functions = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    assert [name for name in functions if name.startswith("test_")] == [nodeid.partition("::")[2]]
    assert not {node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom)} & {
        "support",
        "conftest",
    }
    assert "pytest_pycollect_makeitem" not in functions
    # Whatever is there is used, but for the test itself.
    for name in functions:
        assert name.startswith("test_") or len(re.findall(rf"\b{name}\b", source)) > 1


def test_shipped_probes_run_alone(tmp_path: Path) -> None:
    """Two that differ in what they lean on; without torch, the skip of their own helper answers."""
    for path, nodeid in SHIPPED[:: len(SHIPPED) // 2]:
        source = probe_source(path, nodeid)
        directory = tmp_path / path.stem
        directory.mkdir()
        assert run(source, directory) in ("1 skipped", "1 passed", "1 failed")


def test_what_it_leans_on_comes_with_it_and_nothing_else(probes, tmp_path: Path) -> None:
    source = probes(
        "sub/test_it.py::test_it",
        conftest="""
import pytest
from helpers import made

def pytest_configure(config):
    raise SystemExit("a hook")

@pytest.fixture
def base():
    return made()

@pytest.fixture(autouse=True)
def always(monkeypatch):
    monkeypatch.setenv("ALWAYS", "1")

@pytest.fixture
def unused():
    pass
""",
        sub__conftest="""
import pytest

@pytest.fixture(name="named")
def _other_name(base):
    return base + 1
""",
        helpers="""
import math as m

SCALE = 2
# A comment that explains.
SCALE += 1

def made():
    return m.floor(SCALE + 0.5)

def unused():
    pass
""",
        sub__test_it="""
\"\"\"A docstring.\"\"\"
from __future__ import annotations

import os
import sys

import pytest
from helpers import made as produced

EXPECTED = 4
UNUSED = sys.path

def test_other():
    pass

@pytest.mark.parametrize("extra", [0, 0])
def test_it(named: int, extra, tmp_path):
    assert named + extra == EXPECTED
    assert produced() == 3
    assert os.environ["ALWAYS"] == "1"
    assert tmp_path.is_dir()
""",
    )
    assert run(source, tmp_path) == "2 passed"
    assert source.startswith("from __future__ import annotations\nimport math as m\nimport os\nimport pytest\n")
    assert "# A comment that explains." in source
    assert not re.search("unused|UNUSED|sys|test_other|a hook|A docstring", source)


def test_a_class_comes_whole_and_marks_with_it(probes, tmp_path: Path) -> None:
    source = probes(
        "test_it.py::TestIt::test_it",
        test_it="""
import pytest

pytestmark = pytest.mark.usefixtures("noted")
SEEN = []

@pytest.fixture
def noted():
    SEEN.append(1)

class TestIt:
    limit = 1

    def test_it(self):
        assert len(SEEN) >= self.limit

    def test_more(self, request):
        request.getfixturevalue("late")

@pytest.fixture
def late():
    return 1
""",
    )
    assert run(source, tmp_path) == "2 passed"


def test_what_a_module_does_with_a_name_is_kept(probes, tmp_path: Path) -> None:
    source = probes(
        "test_it.py::test_it",
        test_it="""
try:
    import nowhere
except ImportError:
    nowhere = None
TABLE = {}
TABLE.update(a=1)

def test_it():
    assert nowhere is None
    assert TABLE == {"a": 1}
""",
    )
    assert run(source, tmp_path) == "1 passed"


def test_packages_of_helpers_and_names_passed_on(probes, tmp_path: Path) -> None:
    source = probes(
        "test_it.py::test_it",
        kit__deep="def one():\n    return 1\n",
        kit__shallow="from .deep import one\n",
        test_it="from kit.shallow import one\n\ndef test_it():\n    assert one() == 1\n",
    )
    assert run(source, tmp_path) == "1 passed"


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("import helpers\ndef test_it():\n    helpers.made()", "imports helpers as a whole"),
        ("from helpers import *\ndef test_it():\n    made()", "imports helpers as a whole"),
        ("def test_it():\n    from helpers import made", "imports helpers while the probe runs"),
        ("from helpers import made\nX = 2\ndef test_it():\n    made(X)", "X means one thing in"),
        ("def test_other():\n    pass", "has no probe test_it"),
        ("def test_it(:", "is no Python"),
    ],
)
def test_what_one_file_cannot_hold_is_refused(probes, test: str, message: str) -> None:
    helpers = "X = 1\ndef made(x=X):\n    return x\n"
    with pytest.raises(ValueError, match=message):
        probes("test_it.py::test_it", helpers=helpers, test_it=test)


def test_a_fixture_that_extends_another_of_its_name_is_refused(probes) -> None:
    base = "import pytest\n\n@pytest.fixture\ndef base():\n    return 1\n"
    extended = (
        "import pytest\n\n@pytest.fixture\ndef base(base):\n    return base\n\ndef test_it(base):\n    pass\n"
    )
    with pytest.raises(ValueError, match="base means one thing in"):
        probes("test_it.py::test_it", conftest=base, test_it=extended)


def test_files_that_import_each_other_are_refused(probes) -> None:
    with pytest.raises(ValueError, match="import each other"):
        probes(
            "test_it.py::test_it",
            one="from two import b\n\ndef a():\n    return b\n",
            two="from one import a\n\ndef b():\n    return a\n",
            test_it="from one import a\n\ndef test_it():\n    a()\n",
        )


@pytest.mark.parametrize("nodeid", ["other.py::test_it", "test_it.py", "deep/test_it.py::test_it"])
def test_a_node_id_of_another_file_is_refused(tmp_path: Path, nodeid: str) -> None:
    path = tmp_path / "test_it.py"
    path.write_text("def test_it():\n    pass\n")
    with pytest.raises(ValueError, match=r"is no probe of test_it\.py"):
        probe_source(path, nodeid)
