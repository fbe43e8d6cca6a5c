"""A package index in a directory, with wheels made on the fly: what the tests resolve and install from."""

from __future__ import annotations

import hashlib
import html
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Wheelhouse:
    """A PEP 503 index below `directory`, read through its `url`."""

    directory: Path
    _links: dict[str, list[str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.directory.as_uri()

    def add(
        self,
        name: str,
        version: str,
        files: Mapping[str, str] | None = None,
        *,
        requires: tuple[str, ...] = (),
        uploaded: str | None = None,
        yanked: bool = False,
    ) -> Path:
        """Publish one release; `uploaded` is an RFC 3339 moment, or None on an index that tells none."""
        project = canonicalize_name(name)
        stem = f"{name.replace('-', '_')}-{version}"
        path = self.directory / project / f"{stem}-py3-none-any.whl"
        path.parent.mkdir(parents=True, exist_ok=True)
        module = name.replace("-", "_")
        contents = dict(files or {f"{module}/__init__.py": f"__version__ = {version!r}\n"})
        metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        contents[f"{stem}.dist-info/METADATA"] = "\n".join(
            [*metadata, *(f"Requires-Dist: {r}" for r in requires), ""]
        )
        contents[f"{stem}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        record = f"{stem}.dist-info/RECORD"
        contents[record] = "".join(f"{file},,\n" for file in [*contents, record])
        with zipfile.ZipFile(path, "w") as wheel:
            for file, text in contents.items():
                wheel.writestr(zipfile.ZipInfo(file, (2024, 1, 1, 0, 0, 0)), text)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        attributes = f' data-upload-time="{uploaded}"' if uploaded else ""
        attributes += ' data-yanked="withdrawn"' if yanked else ""
        link = f'<a href="{html.escape(path.name)}#sha256={sha256}"{attributes}>{path.name}</a><br/>'
        self._links.setdefault(project, []).append(link)
        page = "<!DOCTYPE html><html><body>\n" + "\n".join(self._links[project]) + "\n</body></html>\n"
        (path.parent / "index.html").write_text(page, encoding="utf-8")
        return path
