"""Make a base image from Debian packages, for hosts that reach no registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.images.aptsources import DEFAULT_MIRROR, mirror
from orchestrator.model import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_VARIANT = "minbase"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TIMEOUT = 900.0
_UNPACKED = "debootstrap"
_PROGRAM = "usr/sbin/debootstrap"
_CACHES = ("var/cache/apt/archives", "var/lib/apt/lists", "var/log")


class BootstrapError(Exception):
    """No base can be made from Debian packages here; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A root file system of one Debian suite; `identity` tells its packages and their versions."""

    path: Path
    identity: str


def packages(python: str) -> tuple[str, ...]:
    """Return what a base has besides Debian's essential packages; torch_xla loads libpython by name."""
    return "python3", "python3-venv", f"libpython{python}", "ca-certificates"


def obstacle(cache: Path) -> str | None:
    """Return why this host cannot make a base from Debian packages, None where it has what that takes."""
    if os.geteuid() != 0:
        return "making a base from Debian packages needs root"
    there = shutil.which("debootstrap") or (cache / _UNPACKED / _PROGRAM).exists()
    if not there and not (shutil.which("dpkg-deb") and shutil.which("apt-get")):
        return "debootstrap is not installed, and this is no Debian-like host to get it from"
    return None


@contextmanager
def bootstrapped(python: str, suite: str, cache: Path, say: Callable[[str], None]) -> Iterator[Tree]:
    """Make a Debian tree and give it, in a directory that is removed afterwards.

    Raises:
        BootstrapError: this host cannot, or the suite has another Python.
    """
    if (reason := obstacle(cache)) is not None:
        raise BootstrapError(reason)
    cache.mkdir(parents=True, exist_ok=True)
    program, environment = _debootstrap(cache)
    with tempfile.TemporaryDirectory(prefix="bootstrap-", dir=cache, ignore_cleanup_errors=True) as scratch:
        root = Path(scratch, "root")
        chosen, trust = _archive(suite)
        say(f"making a base from Debian {suite} packages of {chosen} (about a minute)")
        wanted = ",".join(packages(python))
        argv = [program, f"--variant={_VARIANT}", f"--include={wanted}", *trust, suite, str(root), chosen]
        _run(argv, environment, what=f"debootstrap {suite}")
        found = _run(
            ["chroot", str(root), "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            {},
            what="the bootstrapped Python",
        ).strip()
        if found != python:
            raise BootstrapError(f"Debian {suite} has Python {found}, not {python}")
        installed = _run(
            ["chroot", str(root), "dpkg-query", "-W", "-f", "${Package}=${Version}/${Architecture}\n"],
            {},
            what="the list of packages",
        )
        for name in _CACHES:
            _empty(root / name)
        identity = digest(["bootstrap", _VARIANT, suite, python, sorted(installed.split())])
        yield Tree(path=root, identity=identity)


def _debootstrap(cache: Path) -> tuple[str, dict[str, str]]:
    """Return the program and what it needs in its environment: installed here, or unpacked in the cache."""
    if found := shutil.which("debootstrap"):
        return found, {}
    unpacked = cache / _UNPACKED
    program = unpacked / _PROGRAM
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _run(["apt-get", "download", "debootstrap"], {}, what="apt-get download debootstrap", cwd=scratch)
            archive = next(Path(scratch).glob("debootstrap_*.deb"), None)
            if archive is None:
                raise BootstrapError("apt-get download debootstrap left no package")
            target = Path(scratch, "unpacked")
            _run(["dpkg-deb", "-x", str(archive), str(target)], {}, what="dpkg-deb")
            target.replace(unpacked)
    return str(program), {"DEBOOTSTRAP_DIR": str(unpacked / "usr/share/debootstrap")}


def _archive(suite: str) -> tuple[str, tuple[str, ...]]:
    """Return the mirror and the options that make debootstrap check its signatures."""
    chosen = mirror(suite)
    if _KEYRING.exists() and shutil.which("gpgv"):
        return chosen, (f"--keyring={_KEYRING}", "--force-check-gpg")
    # Without Debian's keys only TLS vouches for the packages.
    return (chosen if chosen.startswith("https:") else DEFAULT_MIRROR), ()


def _run(argv: Sequence[str], extra: dict[str, str], *, what: str, cwd: str | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", **extra}
    try:
        done = subprocess.run(
            list(argv),
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BootstrapError(f"{what} was not done after {_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise BootstrapError(f"{what}: {error.strerror}") from error
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        said = [line for line in output.splitlines() if line.strip()]
        raise BootstrapError(f"{what} failed: {' / '.join(said[-2:]) or f'exit status {done.returncode}'}")
    return output


def _empty(directory: Path) -> None:
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
