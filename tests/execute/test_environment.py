from orchestrator.execute.environment import probe_environment, user_environment
from orchestrator.model import Device


def test_fixed_and_own():
    got = probe_environment(Device.CPU, {"ANSWER": "42", "OMP_NUM_THREADS": "1"})
    assert got["ANSWER"] == "42"
    assert got["OMP_NUM_THREADS"] == "1"
    assert got["PYTHONUNBUFFERED"] == "1"
    assert "PJRT_DEVICE" not in got


def test_nothing_of_the_hosts(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    assert "hush" not in str(probe_environment(Device.CPU, {}) | user_environment("/home"))


def test_xla_computes_on_the_cpu_unless_told_otherwise():
    assert probe_environment(Device.XLA, {})["PJRT_DEVICE"] == "CPU"
    assert probe_environment(Device.XLA, {"PJRT_DEVICE": "TPU"})["PJRT_DEVICE"] == "TPU"
