"""Who may open a node."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import TYPE_CHECKING

from orchestrator.doctor.rights import Rights

if TYPE_CHECKING:
    from pathlib import Path


def rights(path: Path) -> Rights | None:
    """Return this user's rights on a node, None where there is no such node or nobody may look at it."""
    try:
        seen = path.stat()
    except OSError:
        return None
    user = current_user()
    try:
        group = grp.getgrgid(seen.st_gid)
    except KeyError:
        name, members = None, []
    else:
        name, members = group.gr_name, group.gr_mem
    return Rights(
        path=str(path),
        mode=stat.S_IMODE(seen.st_mode),
        gid=seen.st_gid,
        group=name,
        user=user,
        allowed=os.access(path, os.R_OK | os.W_OK, effective_ids=True),
        listed=user in members,
    )


def current_user() -> str:
    """Return the name of this process's user, or the number where the host knows no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
