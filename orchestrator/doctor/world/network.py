"""Read what the environment says of proxies and certificates."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.certificates import NAMED, ca_bundle
from orchestrator.doctor.network import PROXIES, BundleSeen

if TYPE_CHECKING:
    from threading import Event


def proxies() -> dict[str, str]:
    """Return the variables that are set."""
    names = [*PROXIES, *(name.upper() for name in PROXIES)]
    return {name: value for name in names if (value := os.environ.get(name))}


def look_at_certificates(_cancel: Event) -> BundleSeen:
    """Return which bundle is used, having read it."""
    named = {name: value for name in NAMED if (value := os.environ.get(name))}
    missing = {name: value for name, value in named.items() if not Path(value).exists()}
    path = ca_bundle()
    if path is None:
        return BundleSeen(path=None, missing=missing)
    variable = next((name for name, value in named.items() if Path(value) == path), None)
    return BundleSeen(path=str(path), variable=variable, trouble=_trouble(path), missing=missing)


def _trouble(path: Path) -> str:
    """Return why a bundle cannot be used, empty where it can; a directory is read only when it is needed."""
    if path.is_dir():
        return "" if os.access(path, os.R_OK | os.X_OK) else "permission denied"
    try:
        with path.open("rb"):
            pass  # the TLS library would not say that permission is missing
        ssl.create_default_context(cafile=str(path))
    except ssl.SSLError:
        return "there is no certificate in it"
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""
