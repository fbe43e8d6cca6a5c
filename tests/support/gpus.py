"""Hosts that have GPUs, in files: what sysfs, procfs and /dev show of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.devices import Host

if TYPE_CHECKING:
    from pathlib import Path

NULL = "/dev/null"
"""A character device that everybody has: render nodes are links to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A graphics card as the kernel shows it. `functions` are its SR-IOV virtual ones; None: it has no such."""

    address: str = "0000:03:00.0"
    vendor: str = "0x8086"
    device: str = "0xe20b"
    driver: str = "xe"
    render: int | None = 128
    node: bool = True
    functions: int | None = None
    gt: int = 0
    tiles: int = 0


def host(root: Path, *cards: Card) -> Host:
    """Make a host with cards; they are numbered in the given order, which need not be that of their addresses."""
    made = Host(sys=root / "sys", dev=root / "dev", proc=root / "proc")
    (made.sys / "class/drm").mkdir(parents=True)
    (made.dev / "dri").mkdir(parents=True)
    (made.proc / "sys/kernel/random").mkdir(parents=True)
    boot(made, "boot-1")
    for number, card in enumerate(cards):
        add(made, number, card)
    return made


def boot(made: Host, name: str) -> None:
    """Boot a host, which gives the boot another name."""
    (made.proc / "sys/kernel/random/boot_id").write_text(f"{name}\n", encoding="ascii")


def add(made: Host, number: int, card: Card) -> Path:
    """Put one card in and return its device's directory, which `class/drm` links to as in a real sysfs."""
    device = made.sys / "devices/pci0000:00" / card.address
    shown = device / "drm" / f"card{number}"
    shown.mkdir(parents=True)
    (shown / "device").symlink_to(device)
    (made.sys / "class/drm" / shown.name).symlink_to(shown)
    write(device / "vendor", card.vendor)
    write(device / "device", card.device)
    write(device / "uevent", f"DRIVER={card.driver}\nPCI_SLOT_NAME={card.address}")
    if card.functions is not None:
        write(device / "sriov_numvfs", str(card.functions))
    for gt in range(card.gt):
        (shown / f"gt/gt{gt}").mkdir(parents=True)
    for tile in range(card.tiles):
        (device / f"tile{tile}").mkdir()
    if card.render is not None:
        name = f"renderD{card.render}"
        (device / "drm" / name).mkdir()
        if card.node:
            (made.dev / "dri" / name).symlink_to(NULL)
    return device


def several(root: Path, count: int, **changes: int | str) -> Host:
    """Make a host with so many GPUs of one model."""
    cards = (
        Card(address=f"0000:{3 + number:02x}:00.0", render=128 + number, **changes)  # type: ignore[arg-type] # mixed
        for number in range(count)
    )
    return host(root, *cards)


def nvidia(made: Host, *uuids: str) -> None:
    """Put NVIDIA GPUs in, by their UUIDs."""
    (made.dev / "nvidiactl").touch()
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build"
    write(made.proc / "driver/nvidia/version", version)
    for number, uuid in enumerate(uuids):
        told = f"Model: \t NVIDIA A10\nIRQ: 7\nGPU UUID: \t {uuid}\nDevice Minor: \t {number}"
        write(made.proc / f"driver/nvidia/gpus/0000:{number + 1:02x}:00.0/information", told)


def write(path: Path, text: str) -> None:
    """Write a file as the kernel would show it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="ascii")
