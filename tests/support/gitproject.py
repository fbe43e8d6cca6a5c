"""A tiny project in a git repository of its own, which builds without anything from outside."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

START = datetime(2024, 3, 1, 12, tzinfo=UTC)

BACKEND = '''\
"""Builds the package beside it. Every build leaves a line in the file that BUILD_LOG names."""
import os, pathlib, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    exec(pathlib.Path("recipe.py").read_text())
    name, version = "tiny", pathlib.Path("VERSION").read_text().strip()
    if "BUILD_LOG" in os.environ:
        with open(os.environ["BUILD_LOG"], "a") as log:
            log.write(os.environ["SOURCE_DATE_EPOCH"] + "\\n")
    stem = f"{name}-{version}"
    requires = "".join(f"Requires-Dist: {line}\\n" for line in pathlib.Path("REQUIRES").read_text().split())
    contents = {path.as_posix(): path.read_text() for path in sorted(pathlib.Path(name).rglob("*.py"))}
    metadata = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{requires}"
    contents[f"{stem}.dist-info/METADATA"] = metadata
    contents[f"{stem}.dist-info/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    record = f"{stem}.dist-info/RECORD"
    contents[record] = "".join(f"{file},,\\n" for file in [*contents, record])
    with zipfile.ZipFile(os.path.join(directory, f"{stem}-py3-none-any.whl"), "w") as wheel:
        for file, text in contents.items():
            wheel.writestr(zipfile.ZipInfo(file, (2024, 1, 1, 0, 0, 0)), text)
    return f"{stem}-py3-none-any.whl"
'''
PYPROJECT = """\
[project]
name = "tiny"
dynamic = ["version", "dependencies"]
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@dataclass
class GitProject:
    """A repository in `directory`; its commits are an hour apart from `START` on."""

    directory: Path
    made: int = 0

    def start(self) -> GitProject:
        self.directory.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(
            "the project", {"backend.py": BACKEND, "pyproject.toml": PYPROJECT, "recipe.py": "", "REQUIRES": ""}
        )
        return self

    def commit(self, subject: str, files: Mapping[str, str] | None = None, *, tag: str | None = None) -> str:
        """Commit some files, and return the hash; without any, the package says how many commits there are."""
        self.made += 1
        for name, text in (files or {"tiny/__init__.py": f"number = {self.made}\n"}).items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.tag(tag) if tag else self.git("rev-parse", "HEAD")

    def release(self, version: str) -> str:
        """Commit a version and tag it, and return the hash."""
        return self.commit(f"release {version}", {"VERSION": version}, tag=f"v{version}")

    def tag(self, name: str) -> str:
        self.git("tag", "--annotate", "-m", name, name)
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        moment = (START + timedelta(hours=self.made)).isoformat()
        identity = {
            f"GIT_{who}_{what}": text
            for who in ("AUTHOR", "COMMITTER")
            for what, text in (("NAME", "somebody"), ("EMAIL", "somebody@example.org"), ("DATE", moment))
        }
        environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.directory, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()
