from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import load, schema
from orchestrator.config.schema import Limits as LimitsSection
from orchestrator.model import Limits

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/matrix.md").read_text()


def sections() -> list[tuple[str, dict[str, Any]]]:
    whole = schema()
    return [("top", whole), *whole["$defs"].items()]


def properties() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (section, name, described)
        for section, node in sections()
        for name, described in node.get("properties", {}).items()
    ]


def test_shipped_schema_is_the_generated_one() -> None:
    # To update it: orchestrator schema > docs/reference/matrix.schema.json
    assert json.loads((ROOT / "docs/reference/matrix.schema.json").read_text()) == schema()


@pytest.mark.parametrize(("section", "name", "described"), properties())
def test_every_key_is_described_and_in_the_reference(section: str, name: str, described: dict[str, Any]) -> None:
    assert described["description"].endswith("."), section
    assert f"`{name}`" in REFERENCE, section


def test_only_names_chosen_by_the_author_are_free() -> None:
    closed = {section for section, node in sections() if node.get("additionalProperties") is False}
    objects = {section for section, node in sections() if node["type"] == "object"}
    assert objects - closed == {"Axes", "Exclusion", "Prebuilt"}


def test_default_limits_are_those_of_the_model() -> None:
    assert Limits(**LimitsSection().model_dump()) == Limits()


def test_example_of_the_reference_loads(tmp_path: Path) -> None:
    example = next(block for block in REFERENCE.split("```yaml\n") if block.startswith("version: 1")).split("```")[
        0
    ]
    (tmp_path / "matrix.yaml").write_text(example)
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes/test_sum.py").write_text("def test_sum(): ...\n")
    assert load(tmp_path / "matrix.yaml").issues
