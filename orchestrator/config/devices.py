"""The part of the format about the GPUs of a host: which of them cells may use, and how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from orchestrator.config.packages import Section
from orchestrator.config.scalar import matching

MOST = 64
"""Cells that may share one GPU, at most; and GPUs of one host."""

Address = Annotated[
    str,
    matching(
        r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]",
        "a PCI address as the kernel writes it, like 0000:03:00.0",
        wanted="must be a number or a PCI address",
    ),
]


def _kind(value: object) -> str:
    return "(number)" if isinstance(value, int) else "(address)"


Chosen = Annotated[
    Annotated[int, Field(ge=0, lt=MOST), Tag("(number)")] | Annotated[Address, Tag("(address)")],
    Discriminator(_kind),
]


class Gpus(Section):
    """Which GPUs of a kind cells may compute on, and how."""

    use: list[Chosen] | None = Field(
        default=None,
        min_length=1,
        description="The GPUs to use: numbers (in the order of their PCI addresses, from 0) or PCI addresses."
        " Default: all; one that is part of the processor only where there is no other.",
    )
    shared: int = Field(
        default=1, ge=1, le=MOST, description="How many cells may compute on one GPU at the same time."
    )
    cdi: bool = Field(
        default=False,
        description="Give GPUs to containers by the Container Device Interface, which the engine and the host must"
        " be set up for.",
    )


class IntelGpus(Gpus):
    """Which Intel GPUs cells may compute on, and how."""

    lease: Literal["gpu", "tile"] = Field(
        default="gpu", description="What one cell gets: a GPU, or one tile of it where it has several."
    )


class Devices(Section):
    """GPUs by kind."""

    xpu: IntelGpus = Field(default=IntelGpus(), description="Intel GPUs.")
    cuda: Gpus = Field(default=Gpus(), description="NVIDIA GPUs.")
