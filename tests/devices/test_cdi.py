import json

import pytest

from orchestrator.devices import CdiUnusableError, Passthrough, spec_directories, through_cdi

NODE = "/dev/dri/renderD129"
GIVEN = Passthrough(
    nodes=((NODE, NODE),),
    groups=(992,),
    directories=(("/dev/dri/by-path", "/dev/dri/by-path"),),
    environment={"ZE_AFFINITY_MASK": "0.1"},
    by_cdi=(NODE,),
)

INTEL = """
cdiVersion: 0.5.0
kind: intel.com/gpu
devices:
- name: card0
  containerEdits:
    deviceNodes:
    - {path: /dev/dri/card0, type: c}
    - {path: /dev/dri/renderD128, type: c}
- name: card1
  containerEdits:
    deviceNodes:
    - path: /dev/dri/card1
    - path: /dev/dri/renderD129
      hostPath: /dev/dri/renderD129
- name: all
  containerEdits:
    deviceNodes: [{path: /dev/dri/renderD128}, {path: /dev/dri/renderD129}, {path: /dev/dri/card1}]
"""


def test_the_narrowest_device_that_has_the_node(tmp_path):
    (tmp_path / "intel.yaml").write_text(INTEL)
    found = through_cdi(GIVEN, [tmp_path / "none", tmp_path])
    assert found.cdi == ("intel.com/gpu=card1",)
    # The specification brings nodes and directories; the group and what is meant by a tile it does not know.
    assert (found.nodes, found.directories, found.by_cdi) == ((), (), ())
    assert (found.groups, found.environment) == ((992,), {"ZE_AFFINITY_MASK": "0.1"})


def test_a_specification_in_json(tmp_path):
    edits = {"deviceNodes": [{"path": "/dev/nvidia0"}]}
    spec = {"kind": "nvidia.com/gpu", "devices": [{"name": "0", "containerEdits": edits}]}
    (tmp_path / "nvidia.json").write_text(json.dumps(spec))
    given = Passthrough(gpus=("GPU-1",), by_cdi=("/dev/nvidia0",))
    assert through_cdi(given, [tmp_path]) == Passthrough(cdi=("nvidia.com/gpu=0",))


def test_a_node_that_no_specification_has(tmp_path):
    (tmp_path / "intel.yaml").write_text(INTEL.replace("renderD129", "renderD130"))
    with pytest.raises(CdiUnusableError, match=r"no CDI device in .* has /dev/dri/renderD129: generate"):
        through_cdi(GIVEN, [tmp_path])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "kind: a",
        "{",
        "devices: 1",
        "devices: [1, {name: a}, {name: b, containerEdits: {deviceNodes: 7}}]",
    ],
)
def test_a_specification_that_is_none(tmp_path, text):
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.txt").write_text(INTEL)
    with pytest.raises(CdiUnusableError):
        through_cdi(GIVEN, [tmp_path])


def test_what_an_engine_says_of_itself():
    assert [str(path) for path in spec_directories({"CDISpecDirs": ["/etc/cdi", "/var/run/cdi"]})] == [
        "/etc/cdi",
        "/var/run/cdi",
    ]
    with pytest.raises(CdiUnusableError, match=r"version 20\.10\.24\) does not know CDI"):
        spec_directories({"ServerVersion": "20.10.24"})
    for off in ([], None):
        with pytest.raises(CdiUnusableError, match=r"switched off .* daemon\.json"):
            spec_directories({"ServerVersion": "27.0.1", "CDISpecDirs": off})
