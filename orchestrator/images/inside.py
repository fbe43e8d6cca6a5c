"""Read single files out of images, without running anything in them."""

from __future__ import annotations

import io
import tarfile
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from docker.errors import NotFound

from orchestrator.images.engine import ENGINE_ERRORS

if TYPE_CHECKING:
    from orchestrator.images.engine import Engine

_LARGEST = 64 * 1024 * 1024


def read_inside(engine: Engine, image: str, path: str) -> bytes | None:
    """Return a regular file of an image, None where it has none there or one of more than 64 MiB.

    A container is made for it and never started: the engine gives files of containers only.
    """
    # It needs the names of labels from here.
    from orchestrator.execute.owner import owner  # noqa: PLC0415

    api = engine.api
    made = api.create_container(image, ["true"], network_disabled=True, labels=owner())
    try:
        stream, _ = api.get_archive(made["Id"], path)
        with closing(stream):
            received = bytearray()
            for block in stream:
                received += block
                if len(received) > _LARGEST:
                    return None
    except NotFound:
        return None
    finally:
        with suppress(*ENGINE_ERRORS):  # what is left is removed by a later run
            api.remove_container(made["Id"], v=True, force=True)
    with suppress(tarfile.TarError), tarfile.open(fileobj=io.BytesIO(received), mode="r:") as tar:
        member = tar.next()
        file = tar.extractfile(member) if member is not None and member.isreg() else None
        return file.read() if file is not None else None
    return None
