"""Whether a user may open a socket or a device node, and how to get the right."""

from __future__ import annotations

import stat
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """A node of the file system as one user meets it."""

    path: str
    mode: int
    """The permission bits."""
    gid: int
    group: str | None
    """The group's name, None where this host has none for the number."""
    user: str
    allowed: bool
    """Reading and writing is possible now."""
    listed: bool
    """The group's list has the user, whether or not this process has begun since."""

    @property
    def owner(self) -> str:
        """The group, by name and number."""
        return f"group {self.group or 'without a name'}, {self.gid}"


def how_to_join(rights: Rights) -> str:
    """Return, in one line, what gives the user the right."""
    both = stat.S_IRGRP | stat.S_IWGRP
    if rights.mode & both != both or rights.gid == 0:
        return f"give {rights.path} a group of its own that may read and write it (mode 660), and join that"
    if rights.listed:
        return f"{rights.user} is in the group already: log out and in again, or run `newgrp {rights.group}`"
    if rights.group is None:
        return (
            f"`sudo groupadd --gid {rights.gid} render && sudo usermod -aG {rights.gid} {rights.user}`, "
            "then log out and in again"
        )
    return f"`sudo usermod -aG {rights.group} {rights.user}`, then log out and in again"
