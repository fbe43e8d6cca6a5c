"""A small apt repository, signed with a key made for it, and a server that builds can reach."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROGRAMS = ("gpg", "dpkg-deb", "dpkg-scanpackages")


def missing() -> str | None:
    """Return which program is not here that this needs."""
    return next((name for name in PROGRAMS if shutil.which(name) is None), None)


class AptRepository:
    """Packages below a directory, by suite (`bookworm/lts/2523`); the key is at `/intel-graphics.key`."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self._home = directory.parent / f"{directory.name}-gpg"
        self._home.mkdir(parents=True, mode=0o700)
        self.root.mkdir(parents=True)
        self._gpg(
            "--quick-generate-key", "--passphrase", "", "Test <test@example.org>", "ed25519", "sign", "never"
        )
        key = self._gpg("--armor", "--export")
        (self.root / "intel-graphics.key").write_bytes(key)
        self.key_sha256 = hashlib.sha256(key).hexdigest()

    def publish(self, suite: str, packages: Mapping[str, str]) -> None:
        """Write a suite with packages, name to version."""
        pool = self.root / "pool" / suite
        for name, version in packages.items():
            tree = self.root.parent / "tree" / suite / f"{name}-{version}"
            (tree / "DEBIAN").mkdir(parents=True)
            (tree / "usr/share/driver").mkdir(parents=True)
            (tree / "usr/share/driver" / name).write_text(f"{suite} {version}\n", encoding="ascii")
            control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: t <t@example.org>\n"
            (tree / "DEBIAN/control").write_text(f"{control}Description: none\n", encoding="ascii")
            pool.mkdir(parents=True, exist_ok=True)
            _run("dpkg-deb", "--build", "--root-owner-group", str(tree), str(pool))
        place = self.root / "dists" / suite
        binary = place / "unified" / "binary-amd64"
        binary.mkdir(parents=True, exist_ok=True)
        listed = _run("dpkg-scanpackages", "--multiversion", str(pool.relative_to(self.root)), cwd=self.root)
        (binary / "Packages").write_bytes(listed)
        (binary / "Packages.gz").write_bytes(gzip.compress(listed))
        sums = [
            f" {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} {path.relative_to(place)}"
            for path in sorted(binary.iterdir())
        ]
        release = f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: unified\n"
        release += "Date: Sat, 01 Aug 2026 00:00:00 UTC\nSHA256:\n" + "\n".join(sums) + "\n"
        (place / "Release").write_text(release, encoding="ascii")
        (place / "InRelease").unlink(missing_ok=True)
        self._gpg("--clearsign", "--output", str(place / "InRelease"), str(place / "Release"))

    def serve(self, address: str) -> ThreadingHTTPServer:
        """Serve it on an address of this host, on a thread that ends with `shutdown`."""
        handler = partial(_Quiet, directory=str(self.root))
        server = ThreadingHTTPServer((address, 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def _gpg(self, *arguments: str) -> bytes:
        return _run("gpg", "--homedir", str(self._home), "--batch", "--yes", "--quiet", *arguments)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _run(*argv: str, cwd: Path | None = None) -> bytes:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
