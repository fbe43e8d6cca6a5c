"""The pinned pytest that runs probes: one directory per range of Pythons, mounted into every cell.

The same pytest for all cells of a Python, so that the runner is no hidden axis of the matrix.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.model import digest
from orchestrator.versions import Version

PAYLOAD = Path(__file__).parent.parent / "payload"
"""What is shipped into cells: the launcher, the pytest plugin, and the requirements of the runner."""

TIMEOUT = 600.0

# The newest pytest for each; later Pythons share the last.
_REQUIREMENTS = (
    (Version("3.10"), "runner-py310.txt"),
    (Version("3.9"), "runner-py39.txt"),
    (Version("3.8"), "runner-py38.txt"),
)


def prepare_runner(cache: Path, python: str) -> Path:
    """Return the runner's directory for a Python ("3.11"), installing it where it is missing.

    Safe to call from several threads and processes at once: one installs, the others wait.

    Raises:
        EnvironmentUnusableError: there is no runner for this Python, or it could not be installed.
    """
    from filelock import FileLock  # noqa: PLC0415 - only where something is run

    directory = cache / "runner" / _install_digest(python)
    if directory.is_dir():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(directory.with_suffix(".lock")):
        if not directory.is_dir():
            _install(requirements(python), python, directory)
    return directory


def runner_digest(python: str) -> str:
    """Return the digest of everything that runs probes on a Python: the pinned runner and the payload."""
    files = sorted(path for path in PAYLOAD.iterdir() if path.suffix == ".py")
    return digest([_install_digest(python), *((path.name, path.read_text(encoding="utf-8")) for path in files)])


def requirements(python: str) -> Path:
    """Return the requirements file, with hashes, of the runner for a Python.

    Raises:
        EnvironmentUnusableError: there is none.
    """
    for oldest, name in _REQUIREMENTS:
        if Version(python) >= oldest:
            return PAYLOAD / name
    raise EnvironmentUnusableError(
        f"no pinned pytest runs on Python {python}", hint=f"use Python {_REQUIREMENTS[-1][0]} or later"
    )


@cache
def _install_digest(python: str) -> str:
    text = requirements(python).read_text(encoding="utf-8")
    # The minor version counts: markers in one file choose different packages.
    return digest([".".join(python.split(".")[:2]), text])[:16]


def _install(source: Path, python: str, directory: Path) -> None:
    from orchestrator.uv import UvError, run_uv  # noqa: PLC0415 - only where something is run

    temporary = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
    command = [
        *("pip", "install", "--target", str(temporary), "--python-version", python),
        # Copies, not links: nothing done to this directory may reach uv's cache.
        *("--link-mode", "copy", "--no-compile", "--no-deps"),
        *("--only-binary", ":all:", "--require-hashes", "--requirement", str(source)),
    ]
    try:
        run_uv(command, timeout=TIMEOUT)
        # Containers run as another user.
        temporary.chmod(0o755)
        temporary.rename(directory)
    except UvError as error:
        raise _unusable(python, error.output.strip() or str(error)) from None
    except OSError as error:
        raise _unusable(python, str(error)) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # gone already where it was renamed


def _unusable(python: str, reason: str) -> EnvironmentUnusableError:
    return EnvironmentUnusableError(
        f"cannot install the pinned pytest for Python {python}: {reason}",
        hint="the package index must be reachable once; the runner is cached afterwards",
    )
