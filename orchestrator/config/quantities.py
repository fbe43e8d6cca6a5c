"""Durations and sizes: written with a unit, read as seconds and bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic_core import core_schema

from orchestrator.config.places import shown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_BYTES: dict[str, int] = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T"), start=1)},
    **{unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti"), start=1)},
}
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_DURATION = re.compile(rf"({_NUMBER}) ?([smh])")
_AGES = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(rf"({_NUMBER}) ?([mhdw])")
_SIZE = re.compile(rf"({_NUMBER}) ?([kMGT]i?)?B")

LONGEST_DURATION = 7 * 24 * 3600
LARGEST_SIZE = 1024**5
LONGEST_AGE = 5200 * 604_800


def seconds(value: object) -> float:
    """Read `90s`, `5m`, `1h` or a number of seconds.

    Raises:
        ValueError: it is none of these, not positive, or too long.
    """
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        duration = float(match[1]) * _SECONDS[match[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        duration = float(value)
    else:
        raise ValueError(f"{_given(value)} is not a duration: write 90s, 5m, 1h or a number of seconds")
    if not 0 < duration <= LONGEST_DURATION:  # NaN fails too
        raise ValueError(f"{_given(value)} is not between 0 and {LONGEST_DURATION // 3600}h")
    return duration


def size(value: object) -> int:
    """Read `8GB` or `512MiB`.

    Raises:
        ValueError: it is no size, has no unit, is not positive, or is too large.
    """
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        count = math.floor(float(match[1]) * _BYTES[match[2] or ""])
        if not 0 < count <= LARGEST_SIZE:
            raise ValueError(f"{_given(value)} is not between 0 and {LARGEST_SIZE // 1024**4}TiB")
        return count
    raise ValueError(f"{_given(value)} is not a size: write a number with a unit, like 8GB or 512MiB")


def age(value: str) -> float:
    """Read `90m`, `12h`, `7d` or `4w` as seconds.

    Raises:
        ValueError: it is none of these, or too long.
    """
    if match := _AGE.fullmatch(value):
        duration = float(match[1]) * _AGES[match[2]]
        if duration > LONGEST_AGE:  # no calendar goes back for ever
            raise ValueError(f"{_given(value)} is more than {LONGEST_AGE // 604_800}w")
        return duration
    raise ValueError(f"{_given(value)} is not an age: write 90m, 12h, 7d or 4w")


def _given(value: object) -> str:
    if isinstance(value, str):
        return shown(value)
    return "this" if isinstance(value, list | dict | bool | None) else str(value)


@dataclass(frozen=True, slots=True)
class _Seconds:
    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(seconds)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        text = {"type": "string", "pattern": f"^{_DURATION.pattern}$"}
        return {"anyOf": [text, {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_DURATION}]}


@dataclass(frozen=True, slots=True)
class _Bytes:
    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(size)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"type": "string", "pattern": f"^{_SIZE.pattern}$"}


Duration = Annotated[float, _Seconds()]
Size = Annotated[int, _Bytes()]
