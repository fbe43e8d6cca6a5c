from orchestrator.images.buildkit import own_records

NOW = "2024-05-01T12:00:00"


def record(identity, description, *, parent="", created="2024-05-01T12:00:01.5Z", in_use=False):
    return {"ID": identity, "Description": description, "Parent": parent, "CreatedAt": created, "InUse": in_use}


def test_our_chain_and_our_context():
    records = [
        record("from", "from local ", created="2024-04-01T00:00:00Z"),
        record("copy", "fileop target", parent="from"),
        record("run", "mount / from exec /bin/sh -c /opt/uv/uv pip install", parent="copy"),
        record("context", "fileop target"),
        record("sent", "http url http://build-context-abc"),
        record("old", "http url http://build-context-def", created="2024-04-01T00:00:00Z"),
        record("theirs", "mount / from exec /bin/sh -c make", parent="from"),
        record("busy", "mount / from exec /bin/sh -c /opt/uv/uv pip install", in_use=True),
    ]
    assert own_records(records, NOW) == ["run", "copy", "from", "context", "sent"]
