"""Whose certificates an index may show."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

ASKED = "ORCHESTRATOR_CA_BUNDLE"
"""Names the bundle to use, whatever else is set."""

NAMED = (ASKED, "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""The variables that name a bundle, the first that is set before the others."""

_USUAL = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def ca_bundle() -> Path | None:
    """Return the certificates that the user names, else those of the system; None where there are neither."""
    named = [os.environ[name] for name in NAMED if os.environ.get(name)]
    default = ssl.get_default_verify_paths().cafile
    candidates = [*named, *([default] if default else []), *_USUAL]
    return next((path for path in map(Path, candidates) if path.exists()), None)
