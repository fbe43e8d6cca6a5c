"""The part of the format about packages: how they are called, and where their versions come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from orchestrator.config import fields

DeviceName = Literal["cpu", "xpu", "cuda", "xla"]
Indexes = Annotated[list[fields.IndexName], Field(min_length=1)]


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Section(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=_kebab, allow_inf_nan=False
    )


class Finer(Section):
    """Versions that lie between two releases."""

    git: fields.GitRepository | None = Field(
        default=None,
        description="The repository that has the commits between two releases: an https URL, or the path of a"
        " local one, relative to this file.",
    )
    build_requires: list[fields.RequirementText] = Field(
        default=[],
        description="What building a commit needs and its project does not declare, as requirements like `torch`.",
    )
    build_environment: dict[fields.Variable, fields.VariableValue] = Field(
        default={}, description="Environment variables of the builds of commits. Not for secrets."
    )
    nightlies: dict[DeviceName, Indexes] | None = Field(
        default=None,
        min_length=1,
        description="Per device, the indexes that serve dated development builds: names from `indexes`.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Finer:
        if self.git is None and self.nightlies is None:
            raise PydanticCustomError("rules", "names no source: add `git` or `nightlies`")
        return self


class Package(Section):
    """A package under test. The key is the name used everywhere else in this file."""

    distribution: fields.Distribution | None = Field(
        default=None, description="Its name on the index. Default: the key."
    )
    module: fields.Module | None = Field(
        default=None,
        alias="import",
        description="The module to import. Default: the key, with `-` as `_`.",
    )
    repository: fields.Repository | None = Field(
        default=None, description="Its repository (https); links to compare two releases start from it."
    )
    tag: fields.Tag = Field(
        default="v{version}",
        description="How a release is tagged: `{version}` is the version, `{public}` the same without `+local`.",
    )
    indexes: dict[DeviceName, Indexes] = Field(
        default={},
        description="Per device, the indexes to ask, in order: names from `indexes`, or `default`.",
    )
    versions: Finer | None = Field(
        default=None, description="Where versions between two releases come from: commits and nightly builds."
    )
