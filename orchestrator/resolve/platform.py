"""The platform that cells are resolved for."""

from __future__ import annotations

import sysconfig
from functools import cache


@cache
def platform_tag() -> str:
    """Return the platform that cells are resolved for: this machine's, Linux with glibc 2.28 or later."""
    system, _, machine = sysconfig.get_platform().partition("-")
    machine = machine.rpartition("-")[2].replace("arm64", "aarch64")
    return f"{machine}-manylinux_2_28" if system == "linux" else f"{machine}-apple-darwin"
