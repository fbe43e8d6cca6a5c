from orchestrator.images.aptsources import DEFAULT_MIRROR, Source, deb822, mirror, one_line

DEBIAN = """\
# modernised
Types: deb deb-src
# commented: in the middle
URIs: http://mirror.example/debian/
Suites: bookworm
 bookworm-updates
Components: main
 contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""


def test_deb822():
    first, second = deb822(DEBIAN)
    assert first == Source("http://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main", "contrib"))
    assert second == Source("http://mirror.example/debian-security", ("bookworm-security",), ("main",))


def test_one_line():
    text = (
        "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ bookworm main non-free # fast\n"
        "# deb http://off.example/debian bookworm main\n"
        "deb-src http://off.example/debian bookworm main\n"
        "nonsense\n"
    )
    assert list(one_line(text)) == [Source("https://mirror.example/debian", ("bookworm",), ("main", "non-free"))]


def test_the_hosts_own_mirror(tmp_path):
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "debian.sources").write_text(DEBIAN, encoding="utf-8")
    assert mirror("bookworm", tmp_path) == "http://mirror.example/debian"
    assert mirror("trixie", tmp_path) == "http://mirror.example/debian"


def test_a_mirror_that_has_the_suite_goes_before_others(tmp_path):
    (tmp_path / "sources.list").write_text(
        "deb http://one.example/debian trixie main\ndeb http://two.example/debian bookworm main\n",
        encoding="utf-8",
    )
    assert mirror("bookworm", tmp_path) == "http://two.example/debian"


def test_other_archives_are_no_mirror(tmp_path):
    (tmp_path / "sources.list").write_text(
        "deb http://archive.example/ubuntu noble main\n"
        "deb https://vendor.example/apt bookworm main\n"
        "deb https://vendor.example/linux/debian bookworm stable\n"
        "deb cdrom:[Debian]/debian bookworm main\n"
        "deb http://mirror.example/debian-security bookworm-security main\n",
        encoding="utf-8",
    )
    assert mirror("bookworm", tmp_path) == DEFAULT_MIRROR


def test_no_sources_at_all(tmp_path):
    assert mirror("bookworm", tmp_path / "nothing") == DEFAULT_MIRROR
