"""Devices behind one port: whether this host has them, how well they are, who has them, what a container gets."""

from orchestrator.devices.cdi import CdiUnusableError, spec_directories, through_cdi
from orchestrator.devices.grant import Busy, Grant, Unusable
from orchestrator.devices.host import Host, refused
from orchestrator.devices.leases import shared_directory
from orchestrator.devices.pool import BACKENDS, Pool
from orchestrator.devices.port import Backend, Health, Part, Passthrough, Unit
from orchestrator.devices.quarantine import Quarantine, Quarantined, quarantine
from orchestrator.devices.xpu_smi import discover

__all__ = [
    "BACKENDS",
    "Backend",
    "Busy",
    "CdiUnusableError",
    "Grant",
    "Health",
    "Host",
    "Part",
    "Passthrough",
    "Pool",
    "Quarantine",
    "Quarantined",
    "Unit",
    "Unusable",
    "discover",
    "forget_quarantine",
    "quarantine",
    "refused",
    "shared_directory",
    "spec_directories",
    "through_cdi",
]


def forget_quarantine() -> tuple[Quarantined, ...]:
    """Let every GPU of this host out of quarantine and return them.

    Raises:
        EnvironmentUnusableError: a record cannot be removed.
    """
    return quarantine(Host().boot).forget()
