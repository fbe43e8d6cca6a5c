"""Judge the devices: GPUs, their drivers and health, and who may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orchestrator.doctor.disk import size
from orchestrator.doctor.finding import Finding, Level
from orchestrator.doctor.rights import Rights, how_to_join
from orchestrator.model import Device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.devices import Health
    from orchestrator.doctor.finding import RuntimeName

_SHM = "/dev/shm"  # noqa: S108 - the place is the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """An Intel GPU that has a render node."""

    model: str
    """Vendor and device number, `8086:56a0`."""
    address: str
    """On the PCI bus, where that is known."""
    driver: str
    node: Rights


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesSeen:
    """The GPUs of this host, as the kernel shows them."""

    gpus: Sequence[Gpu] = ()
    driverless: Sequence[str] = ()
    """PCI addresses of Intel graphics without a kernel driver."""
    by_path: bool = True
    """There is a /dev/dri/by-path."""
    nvidia: bool = False
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """PCI address of each GPU that is in quarantine, and why."""


def judge_gpus(
    seen: DevicesSeen, stacks: Mapping[Device, Sequence[str]], runtimes: Sequence[RuntimeName]
) -> Iterator[Finding]:
    """Judge Intel's GPUs; without any, the stacks that need one are left out of a run."""
    wanting = stacks.get(Device.XPU, ())
    if not seen.gpus:
        yield Finding(
            id="device.xpu",
            level=Level.NOTE if wanting else Level.OK,
            summary="no Intel GPU" + (f": left out of a run are {_several(wanting)}" if wanting else ""),
            hint="run them on a host with an Intel GPU and its render node under /dev/dri" if wanting else None,
        )
    for address in seen.driverless:
        yield Finding(
            id=f"device.xpu.{address}",
            level=Level.PROBLEM,
            summary=f"the Intel graphics at {address} have no kernel driver, and so no render node",
            hint="`sudo modprobe xe` (i915 for older ones); `sudo dmesg | grep -E 'i915|xe '` says why it fails",
        )
    for gpu in seen.gpus:
        name = gpu.node.path.rpartition("/")[2]
        where = f"Intel GPU {gpu.model}{f' at {gpu.address}' if gpu.address else ''}, driver {gpu.driver}"
        yield Finding(
            id=f"device.xpu.{name}", level=Level.OK, summary=f"{where}, {gpu.node.path}", detail=gpu.node.owner
        )
        yield from _rights(gpu.node, name, runtimes)
    for address, reason in seen.quarantined.items():
        yield Finding(
            id=f"device.quarantine.{address}",
            level=Level.PROBLEM,
            summary=f"the GPU at {address} is in quarantine and is not used: {reason}",
            hint="restart the host, or `orchestrator doctor --forget-quarantine` once it is well",
        )
    if seen.gpus and not seen.by_path:
        yield Finding(
            id="device.by-path",
            level=Level.NOTE,
            summary="there is no /dev/dri/by-path, where the user-space driver looks for what the GPU can do",
            hint="`sudo udevadm trigger --subsystem-match=drm` makes it where udev runs",
        )


def _rights(node: Rights, name: str, runtimes: Sequence[RuntimeName]) -> Iterator[Finding]:
    if node.allowed or "venv" not in runtimes:
        return
    yield Finding(
        id=f"device.rights.{name}",
        level=Level.PROBLEM,
        summary=f"{node.user} may not open {node.path} ({node.owner}): virtual environments cannot use the GPU",
        detail="containers get the node and its group's number from the engine, unless that is rootless",
        hint=how_to_join(node),
    )


def judge_rootless_devices(seen: DevicesSeen) -> Iterator[Finding]:
    """Judge the same for an engine without root, whose containers can do no more than this user."""
    for gpu in seen.gpus:
        if not gpu.node.allowed:
            yield Finding(
                id=f"device.rootless.{gpu.node.path.rpartition('/')[2]}",
                level=Level.PROBLEM,
                summary=f"{gpu.node.user} may not open {gpu.node.path}, nor can a rootless engine's containers",
                hint=how_to_join(gpu.node) + "; Podman also needs `--group-add keep-groups`",
            )


def judge_health(seen: Mapping[str, Health]) -> Iterator[Finding]:
    """Judge what xpu-smi says of each GPU (by PCI address); without it nothing is known of their health."""
    if not all(one.checked for one in seen.values()):
        yield Finding(
            id="device.health",
            level=Level.NOTE,
            summary="the health of the GPU is not known: there is no xpu-smi",
            hint="install xpu-smi from Intel's graphics repository",
        )
        return
    ill = {address: one.reason for address, one in seen.items() if one.reason is not None}
    for address, reason in ill.items():
        yield Finding(
            id=f"device.health.{address}",
            level=Level.PROBLEM,
            summary=f"the GPU at {address} is not used: {reason}",
            hint=f"`timeout 30 xpu-smi discovery -d {address}` and `sudo dmesg | grep {address}` say more; "
            "where they hang, restart the host",
        )
    if not ill:
        yield Finding(
            id="device.health", level=Level.OK, summary=f"xpu-smi finds nothing wrong with {len(seen)} GPUs"
        )


def judge_late_health() -> Finding:
    """Judge an xpu-smi that never ends."""
    return Finding(
        id="device.health",
        level=Level.PROBLEM,
        summary="xpu-smi does not say how the GPU is: it hangs",
        hint="`timeout 30 xpu-smi discovery` by hand; where it hangs, the GPU may: restart the host",
    )


def judge_nvidia(
    seen: DevicesSeen, stacks: Mapping[Device, Sequence[str]], *, toolkit: bool | None
) -> Iterator[Finding]:
    """Judge NVIDIA's GPUs; `toolkit` tells whether the engine can pass them on, None where there is no engine."""
    wanting = stacks.get(Device.CUDA, ())
    if not seen.nvidia:
        if wanting:
            yield Finding(
                id="device.cuda",
                level=Level.NOTE,
                summary=f"no NVIDIA GPU: left out of a run are {_several(wanting)}",
                hint="run them on a host that has /dev/nvidiactl",
            )
    elif toolkit is False:
        yield Finding(
            id="device.cuda",
            level=Level.PROBLEM if wanting else Level.NOTE,
            summary="there is an NVIDIA GPU, and the engine cannot pass it on to containers",
            hint="install the NVIDIA Container Toolkit, `sudo nvidia-ctk runtime configure`, restart the engine",
        )
    else:
        yield Finding(id="device.cuda", level=Level.OK, summary="an NVIDIA GPU is there")


def judge_shm(free: int | None, wanted: int) -> Iterator[Finding]:
    """Judge this host's /dev/shm (bytes, None where there is none), which virtual environments share."""
    if free is None:
        yield Finding(
            id="device.shm",
            level=Level.PROBLEM,
            summary="there is no /dev/shm: worker processes of torch cannot share tensors in virtual environments",
            hint="`sudo mount -t tmpfs shm /dev/shm`",
        )
    elif free < wanted:
        yield Finding(
            id="device.shm",
            level=Level.NOTE,
            summary=f"{_SHM} has {size(free)} free for virtual environments; a container gets {size(wanted)}",
            hint=f"`sudo mount -o remount,size={wanted} /dev/shm`; in a container start it with --shm-size",
        )
    else:
        yield Finding(id="device.shm", level=Level.OK, summary=f"{_SHM} has {size(free)} free")


def _several(names: Sequence[str]) -> str:
    return f"the stack {names[0]}" if len(names) == 1 else f"the stacks {', '.join(names)}"
