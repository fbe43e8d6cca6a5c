"""A report as a real matrix gives it: the issues and versions are real, the locks are cut down."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from orchestrator.model import (
    Axis,
    Cell,
    Companion,
    Device,
    Distribution,
    Fingerprint,
    Issue,
    Judgement,
    Limits,
    Lock,
    Matrix,
    Origin,
    Outcome,
    Package,
    Provenance,
    Report,
    Stack,
    State,
    Threshold,
    Verdict,
)
from orchestrator.pinpoint import Measured, answer
from orchestrator.versions import SpecifierSet, Version, exactly

TORCH = ("2.0.1", "2.1.0", "2.1.2", "2.2.0", "2.5.1", "2.6.0", "2.7.1", "2.8.0")
TORCHAO = ("0.3.1", "0.5.0", "0.9.0", "0.10.0", "0.11.0", "0.13.0", "0.17.0", "0.18.0")
XLA = ("2.5.1", "2.6.0", "2.6.1", "2.7.0")
IPEX = ("2.1.10+xpu", "2.1.20+xpu", "2.1.30+xpu", "2.3.110+xpu")
TORCH_XPU = ("2.6.0+xpu", "2.7.1+xpu", "2.8.0+xpu")

GIT = {"2.1.2": "a8e7c98cb95ff97bb30a728c6b2a1ce6bff946eb", "2.2.0": "8ac9b20d4b090c213799e81acf48a55ea8d437d6"}

SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (53x2048 and 53x2048)"
NAN = "AssertionError: values not finite: fraction 0.25"


def good(**metrics: float) -> Judgement:
    return Judgement(outcome=Outcome.PASS, verdict=Verdict.GOOD, metrics=metrics)


def bad(signature: str, outcome: Outcome = Outcome.FAIL, **metrics: float) -> Judgement:
    lines = [
        "    def test_it():",
        "        left = right = made()",
        ">       assert left @ right",
        "",
        f"E   {signature}",
    ]
    return Judgement(
        outcome=outcome, verdict=Verdict.BAD, signature=signature, metrics=metrics, message="\n".join(lines)
    )


def unknown(outcome: Outcome, signature: str | None = None) -> Judgement:
    return Judgement(outcome=outcome, verdict=Verdict.UNKNOWN, signature=signature)


def stack(name: str, device: Device, package: str, versions: tuple[str, ...], **more: object) -> Stack:
    axes = (Axis(package=package, versions=tuple(map(Version, versions))),)
    return Stack(name=name, device=device, axes=axes, **{"python": ("3.11",), **more})  # type: ignore[arg-type]


STACKS = (
    stack("torch-cpu", Device.CPU, "torch", TORCH),
    stack(
        "torchao-cpu",
        Device.CPU,
        "torchao",
        TORCHAO,
        companions=(
            Companion(
                package="torch",
                follows="torchao",
                rules=(
                    (SpecifierSet("<0.13"), SpecifierSet("==2.5.1")),
                    (SpecifierSet(">=0.13"), SpecifierSet("==2.8.0")),
                ),
            ),
        ),
    ),
    stack(
        "xla-cpu",
        Device.XLA,
        "torch_xla",
        XLA,
        python=("3.10", "3.11"),
        companions=(Companion(package="torch", follows="torch_xla", same_minor=True),),
    ),
    stack(
        "ipex-xpu",
        Device.XPU,
        "ipex",
        IPEX,
        note="Intel Extension for PyTorch is archived upstream; 2.8.10+xpu is its last binary release.",
    ),
    stack("torch-xpu", Device.XPU, "torch", TORCH_XPU),
)


def issue(name: str, title: str, link: str, subjects: dict[str, str], expect: State | None = None) -> Issue:
    probe = f"test_{name.partition('-')[0]}.py::test_{name.replace('-', '_')}"
    threshold = Threshold(metric="mae", above=1e-4) if name == "torch-no-grad" else None
    return Issue(
        id=name, title=title, link=link, probes=(probe,), subjects=subjects, expect=expect, threshold=threshold
    )


GITHUB = "https://github.com"
ISSUES = (
    issue(
        "torch-qconv-pointwise",
        "onednn::qconv_pointwise is missing on XPU",
        f"{GITHUB}/pytorch/pytorch/issues/151011",
        {"torch-cpu": "torch", "torch-xpu": "torch"},
    ),
    issue(
        "torch-dot-half",
        "\"dot\" not implemented for 'Half'",
        f"{GITHUB}/intel/intel-extension-for-pytorch/issues/673",
        {"torch-cpu": "torch", "ipex-xpu": "ipex"},
        State.OK,
    ),
    issue(
        "torch-no-grad",
        "Different results under no_grad",
        f"{GITHUB}/intel/intel-extension-for-pytorch/issues/597",
        {"torch-cpu": "torch", "ipex-xpu": "ipex"},
        State.OK,
    ),
    issue(
        "torchao-aqt-matmul",
        "Matmul of a transposed AffineQuantizedTensor",
        f"{GITHUB}/pytorch/ao/issues/2069",
        {"torchao-cpu": "torchao"},
        State.OK,
    ),
    issue(
        "torchao-aqt-matmul-values",
        "Its values, silently wrong",
        f"{GITHUB}/pytorch/ao/issues/2069",
        {"torchao-cpu": "torchao"},
        State.OK,
    ),
    issue(
        "xla-einsum-autocast",
        "Einsum is not in the list for autocast",
        f"{GITHUB}/pytorch/xla/issues/8405",
        {"xla-cpu": "torch_xla"},
        State.OK,
    ),
    issue(
        "torch-weights-only",
        "torch.load refuses what it loaded before",
        f"{GITHUB}/pytorch/pytorch/issues/65960",
        {"torch-cpu": "torch"},
    ),
)

MATRIX = Matrix(
    path=Path("matrix.yaml"),
    probes=Path("probes"),
    images=Path("images"),
    packages={
        "torch": Package(
            name="torch",
            distribution="torch",
            module="torch",
            repository=f"{GITHUB}/pytorch/pytorch",
            tag="v{public}",
        ),
        "torchao": Package(
            name="torchao", distribution="torchao", module="torchao", repository=f"{GITHUB}/pytorch/ao"
        ),
        "torch_xla": Package(
            name="torch_xla", distribution="torch_xla", module="torch_xla", repository=f"{GITHUB}/pytorch/xla"
        ),
        "ipex": Package(
            name="ipex", distribution="intel-extension-for-pytorch", module="intel_extension_for_pytorch"
        ),
    },
    indexes={},
    stacks={one.name: one for one in STACKS},
    issues={one.id: one for one in ISSUES},
    bases={},
    limits=Limits(),
)


def lock(python: str, **versions: str) -> Lock:
    wheels = (
        Distribution(
            name=name.replace("_", "-"), version=Version(version), url="", sha256=version, size=1, index="default"
        )
        for name, version in sorted(versions.items())
    )
    return Lock(python=python, platform="linux", as_of=None, distributions=tuple(wheels))


def cell(stack: Stack, version: str, python: str, **requires: SpecifierSet) -> Cell:
    package = stack.axes[0].package
    return Cell(
        id=f"{stack.name}-py{python}-{package}{version}".replace("+", "-"),
        stack=stack.name,
        device=stack.device,
        python=python,
        versions={package: Version(version)},
        requires={package: exactly(Version(version)), **requires},
    )


def torch_cell(version: str) -> Measured:
    qconv = unknown(Outcome.ABSENT, "onednn::qconv_pointwise") if version < "2.8" else good()
    dot = bad("RuntimeError: \"dot\" not implemented for 'Half'") if version < "2.2" else good(mae=0.0)
    crash = bad("SIGSEGV in multi_head_attention", Outcome.CRASH) if version == "2.1.0" else bad(NAN, mae=0.4312)
    return Measured(
        cell=cell(STACKS[0], version, "3.11"),
        lock=lock(
            "3.11",
            torch=version,
            numpy="1.26.4" if version < "2.5" else "2.2.6",
            **({"filelock": "3.13.1"} if version == "2.1.2" else {"filelock": "3.16.0"}),
            **({} if version < "2.2" else {"sympy": "1.13.1"}),
            **{f"nvidia-part{part}": version for part in range(5)},
        ),
        git_versions={"torch": GIT.get(version)},
        judgements={
            "torch-qconv-pointwise": qconv,
            "torch-dot-half": dot,
            "torch-no-grad": crash if version < "2.1.2" else good(mae=3.7346e-06),
            "torch-weights-only": good()
            if version < "2.6"
            else bad("UnpicklingError: Weights only load failed. | `torch.load` @pytorch"),
        },
    )


def torchao_cell(version: str) -> Measured:
    parsed = Version(version)
    torch = "2.5.1" if parsed < Version("0.13") else "2.8.0"
    made = cell(STACKS[1], version, "3.11", torch=exactly(Version(torch)))
    names = ("torchao-aqt-matmul", "torchao-aqt-matmul-values")
    if version == "0.3.1":
        judgements = dict.fromkeys(names, unknown(Outcome.INCOMPATIBLE))
        reason = "torchao: ImportError: cannot import name 'do_bench' from 'torch._inductor.runtime.runtime_utils'"
        return Measured(cell=made, judgements=judgements, reason=reason)
    runs = bad(SHAPES) if parsed < Version("0.11") else good()
    values = bad(SHAPES) if parsed < Version("0.11") else bad("values differ: mean abs error 20.08", mae=20.08)
    if version == "0.18.0":
        runs = values = unknown(Outcome.ABSENT, "torchao.dtypes.to_affine_quantized_intx")
    return Measured(
        cell=made,
        lock=lock("3.11", torchao=version, torch=torch, numpy="2.2.6"),
        git_versions={"torchao": None},
        judgements=dict(zip(names, (runs, values), strict=True)),
    )


def xla_cell(version: str, python: str) -> Measured:
    made = cell(STACKS[2], version, python, torch=SpecifierSet(f"=={version[:3]}.*"))
    if version == "2.6.0":
        return Measured(
            cell=made,
            judgements={"xla-einsum-autocast": unknown(Outcome.BUILD_FAILED)},
            reason="No space left on device (os error 28) while installing torch 2.6.0",
        )
    judged = bad("einsum under autocast is torch.float32") if version < "2.6" else good()
    torch = {"2.5.1": "2.5.1", "2.6.1": "2.6.0", "2.7.0": "2.7.1"}[version]
    return Measured(
        cell=made,
        lock=lock(python, torch_xla=version, torch=torch, numpy="2.2.6"),
        judgements={"xla-einsum-autocast": judged},
    )


def idle_cells(stack: Stack, *issues: str) -> list[Measured]:
    judgements = dict.fromkeys(issues, unknown(Outcome.NO_DEVICE))
    versions = stack.axes[0].versions
    return [Measured(cell=cell(stack, str(version), "3.11"), judgements=judgements) for version in versions]  # type: ignore[union-attr]


def attempted(measured: Measured, number: int) -> Measured:
    """Return a cell with the attempt that measured it, if one did."""
    if measured.lock is None:
        return measured
    on = Fingerprint(device="Intel(R) Xeon(R) Processor", driver=None, system="Linux 6.1.0 x86_64")
    origin = Origin(
        attempt=f"{measured.cell.id}-{number:08x}",
        runtime="docker",
        base="sha256:4f6e0a8c",
        started=datetime(2026, 11, 20, 9, 30 + number // 4, tzinfo=UTC),
        duration=12.5,
        fingerprint=on,
    )
    judgements = {
        name: structs.replace(one, attempt=origin.attempt, duration=0.25)
        for name, one in measured.judgements.items()
    }
    return replace(measured, origin=origin, judgements=judgements)


@pytest.fixture
def report() -> Report:
    measured = [
        *map(torch_cell, TORCH),
        *map(torchao_cell, TORCHAO),
        *(xla_cell(version, python) for python in ("3.10", "3.11") for version in XLA),
        *idle_cells(STACKS[3], "torch-dot-half", "torch-no-grad"),
        *idle_cells(STACKS[4], "torch-qconv-pointwise"),
    ]
    provenance = Provenance(
        tool="matrix-orchestrator 0.1.0",
        matrix="5b1c7f0e9ad2",
        started=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
        runtime="docker 20.10.24",
        host="Linux x86_64",
    )
    measured = [attempted(one, number) for number, one in enumerate(measured)]
    return answer(MATRIX, measured, provenance, ["limits: disk quota is not enforced by this engine"])
