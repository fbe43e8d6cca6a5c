"""Which GPU a cell computes on: chosen among those that the matrix allows, that are well, and that nobody has."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.devices.cuda import NvidiaGpus
from orchestrator.devices.gate import Gate
from orchestrator.devices.grant import Busy, Grant, Unusable
from orchestrator.devices.host import Host, refused
from orchestrator.devices.leases import Leases, shared_directory
from orchestrator.devices.port import Backend, Health, Part, Unit
from orchestrator.devices.processor import Processor
from orchestrator.devices.quarantine import Quarantine, quarantine
from orchestrator.devices.xpu import IntelGpus
from orchestrator.model import Device, Fingerprint, GpuUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

BACKENDS: Mapping[Device, Backend] = {
    Device.CPU: Processor(),
    Device.XLA: Processor(),
    Device.XPU: IntelGpus(),
    Device.CUDA: NvidiaGpus(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What all users of this host share: opened only where a GPU is asked for."""

    leases: Leases
    quarantine: Quarantine


class Pool:
    """The devices of this host, given out cell by cell. Only one thread may `acquire`.

    `uses` is what the matrix says of them. `direct` tells that cells are processes of this user rather than
    containers, so that they need rights of their own.
    """

    def __init__(
        self,
        uses: Mapping[Device, GpuUse] | None = None,
        *,
        host: Host | None = None,
        direct: bool = False,
        directory: Path | None = None,
        backends: Mapping[Device, Backend] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._uses = uses or {}
        self._host = host or Host()
        self._direct = direct
        self._directory = directory
        self._backends = {**BACKENDS, **(backends or {})}
        self._clock = clock
        self._gates = {device: Gate(backend.health, clock=clock) for device, backend in self._backends.items()}
        self._shared: _Shared | None = None
        self._lock = threading.Lock()
        self._given: Counter[str] = Counter()
        self._times: Counter[str] = Counter()
        self._notices: dict[str, None] = {}
        self._isolated: dict[str, str] = {}

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know about the GPUs that were asked for, one sentence each."""
        with self._lock:
            return tuple(self._notices)

    def missing(self, device: Device) -> str | None:
        """Return why no cell can compute on a device here, None where one can."""
        backend = self._backends[device]
        if not backend.leased:
            return None
        units = backend.units(self._host)
        if not units:
            return backend.absent(self._host)
        chosen = self._chosen(device, units)
        if not chosen:
            there = ", ".join(f"{unit.index} ({unit.id})" for unit in units)
            return f"none of the GPUs in `devices: {device}: use` is here; there are {there}"
        reasons = [self._refused(unit) for unit in chosen]
        return None if None in reasons else reasons[0]

    def acquire(self, device: Device) -> Grant | Busy | Unusable:
        """Lease what one cell computes on, without waiting for it."""
        backend = self._backends[device]
        if not backend.leased:
            return Grant(fingerprint=self.fingerprint(device))
        if (reason := self.missing(device)) is not None:
            return Unusable(reason=reason)
        units = self._chosen(device, backend.units(self._host))
        self._remark(device, units)
        states = {unit: self._state(device, unit) for unit in units}
        well = [unit for unit, state in states.items() if state is not None and state.reason is None]
        for part, share in self._offers(device, well):
            if (grant := self._lease(device, part, share)) is not None:
                return grant
        self._opened.leases.leave_recent()
        pending = None in states.values()
        if not well and not pending:
            ill = "; ".join(f"{unit.id}: {state.reason}" for unit, state in states.items() if state is not None)
            return Unusable(reason=f"no GPU can be used: {ill}")
        with self._lock:
            ours = any(self._given[unit.id] for unit in well)
        return Busy(elsewhere=bool(well) and not pending and not ours)

    def wait_no_more(self) -> None:
        """Give up this run's place in every line: nobody waits for a GPU at the moment."""
        if self._shared is not None:
            self._shared.leases.leave_all()

    def preview(self, device: Device) -> Grant | None:
        """Return what a cell would compute on if nobody else did, without leasing it; None where there is none."""
        backend = self._backends[device]
        if not backend.leased:
            return Grant(fingerprint=self.fingerprint(device))
        offers = self._offers(device, self._chosen(device, backend.units(self._host)))
        part, _ = next(offers, (None, None))
        return None if part is None else self._grant(device, part)

    def isolate(self, grant: Grant, reason: str) -> None:
        """Put the GPU of a grant into quarantine, where it has one."""
        if grant.part is None:
            return
        unit = grant.part.unit.id
        try:
            self._opened.quarantine.add(unit, reason)
        except OSError as error:
            with self._lock:
                self._isolated[unit] = reason
            self._note(
                f"GPU {unit} is not used any more, but other runs are not told ({error.strerror}): {reason}"
            )
        else:
            self._note(f"GPU {unit} was put into quarantine until this host is booted again: {reason}")

    def fingerprint(self, device: Device, units: Sequence[Unit] | None = None) -> Fingerprint:
        """Return what some GPUs are, or all that the matrix allows; of a device without any, the processor."""
        backend = self._backends[device]
        if units is None:
            units = self._chosen(device, backend.units(self._host))
        known = [self._gates[device].known(unit) for unit in units]
        firmware = sorted({health.firmware for health in known if health is not None and health.firmware})
        return replace(backend.fingerprint(self._host, units), firmware="; ".join(firmware) or None)

    @property
    def _opened(self) -> _Shared:
        with self._lock:
            if self._shared is None:
                directory = self._directory or shared_directory()
                self._shared = _Shared(
                    leases=Leases(directory, clock=self._clock),
                    quarantine=quarantine(self._host.boot, directory),
                )
            return self._shared

    def _use(self, device: Device) -> GpuUse:
        return self._uses.get(device, GpuUse())

    def _chosen(self, device: Device, units: Sequence[Unit]) -> tuple[Unit, ...]:
        """Return the GPUs that the matrix names; else all, a processor's own only where it is alone."""
        if wanted := self._use(device).use:
            return tuple(unit for unit in units if unit.index in wanted or unit.id in wanted)
        return tuple(unit for unit in units if not unit.integrated) or tuple(units)

    def _state(self, device: Device, unit: Unit) -> Health | None:
        """Return whether a GPU can be used, None while it is being asked how it is."""
        # One that is in quarantine is not asked: its tool would hang too.
        reason = self._isolated.get(unit.id) or self._opened.quarantine.reason(unit.id) or self._refused(unit)
        state = self._gates[device].health(unit) if reason is None else Health(reason=reason)
        if state is not None and state.reason is not None:
            self._note(f"GPU {unit.id} is not used: {state.reason}")
        return state

    def _refused(self, unit: Unit) -> str | None:
        """Return why this user may not open a GPU, where cells are processes of this user."""
        return refused(unit.node) if self._direct and unit.node is not None else None

    def _offers(self, device: Device, units: Sequence[Unit]) -> Iterator[tuple[Part, str | None]]:
        """Yield what could be leased and as which share: the least used first, second shares after all first."""
        use = self._use(device)
        with self._lock:
            given, times = Counter(self._given), Counter(self._times)
        parts = [
            Part(unit=unit, tile=tile)
            for unit in units
            for tile in (range(unit.tiles) if use.tiles and unit.tiles > 1 else (None,))
        ]
        parts.sort(key=lambda part: (given[part.unit.id], times[part.unit.id], part.unit.index))
        for share in range(use.shared):
            for part in parts:
                alone = use.shared == 1 and part.tile is None
                yield part, None if alone else f"{'all' if part.tile is None else part.tile}-{share}"

    def _lease(self, device: Device, part: Part, share: str | None) -> Grant | None:
        lease = self._opened.leases.take(part.unit.id, share)
        if lease is None:
            return None
        self._opened.leases.leave_all()
        unit = part.unit.id

        def returned() -> None:
            with self._lock:
                self._given[unit] -= 1

        with self._lock:
            self._given[unit] += 1
            self._times[unit] += 1
        try:
            return replace(self._grant(device, part), lease=lease, returned=returned)
        except OSError:  # its node went away just now
            lease.release()
            returned()
            return None

    def _grant(self, device: Device, part: Part) -> Grant:
        backend = self._backends[device]
        passed = backend.passthrough(self._host, part)
        if self._use(device).cdi and part.unit.node is not None:
            passed = replace(passed, by_cdi=(str(part.unit.node),))
        mark = self.fingerprint(device, [part.unit])
        if part.tile is not None:
            mark = replace(mark, device=f"{mark.device}, one tile")
        return Grant(
            part=part,
            passthrough=passed,
            confinement=backend.confinement(self._host, part),
            fingerprint=mark,
        )

    def _remark(self, device: Device, units: Sequence[Unit]) -> None:
        """Say what is odd about the choice of GPUs."""
        if len({unit.name for unit in units}) > 1:
            names = ", ".join(f"{unit.index} {unit.name}" for unit in units)
            self._note(
                f"cells are spread over GPUs that differ ({names}): name alike ones in `devices: {device}: use`"
            )

    def _note(self, notice: str) -> None:
        with self._lock:
            self._notices.setdefault(notice)
