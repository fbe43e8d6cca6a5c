"""Fields that are written as one string: what it may look like, and what it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic_core import PydanticCustomError, core_schema

from orchestrator.config.places import shown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

T = TypeVar("T")

NOT_TEXT = "not_text"
"""The type of the error for a value that is no string."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # hashable, as annotations must be
class Scalar(Generic[T]):
    """Annotates a field that is written as a string and read with `parse`; `schema` describes it to editors."""

    parse: Callable[[str], T]
    schema: Mapping[str, object] = field(default_factory=dict)
    wanted: str = "must be a string"
    longest: int = 200

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "string", **self.schema}

    def validate(self, value: object) -> T:
        """Return what the string becomes.

        Raises:
            PydanticCustomError: it is no string.
            ValueError: it is not as it must be.
        """
        if not isinstance(value, str):
            raise PydanticCustomError(NOT_TEXT, "{wanted}", {"wanted": self.wanted})
        if len(value) > self.longest:
            raise ValueError(f"longer than {self.longest} characters")
        return self.parse(value)


def matching(pattern: str, name: str, *, wanted: str = "must be a string") -> Scalar[str]:
    """Return a string that matches a pattern as a whole; `name` says what that is."""
    compiled = re.compile(pattern)

    def parse(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"{shown(text)} is not {name}")
        return text

    return Scalar(parse=parse, schema={"pattern": f"^{pattern}$"}, wanted=wanted)


def unchanged(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Return a reader that checks a string and keeps it as it is written, for keys of mappings."""

    def check(text: str) -> str:
        parse(text)
        return text

    return check
