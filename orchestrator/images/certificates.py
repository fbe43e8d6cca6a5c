"""The certificates of the host, where builds need them to get through a proxy that rewrites TLS.

A bundle is public data. It lies in the build context and is deleted by the instruction that used it: a copy stays
readable in the layer below, nothing of it is left in the file system or the settings that a probe sees.
"""

from __future__ import annotations

import os
import ssl
import threading
from pathlib import Path

from orchestrator.files import write_atomic

ASKED = "ORCHESTRATOR_CA_BUNDLE"
_NAMED = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_USUAL = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class Certificates:
    """Whether builds get the host's bundle: where the user asks, and after TLS has failed without it."""

    def __init__(self, memory: Path, asked: Path | None = None) -> None:
        self._memory = memory
        self._guard = threading.Lock()
        named = os.environ.get(ASKED)
        self.bundle: Path | None = asked or (Path(named) if named else None) or self._remembered()

    def adopt(self, failed_with: Path | None) -> Path | None:
        """Return the bundle to try after TLS failed with another one or none; None where nothing else is left.

        Of builds that fail side by side, the first finds the bundle and the others try again with it.
        """
        with self._guard:
            if self.bundle is None:
                self.bundle = host_bundle()
                if self.bundle is not None:
                    write_atomic(self._memory, f"{self.bundle}\n".encode())
            return self.bundle if self.bundle != failed_with else None

    def _remembered(self) -> Path | None:
        """Return what an earlier run found to be needed, unless it is gone."""
        try:
            path = Path(self._memory.read_text(encoding="utf-8").strip())
        except (OSError, ValueError):
            return None
        return path if path.is_file() else None


def host_bundle() -> Path | None:
    """Return the file that programs on this host take certificates from, as far as one can tell."""
    named = [os.environ[name] for name in _NAMED if os.environ.get(name)]
    default = ssl.get_default_verify_paths().cafile
    candidates = [*named, *([default] if default else []), *_USUAL]
    return next((path for path in map(Path, candidates) if path.is_file()), None)
