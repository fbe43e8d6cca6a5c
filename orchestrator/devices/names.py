"""Models of Intel GPUs by PCI id, as far as they are worth a name: the same on every host."""

from __future__ import annotations

_INTEL = {
    "0bd5": "Data Center GPU Max 1550",
    "0bd9": "Data Center GPU Max 1100",
    "0bda": "Data Center GPU Max 1100",
    "56a0": "Arc A770",
    "56a1": "Arc A750",
    "56a2": "Arc A580",
    "56a5": "Arc A380",
    "56a6": "Arc A310",
    "56c0": "Data Center GPU Flex 170",
    "56c1": "Data Center GPU Flex 140",
    "64a0": "Lunar Lake",
    "7d55": "Meteor Lake",
    "e20b": "Arc B580",
    "e20c": "Arc B570",
    "e211": "Arc Pro B60",
    "e212": "Arc Pro B50",
}
"""From the PCI ID database (https://pci-ids.ucw.cz), the newer ones from the kernel (drm/intel/pciids.h)."""


def intel_name(device: str) -> str:
    """Return the PCI id of a device ("e20b") with the name of its model, where it is known."""
    return f"8086:{device or 'unknown'} {_INTEL.get(device, '')}".rstrip()
