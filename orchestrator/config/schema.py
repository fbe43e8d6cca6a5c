"""The format of `matrix.yaml`, version 1: every key with its description.

Editors show the descriptions, by way of the JSON Schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from orchestrator.config import fields, quantities
from orchestrator.config.devices import Devices
from orchestrator.config.packages import DeviceName, Package, Section

if TYPE_CHECKING:
    from orchestrator.versions import SpecifierSet, Version

FORMAT = 1
"""The version of the format that is read here."""


class Base(Section):
    """What lies below cells of one Python."""

    python: fields.Python | None = Field(
        default=None, description="Its Python, where the base has a name of its own, like `3.12`."
    )
    image: fields.Image = Field(description="The image to start from, e.g. `python:3.11-slim`; a digest pins it.")
    debian: fields.Debian | None = Field(
        default=None,
        description="The Debian suite whose python3 is this Python: the base where no registry answers.",
    )
    dockerfile: fields.Dockerfile | None = Field(
        default=None,
        description="A Dockerfile, of the directory of Dockerfiles, that is built on the image first: a driver.",
    )
    arguments: dict[fields.Argument, fields.VariableValue] = Field(
        default={}, description="Build arguments of `dockerfile`. Not for secrets."
    )


class Images(Section):
    """How images are made and shared."""

    dockerfiles: fields.Directory = Field(
        default="images", description="Directory of the Dockerfiles, relative to this file."
    )
    registry: fields.Registry | None = Field(
        default=None,
        description="Where layers are shared, as `host:port/name`: pulled before they are built, pushed after.",
    )


class Limits(Section):
    """What one cell may use. Beyond it, it is stopped."""

    probe_timeout: quantities.Duration = Field(
        default="2m", validate_default=True, description="How long one probe may take."
    )
    build_timeout: quantities.Duration = Field(
        default="30m", validate_default=True, description="How long one layer or environment may take to build."
    )
    memory: quantities.Size = Field(default="8GiB", validate_default=True, description="Memory of one cell.")
    shm: quantities.Size = Field(default="1GiB", validate_default=True, description="Size of /dev/shm.")
    disk: quantities.Size = Field(
        default="45GB",
        validate_default=True,
        description="Disk that all images and environments may take together.",
    )
    wheels: quantities.Size = Field(
        default="8GB", validate_default=True, description="Disk that the cache of downloaded wheels may take."
    )
    pids: int = Field(default=512, gt=0, le=4_194_304, description="Processes and threads of one cell.")


def _form(value: object) -> str | None:
    match value:
        case list():
            return "(list)"
        case str():
            return "(specifier)"
        case dict():
            return "(mapping)"
    return None


Listed = Annotated[list[fields.ExactVersion], Field(min_length=1)]


class Range(Section):
    """Versions of an axis, with options."""

    versions: Annotated[
        Annotated[Listed, Tag("(list)")] | Annotated[fields.Specifier, Tag("(specifier)")],
        Discriminator(
            _form, custom_error_type="form", custom_error_message="must be a list of versions or a specifier"
        ),
    ] = Field(description="A list of versions, or a specifier: every release on the index that meets it.")
    patches: Literal["newest", "all"] = Field(
        default="newest",
        description="With a specifier: only the newest patch release of every minor release, or all of them.",
    )
    prereleases: bool = Field(default=False, description="With a specifier: take pre-releases too.")
    yanked: bool = Field(default=False, description="With a specifier: take yanked releases too.")


AxisVersions = Annotated[
    Annotated[Listed, Tag("(list)")]
    | Annotated[fields.Specifier, Tag("(specifier)")]
    | Annotated[Range, Tag("(mapping)")],
    Discriminator(
        _form,
        custom_error_type="form",
        custom_error_message="must be a list of versions, a specifier, or a mapping with `versions`",
    ),
]


class Axes(Section):
    """What varies: Python, and packages by name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[fields.PackageName, AxisVersions]

    python: Annotated[list[fields.Python], Field(min_length=1)] | None = Field(
        default=None,
        description="The Pythons, each one of `bases`. Default: that of `base`, else of the first base.",
    )

    @property
    def packages(self) -> dict[str, list[Version] | SpecifierSet | Range]:
        """The axes that are packages, in order."""
        return self.__pydantic_extra__


class Companion(Section):
    """How the version of a package follows an axis: by `pairs`, `ranges` or `same`."""

    follows: fields.PackageReference = Field(description="The axis it follows.")
    pairs: dict[fields.VersionKey, fields.Specifier] | None = Field(
        default=None,
        min_length=1,
        description="Version of the axis to version (or specifier) of the companion.",
    )
    ranges: dict[fields.SpecifierKey, fields.Specifier] | None = Field(
        default=None,
        min_length=1,
        description="Specifier on the axis to version (or specifier) of the companion; the first match wins.",
    )
    same: Literal["minor"] | None = Field(
        default=None,
        description="`minor`: X.Y.Z of the axis needs X.Y.* of the companion; `pairs` or `ranges` are exceptions.",
    )

    @model_validator(mode="after")
    def _one_rule(self) -> Companion:
        if self.pairs is not None and self.ranges is not None:
            raise PydanticCustomError("rules", "has both `pairs` and `ranges`: keep one")
        if self.pairs is None and self.ranges is None and self.same is None:
            raise PydanticCustomError("rules", "has no rule: add `pairs`, `ranges` or `same: minor`")
        return self


class Exclusion(Section):
    """Cells that are not run: those for which every condition holds."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, fields.Specifier]

    reason: fields.Text = Field(description="Why; shown wherever the cells would be.")

    @property
    def where(self) -> dict[str, SpecifierSet]:
        """The conditions: axis to versions."""
        return self.__pydantic_extra__


class Prebuilt(Section):
    """An image that has what some cells need already: those for which every condition holds."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, fields.Specifier]

    image: fields.Image = Field(description="The image; a digest pins it. Its own Python and packages are used.")

    @property
    def where(self) -> dict[str, SpecifierSet]:
        """The conditions: axis to versions."""
        return self.__pydantic_extra__


class Stack(Section):
    """A small matrix: a device, its axes, and the rules that tie packages together."""

    device: DeviceName = Field(description="What the probes compute on; chooses the indexes and the passthrough.")
    note: fields.Text | None = Field(default=None, description="A sentence for people, shown with the stack.")
    base: fields.BaseName | None = Field(
        default=None, description="One of `bases`, below all its cells. Default: the base of each cell's Python."
    )
    prebuilt: list[Prebuilt] = Field(
        default=[],
        description="Images that have the packages of some cells already: conditions per axis, and the image.",
    )
    axes: Axes = Field(description="What varies: `python`, and packages by name.")
    companions: dict[fields.PackageName, Companion] = Field(
        default={}, description="Packages whose version follows an axis."
    )
    requirements: list[fields.RequirementText] = Field(
        default=[], description="What else every cell installs, as requirements like `numpy<3`; no URLs, no paths."
    )
    exclude: list[Exclusion] = Field(
        default=[], description="Cells that are not run: conditions per axis, and the reason."
    )
    include: list[dict[str, fields.ExactVersion]] = Field(
        default=[], description="Cells to add: one version for every axis."
    )
    resolution: fields.Resolution = Field(
        default="as-of-release",
        description="How everything that is not pinned is chosen: as it was when the newest pinned release came"
        " out (`as-of-release`), as it is now (`latest`), or as it was on a date (at the end of that day, UTC).",
    )
    runner: Annotated[list[fields.RunnerLabel], Field(min_length=1, max_length=20)] = Field(
        default=["ubuntu-latest"], description="The labels of the CI runners that can run its cells, all of them."
    )
    job_timeout: quantities.Duration | None = Field(
        default=None, description="How long a CI job with its cells may take. Default: worked out from `limits`."
    )


class Threshold(Section):
    """A recorded number that decides, instead of the probe's own assertion."""

    metric: fields.Metric = Field(description="The name under which the probe records the number.")
    above: float = Field(description="The version is bad where the number is above this.")


class Issue(Section):
    """An upstream problem and the probes that show it. The key is its id."""

    title: fields.Text = Field(description="What is wrong, in the words of the upstream issue.")
    link: fields.Link | None = Field(default=None, description="Where it is discussed (http or https).")
    probes: Annotated[list[fields.NodeId], Field(min_length=1)] = Field(
        description="The probes that show it: `file.py::test` or `file.py::Class::test`."
    )
    subject: dict[fields.Name, fields.PackageReference] = Field(
        min_length=1, description="Stack to the axis along which the issue is followed there."
    )
    expect: Literal["ok", "affected"] | None = Field(
        default=None, description="The state expected at the newest version; another one is reported."
    )
    shows: fields.Excerpt | None = Field(
        default=None, description="Text that a failure must contain to count; another failure is an error."
    )
    threshold: Threshold | None = Field(default=None, description="Judge by a number that the probe records.")
    absent: Literal["bad", "unknown"] = Field(
        default="unknown", description="What a version means that lacks the API that the probe needs."
    )
    timeout: Literal["bad", "unknown"] = Field(
        default="bad", description="What a probe means that takes too long."
    )


class File(Section):
    """Upstream issues, the probes that show them, and the releases to run them on."""

    version: int = Field(ge=FORMAT, description="The version of this format.", json_schema_extra={"const": FORMAT})
    probes: fields.Directory = Field(
        default="probes", description="Directory of the probes, relative to this file."
    )
    images: Images = Field(default=Images(), description="The Dockerfiles, and where layers are shared.")
    indexes: dict[fields.IndexName, fields.IndexUrl] = Field(
        default={},
        description="Package indexes by name (https, http or file). `default` is not declared: it is the index"
        " that the installer uses when told nothing.",
    )
    bases: dict[fields.BaseName, Base] = Field(
        min_length=1, description="The base of every Python, like `3.11`, and bases that stacks name."
    )
    limits: Limits = Field(default=Limits(), description="What one cell may use.")
    devices: Devices = Field(default=Devices(), description="Which GPUs of a host are used, and how.")
    packages: dict[fields.PackageName, Package] = Field(description="The packages under test.", min_length=1)
    stacks: dict[fields.Name, Stack] = Field(description="The matrices to run.", min_length=1)
    issues: dict[fields.Name, Issue] = Field(default={}, description="The issues to follow.")
    environment: dict[fields.Variable, fields.VariableValue] = Field(
        default={}, description="Environment variables of all probes. Not for secrets."
    )
