import http.server
import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.resolve import IndexUnreachableError, Pages
from orchestrator.resolve.pages import fetch_page
from orchestrator.versions import SpecifierSet
from wheelhouse import Wheelhouse


@contextmanager
def served(status, content_type, body):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


def test_a_json_page_with_upload_times_and_yanked_files():
    files = [
        {"filename": f"engine-{version}-py3-none-any.whl", "url": "x.whl", "hashes": {}, "yanked": yanked,
         "upload-time": moment}
        for version, yanked, moment in (
            ("1.0", False, "2024-01-10T00:00:00Z"),
            ("1.1", "broken", "2024-02-10T00:00:00Z"),
        )
    ]  # fmt: skip
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "engine", "files": files}).encode()
    with served(200, "application/vnd.pypi.simple.v1+json", body) as url:
        page = fetch_page("house", url, "engine")
    assert [(str(r.version), r.uploaded, r.yanked) for r in page.releases] == [
        ("1.0", datetime(2024, 1, 10, tzinfo=UTC), False),
        ("1.1", datetime(2024, 2, 10, tzinfo=UTC), True),
    ]
    newest = page.newest(SpecifierSet(">=1"))
    assert newest is not None
    assert str(newest.version) == "1.0"


@pytest.mark.parametrize("status", [403, 404])
def test_a_project_that_is_not_there_has_no_releases(status):
    with served(status, "text/html", b"") as url:
        assert fetch_page("house", url, "engine").releases == ()


@pytest.mark.parametrize(
    ("status", "content_type", "body"), [(500, "text/html", b""), (200, "application/json", b"{")]
)
def test_an_answer_that_is_none_is_unreachable_and_names_the_index(status, content_type, body):
    with (
        served(status, content_type, body) as url,
        pytest.raises(IndexUnreachableError, match=r"index house .* did not answer"),
    ):
        fetch_page("house", url.replace("//", "//user:secret@"), "engine")


def test_credentials_of_an_index_are_not_shown():
    with served(500, "text/html", b"") as url, pytest.raises(IndexUnreachableError) as caught:
        fetch_page("house", url.replace("//", "//user:canary@"), "engine")
    assert "canary" not in str(caught.value)


def test_a_page_is_kept_for_when_the_index_is_gone(tmp_path):
    house = Wheelhouse(tmp_path / "house")
    house.add("engine", "1.0")
    before = Pages(tmp_path / "cache", {"house": house.url}).page("house", "Engine")
    assert Pages(tmp_path / "cache", {"house": house.url}).page("house", "engine") == before


def test_versions_that_no_index_tells_are_an_error_that_says_why(tmp_path):
    pages = Pages(tmp_path, {"silent": "http://127.0.0.1:9/simple"})
    with pytest.raises(EnvironmentUnusableError, match="versions of engine are not known: index silent"):
        pages.offered(["silent"], "engine")
    assert list(pages.unreachable) == ["silent"]
