from orchestrator.images.certificates import ASKED, Certificates


def test_the_hosts_bundle_is_tried_once_and_remembered(tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates", encoding="ascii")
    monkeypatch.delenv(ASKED, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    certificates = Certificates(tmp_path / "memory")
    assert certificates.bundle is None
    assert certificates.adopt(None) == bundle
    assert certificates.adopt(bundle) is None
    assert Certificates(tmp_path / "memory").bundle == bundle


def test_builds_that_fail_side_by_side_all_try_again(tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates", encoding="ascii")
    monkeypatch.delenv(ASKED, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    certificates = Certificates(tmp_path / "memory")
    assert certificates.adopt(None) == bundle
    assert certificates.adopt(None) == bundle


def test_what_the_user_names_is_used_from_the_start_and_nothing_else(tmp_path, monkeypatch):
    named = tmp_path / "mine.pem"
    monkeypatch.setenv(ASKED, str(named))
    certificates = Certificates(tmp_path / "memory")
    assert certificates.bundle == named
    assert certificates.adopt(named) is None


def test_a_remembered_bundle_that_is_gone_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.delenv(ASKED, raising=False)
    (tmp_path / "memory").write_text(f"{tmp_path / 'gone.pem'}\n", encoding="utf-8")
    assert Certificates(tmp_path / "memory").bundle is None
