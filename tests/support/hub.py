"""A directory with a `gh` that keeps its repository in a file, for tests that put it on PATH."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GH = Path(__file__).parent / "fake_gh.py"


@dataclass(frozen=True, kw_only=True)
class Hub:
    """The directory `bin` for PATH, and the file that FAKE_GH has to name."""

    directory: Path

    @classmethod
    def made(cls, directory: Path) -> Hub:
        (directory / "bin").mkdir(parents=True)
        program = directory / "bin" / "gh"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{_GH}" "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return cls(directory=directory)

    @property
    def bin(self) -> Path:
        return self.directory / "bin"

    @property
    def file(self) -> Path:
        return self.directory / "hub.json"

    @property
    def content(self) -> dict[str, Any]:
        if not self.file.exists():
            return {"labels": [], "issues": [], "log": []}
        return json.loads(self.file.read_text(encoding="utf-8"))

    @property
    def issues(self) -> list[dict[str, Any]]:
        return self.content["issues"]

    def write(self, **content: Any) -> None:
        self.file.write_text(json.dumps({**self.content, **content}), encoding="utf-8")

    def change(self, number: int, **fields: Any) -> None:
        """Do to an issue what a person does."""
        self.write(issues=[{**one, **fields} if one["number"] == number else one for one in self.issues])
