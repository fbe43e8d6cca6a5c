from hypothesis import given
from hypothesis import strategies as st

from orchestrator.execute.console import Console


def test_short_output_is_kept_as_it_is(tmp_path):
    console = Console(tmp_path / "log", head=10, tail=10)
    console.write(b"abc")
    assert (tmp_path / "log").read_bytes() == b"abc", "seen while it runs"
    console.write(b"\xff\x1b[1m")
    assert console.close() == "abc\ufffd\x1b[1m"
    assert (tmp_path / "log").read_bytes() == b"abc\xff\x1b[1m"


def test_the_middle_goes(tmp_path):
    console = Console(tmp_path / "log", head=4, tail=4)
    for byte in b"0123456789abcdef":
        console.write(bytes([byte]))
    assert console.close() == "0123\n[... 8 bytes left out ...]\ncdef"


def test_late_readers_are_ignored(tmp_path):
    console = Console(tmp_path / "log")
    console.write(b"on time")
    assert console.close() == "on time"
    console.write(b"late")
    assert console.close() == "on time"


@given(st.lists(st.binary(max_size=40)))
def test_head_and_tail_are_those_of_the_whole(tmp_path_factory, pieces):
    path = tmp_path_factory.getbasetemp() / "property-log"
    console = Console(path, head=16, tail=8)
    for piece in pieces:
        console.write(piece)
    console.close()
    whole, kept = b"".join(pieces), path.read_bytes()
    if len(whole) <= 24:
        assert kept == whole
    else:
        assert kept.startswith(whole[:16])
        assert kept.endswith(whole[-8:])
        assert b"[... %d bytes left out ...]" % (len(whole) - 24) in kept
