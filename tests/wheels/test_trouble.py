import pytest

from orchestrator.wheels.trouble import complaint, is_certificate, is_disk, is_transient, readable

TLS = """\
error: Failed to download `numpy @ https://index.example/numpy.whl`
  Caused by: Failed to fetch: `https://index.example/numpy.whl`
  Caused by: Request failed after 3 retries
  Caused by: error sending request for url (https://index.example/numpy.whl)
  Caused by: client error (Connect)
  Caused by: invalid peer certificate: UnknownIssuer
"""


@pytest.mark.parametrize(
    "said",
    [
        "error sending request for url (https://index.example/x)\n  Caused by: client error (Connect)",
        "dns error: failed to lookup address information: Temporary failure in name resolution",
        "  Caused by: tcp connect error: Connection refused (os error 111)",
        "HTTP status server error (503 Service Unavailable) for url (https://index.example/x)",
        "HTTP status client error (429 Too Many Requests) for url (https://index.example/x)",
        "  Caused by: error decoding response body\n  Caused by: unexpected EOF during chunk size line",
        "  Caused by: operation timed out",
        'Get "https://registry.example/v2/": net/http: TLS handshake timeout',
        'Get "https://registry.example/v2/": dial tcp 10.0.0.1:443: i/o timeout',
    ],
)
def test_what_a_retry_may_cure(said):
    assert is_transient(said)


@pytest.mark.parametrize(
    "said",
    [
        "HTTP status client error (404 Not Found) for url (https://index.example/x)",
        "\N{MULTIPLICATION SIGN} No solution found when resolving dependencies",
        "ERROR: No matching distribution found for torch==99",
        "Hash mismatch for `thing @ file:///thing.whl`",
        "write /opt/venv/x: no space left on device",
        "thing-1.0-py3-none-any.whl is not compatible with the current Python 3.11",
        TLS,
        "",
    ],
)
def test_what_no_retry_cures(said):
    assert not is_transient(said)


def test_certificates():
    assert is_certificate(TLS)
    assert is_certificate("x509: certificate signed by unknown authority")
    assert not is_certificate("error sending request for url (https://certificate.example/)")


def test_disk():
    assert is_disk("OSError: [Errno 28] No space left on device")
    assert not is_disk("HTTP status client error (404 Not Found)")


def test_complaint_is_the_installers_own():
    assert complaint("Resolved 3 packages\n" + TLS).startswith("Failed to download `numpy @")
    assert complaint(TLS).endswith("client error (Connect): invalid peer certificate: UnknownIssuer")


def test_complaint_in_buildkit_dress():
    text = (
        "#7 [3/3] RUN uv\n#7 0.512 error: Failed to install\n#7 0.512   Caused by: Hash mismatch\n"
        "#7 ERROR: exit code 1"
    )
    assert complaint(text) == "Failed to install: Hash mismatch"


def test_complaint_as_uv_words_it_now():
    text = (
        "error: Failed to read `thing`\n  cause: Hash mismatch for `thing`\n\n         Expected:\n"
        "           sha256:00\n"
    )
    assert complaint(text) == "Failed to read `thing`: Hash mismatch for `thing`"


def test_no_complaint():
    assert complaint("Step 1/5 : ARG BASE\nkilled") is None


def test_complaint_of_an_engine_that_cannot_run_an_instruction():
    reason = "failed to create endpoint x on network bridge"
    text = f"#6 ERROR: no\n------\nexecutor failed running [/bin/sh -c a]: {reason}"
    assert complaint(text) == reason
    assert is_transient(text)
    assert complaint("executor failed running [/bin/sh -c a]: exit code: 2") is None


def test_what_builders_print_around_the_output_is_left_out():
    printed = """\
#6 [3/3] RUN cd /tmp/build
#6 0.412 error: Failed to download `thing==1.0`
#6 0.413   Caused by: it is gone
#6 ERROR: executor failed running [/bin/sh -c cd /tmp/build]: exit code: 2
------
 > [3/3] RUN cd /tmp/build:
------
executor failed running [/bin/sh -c cd /tmp/build]: exit code: 2
"""
    assert readable(printed).splitlines() == [
        "[3/3] RUN cd /tmp/build",
        "error: Failed to download `thing==1.0`",
        "Caused by: it is gone",
    ]
