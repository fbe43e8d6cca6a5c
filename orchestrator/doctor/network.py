"""Judge the proxies and the certificates that this host's environment names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from orchestrator.doctor.finding import Finding, Level
from orchestrator.doctor.secrets import hide

if TYPE_CHECKING:
    from collections.abc import Iterator

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
"""The variables that name proxies; each is also known in capitals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSeen:
    """The certificates that servers are checked against."""

    path: str | None
    variable: str | None = None
    """What names it; None where the system's usual place is used."""
    trouble: str = ""
    """Why it cannot be used."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Variables that name a file or directory that is not there."""


def judge_proxies(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Judge the variables that are set; credentials do not show."""
    given = {name: value for name, value in variables.items() if value}
    if not given:
        yield Finding(id="network.proxy", level=Level.OK, summary="no proxy is set")
        return
    shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in sorted(given.items()))
    if twice := [name for name in PROXIES if _differ(given, name)]:
        yield Finding(
            id="network.proxy",
            level=Level.PROBLEM,
            summary=f"{twice[0]} and {twice[0].upper()} differ, and so do programs in which they take",
            detail=shown,
            hint=f"`unset {twice[0].upper()}`, or make both the same",
        )
        return
    if bad := [name for name, value in given.items() if name.lower() != "no_proxy" and not _is_address(value)]:
        yield Finding(
            id="network.proxy",
            level=Level.PROBLEM,
            summary=f"{bad[0]} is no address of a proxy: {_shown(bad[0], given[bad[0]])}",
            detail=shown,
            hint=f"write it as `{bad[0]}=http://host:port`",
        )
        return
    names = {name.lower() for name in given}
    if "http_proxy" in names and not names & {"https_proxy", "all_proxy"}:
        yield Finding(
            id="network.proxy",
            level=Level.NOTE,
            summary="a proxy is set for http:// only, and indexes are https://",
            detail=shown,
            hint="set HTTPS_PROXY as well if this host needs a proxy",
        )
        return
    yield Finding(id="network.proxy", level=Level.OK, summary=f"proxies: {shown}")


def _differ(given: Mapping[str, str], name: str) -> bool:
    return name in given and name.upper() in given and given[name] != given[name.upper()]


def _shown(name: str, value: str) -> str:
    return value if name.lower() == "no_proxy" else hide(value)


def _is_address(value: str) -> bool:
    """Tell whether a value is `scheme://host:port`, or the same without the scheme, as the clients take it."""
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        return bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def judge_engine_proxies(host: Mapping[str, str], engine: Mapping[str, str]) -> Iterator[Finding]:
    """Compare the engine's own proxies with this host's: images are pulled by the engine."""
    needed = [name for name, value in host.items() if value and name.lower() in ("https_proxy", "all_proxy")]
    if engine:
        shown = ", ".join(f"{name}={_shown(_snake(name), value)}" for name, value in sorted(engine.items()))
        yield Finding(id="network.engine-proxy", level=Level.OK, summary=f"the engine's proxies: {shown}")
    elif needed:
        yield Finding(
            id="network.engine-proxy",
            level=Level.NOTE,
            summary=f"{needed[0]} is set here, and the engine has no proxy: it pulls images without one",
            hint='set "proxies" in /etc/docker/daemon.json (Docker 23), or HTTPS_PROXY in its systemd unit',
        )


def _snake(name: str) -> str:
    return "no_proxy" if name == "NoProxy" else name


def judge_certificates(seen: BundleSeen) -> Iterator[Finding]:
    """Judge the bundle, and variables that lead nowhere: on these the HTTP library fails before it asks."""
    for variable, path in seen.missing.items():
        yield Finding(
            id=f"network.certificates.{variable}",
            level=Level.PROBLEM,
            summary=f"{variable} names {path}, which is not there",
            hint=f"correct it, or `unset {variable}`",
        )
    if seen.path is None:
        yield Finding(
            id="network.certificates",
            level=Level.PROBLEM,
            summary="no certificates of authorities were found: no index with https:// can be trusted",
            hint="install the package ca-certificates, or set ORCHESTRATOR_CA_BUNDLE",
        )
        return
    named = f"from {seen.variable}" if seen.variable else "the system's"
    if seen.trouble:
        yield Finding(
            id="network.certificates",
            level=Level.PROBLEM,
            summary=f"the certificates in {seen.path} ({named}) cannot be used: {seen.trouble}",
            hint="name a readable file with certificates in PEM form in ORCHESTRATOR_CA_BUNDLE",
        )
    else:
        yield Finding(id="network.certificates", level=Level.OK, summary=f"certificates: {seen.path} ({named})")
