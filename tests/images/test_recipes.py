from __future__ import annotations

from orchestrator.images.recipes import packages, proxies

STATUS = b"""\
Package: libze1
Status: install ok installed
Architecture: amd64
Version: 1.20.2.0-1098~22.04
Description: loader
 Version: in a text

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: base-files
Status: install ok installed
Architecture: all
Version: 12ubuntu4
"""


def test_what_dpkg_has_installed():
    assert packages(STATUS) == ["base-files=12ubuntu4/all", "libze1=1.20.2.0-1098~22.04/amd64"]
    assert packages(b"\xff\n\nPackage: half\n") == []
    assert packages(None) == []


def test_proxies_of_the_host_without_their_passwords():
    said = []
    given = {
        "http_proxy": "http://proxy.example:3128",
        "HTTPS_PROXY": "http://me:hush@proxy.example",
        "NO_PROXY": "",
        "HOME": "x",
    }
    assert proxies(given, said.append) == {"http_proxy": "http://proxy.example:3128"}
    assert said == ["HTTPS_PROXY has a password and is not passed to the build"]
