"""What a shard leaves: a directory that is a small store, with `shard.json` on top.

<directory>/shard.json      what was measured of each cell, and of which matrix (a `Part`)
<directory>/results/…       the results and attempts behind it, as in any store
<directory>/attempts/…
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.codec import from_json, to_json
from orchestrator.errors import ConfigError, EnvironmentUnusableError
from orchestrator.files import write_atomic
from orchestrator.matrix import AxisVersions, Selection, Shard
from orchestrator.model import Matrix, Provenance
from orchestrator.pinpoint import Measured
from orchestrator.pinpoint.prior import Prior
from orchestrator.results import Store
from orchestrator.transfer import Record, carry
from orchestrator.versions import Version

FORMAT = 1
MANIFEST = "shard.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The versions that an index had for an axis that is a range."""

    stack: str
    axis: str
    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one shard measured, and what it takes to answer for all of them together."""

    shard: Shard
    provenance: Provenance
    probes: Mapping[str, str]
    """Digests of the probes' files and of what they lean on, by path."""
    selection: Selection
    prior: Prior
    """What is believed before anything is measured."""
    matrix: Matrix
    found: tuple[Found, ...]
    notices: tuple[str, ...]
    """Of the runtime."""
    measured: tuple[Measured, ...]
    """The cells of this shard."""
    records: tuple[Record, ...]

    @property
    def versions(self) -> AxisVersions:
        """What the indexes had for each range."""
        return {(one.stack, one.axis): one.versions for one in self.found}


def write_part(part: Part, store: Store, target: Path) -> None:
    """Write a part with its attempts, which `store` has, to a directory; an earlier part there is replaced.

    Raises:
        ConfigError: the directory holds something else.
        EnvironmentUnusableError: the disk does not take it.
    """
    check_target(target)
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside it and then renamed: a part is there as a whole or not at all.
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        carry([(store, record) for record in part.records], Store(temporary))
        document = {"format": FORMAT, **to_json(part)}
        write_atomic(temporary / MANIFEST, json.dumps(document, allow_nan=False).encode())
        temporary.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)  # gone already where it was renamed


def check_target(target: Path) -> None:
    """Refuse a place for a part that holds something else.

    Raises:
        ConfigError: it does.
    """
    if target.exists() and not (target / MANIFEST).is_file() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(
            f"{target} is not empty and no shard's directory", hint="name a directory that does not exist yet"
        )


def read_part(directory: Path) -> Part:
    """Read the part in a directory.

    Raises:
        ConfigError: there is none, or another version of this program wrote it.
    """
    path = directory / MANIFEST
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != FORMAT:
            raise ConfigError(
                f"{path} has format {document['format']}, this version reads {FORMAT}",
                hint="run and merge shards with one version of matrix-orchestrator",
            )
        return from_json(Part, document)
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(
            f"{directory} is no shard's directory: there is no {MANIFEST}",
            hint="`orchestrator run --shard I/N -o DIR` writes one",
        ) from None
    except OSError as error:
        raise EnvironmentUnusableError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", hint="run that shard again, or copy its directory again"
        ) from None
