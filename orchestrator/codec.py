"""Values to JSON and back: every stage's values can be written, and read by a later program.

Reading is strict about types and ignores keys it does not know, so that an older program reads a newer file
of the same format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, is_dataclass, make_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, lru_cache, partial
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from orchestrator.versions import SpecifierSet, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from cattrs import Converter

__all__ = ["from_json", "to_json"]

T = TypeVar("T")

# JSON has no words for these; as text they survive every parser.
_NONFINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: object) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return a value as what `json.dumps` writes: objects, arrays, text, numbers, booleans and null."""
    return _converter().unstructure(value)


def from_json(type_: type[T], data: object) -> T:
    """Read a value of a type from parsed JSON.

    Raises:
        ValueError: the data is not such a value; the message names every place that is wrong.
    """
    try:
        return _quickly(type_, data)
    except Exception:  # noqa: BLE001 - whatever it is, the slower reading names the places
        return _explained(type_, data)


def _quickly(type_: type[T], data: object) -> T:
    """Read a value as `from_json` does where it holds nothing unusual: numbers that JSON has no word for are."""
    return msgspec.convert(data, type_, dec_hook=_parsed)


def _parsed(kind: type, data: object) -> object:
    if kind is Version and isinstance(data, str):
        return _version(data)
    if kind in (SpecifierSet, Path) and isinstance(data, str):
        return kind(data)
    raise TypeError(f"needs {_name(kind)}, got {data!r:.60}")


@lru_cache(maxsize=4096)
def _version(text: str) -> Version:
    """Read a version: a report has the same few thousands of times."""
    return Version(text)


def _explained(type_: type[T], data: object) -> T:
    """Read any value, keeping account of where it is in the data: that takes ten times as long."""
    from cattrs import BaseValidationError, transform_error  # noqa: PLC0415 - see _converter

    try:
        return _converter().structure(data, type_)
    except BaseValidationError as group:
        problems = "; ".join(transform_error(group, path="", format_exception=_describe))
        raise ValueError(f"not a valid {_name(type_)}: {problems}") from None
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"not a valid {_name(type_)}: {_describe(error, None)}") from None


@cache
def _converter() -> Converter:
    # Imported late: commands that read and write no values start faster.
    from cattrs import Converter  # noqa: PLC0415
    from cattrs.gen import (  # noqa: PLC0415
        make_dict_structure_fn,
        make_dict_unstructure_fn,
        make_mapping_structure_fn,
    )

    converter = Converter(unstruct_collection_overrides={tuple: list})
    for plain in (str, int, bool):
        converter.register_structure_hook(plain, _exactly(plain))
    # An enum is a subclass of str: without its own hooks it would be taken for text.
    converter.register_structure_hook(StrEnum, _needs(str, lambda data, kind: kind(data)))
    converter.register_unstructure_hook(StrEnum, lambda member: member.value)
    converter.register_structure_hook(float, _to_float)
    converter.register_unstructure_hook(float, _from_float)
    for textual in (Version, SpecifierSet, Path):
        converter.register_structure_hook(textual, _needs(str, lambda data, kind: kind(data)))
        converter.register_unstructure_hook(textual, str)
    converter.register_structure_hook(datetime, _to_datetime)
    converter.register_unstructure_hook(datetime, _from_datetime)
    converter.register_structure_hook_factory(
        is_dataclass, lambda kind: _needs(dict, make_dict_structure_fn(kind, converter))
    )
    converter.register_structure_hook_factory(_is_struct, lambda kind: _to_struct(converter, kind))
    converter.register_unstructure_hook_factory(
        _is_struct, lambda kind: make_dict_unstructure_fn(_twin(kind), converter)
    )
    converter.register_structure_hook_factory(
        lambda kind: _origin(kind) is tuple, lambda kind: _to_tuple(converter, kind)
    )
    converter.register_structure_hook_factory(
        lambda kind: _origin(kind) in (dict, Mapping),
        lambda kind: _needs(dict, make_mapping_structure_fn(kind, converter, structure_to=dict)),
    )
    converter.register_structure_hook_factory(
        lambda kind: _origin(kind) in (Union, UnionType), lambda kind: _to_union(converter, kind)
    )
    return converter


def _exactly(kind: type) -> Callable[[object, object], object]:
    def read(data: object, _: object) -> object:
        # Not isinstance: True is no number here.
        if type(data) is not kind:
            raise TypeError(f"needs {_name(kind)}, got {data!r:.60}")
        return data

    return read


def _needs(kind: type, then: Callable[..., Any]) -> Callable[[object, object], Any]:
    def read(data: object, target: object) -> Any:  # noqa: ANN401
        if not isinstance(data, kind):
            raise TypeError(f"needs {_name(kind)}, got {data!r:.60}")
        return then(data, target)

    return read


def _to_float(data: object, _: object) -> float:
    if isinstance(data, str) and data in _NONFINITE:
        return _NONFINITE[data]
    if type(data) not in (float, int):
        raise TypeError(f"needs a number, got {data!r:.60}")
    return float(data)  # type: ignore[arg-type] # checked above


def _from_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _to_datetime(data: object, _: object) -> datetime:
    if not isinstance(data, str):
        raise TypeError(f"needs a time, got {data!r:.60}")
    moment = datetime.fromisoformat(data)
    if moment.tzinfo is None:
        raise ValueError(f"{data!r} has no time zone")
    return moment.astimezone(UTC)


def _from_datetime(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


@cache
def _twin(kind: type[Struct]) -> type:
    """Return a dataclass with the fields of a struct, which cattrs does not know."""
    return make_dataclass(
        kind.__name__,
        [
            (one.name, one.type, field() if one.required else field(default_factory=partial(_default, one)))
            for one in fields(kind)
        ],
        kw_only=True,
    )


def _default(one: FieldInfo) -> Any:  # noqa: ANN401
    return one.default


def _to_struct(converter: Converter, kind: type[Struct]) -> Callable[[object, object], Struct]:
    twin = _twin(kind)
    read = converter.get_structure_hook(twin)
    return lambda data, _: kind(**vars(read(data, twin)))


def _to_tuple(converter: Converter, kind: Any) -> Callable[[object, object], tuple[Any, ...]]:  # noqa: ANN401
    members = get_args(kind)
    if members[1:] == (...,):
        # By way of a list: its hook says which item is wrong.
        items = list[members[0]]  # type: ignore[valid-type] # a type at run time only
        read = converter.get_structure_hook(items)
        return _needs(list, lambda data, _: tuple(read(data, items)))
    readers = [(converter.get_structure_hook(member), member) for member in members]

    def fixed(data: list[object], _: object) -> tuple[Any, ...]:
        if len(data) != len(readers):
            raise ValueError(f"needs {len(readers)} items, got {len(data)}")
        return tuple([read(item, member) for (read, member), item in zip(readers, data, strict=True)])

    return _needs(list, fixed)


def _to_union(converter: Converter, kind: Any) -> Callable[[object, object], Any]:  # noqa: ANN401
    """Read the first member that fits; members differ in their JSON, or come with the narrower one first."""
    none = type(None)
    members = [member for member in get_args(kind) if member is not none]
    # Exact words before anything that is also written as text.
    members.sort(key=lambda member: _origin(member) is not Literal)
    optional = none in get_args(kind)
    readers = [(converter.get_structure_hook(member), member) for member in members]

    if optional and not members[1:]:
        ((only, member),) = readers
        return lambda data, _: None if data is None else only(data, member)

    def read(data: object, _: object) -> Any:  # noqa: ANN401
        if data is None and optional:
            return None
        for reader, member in readers[:-1]:
            try:
                return reader(data, member)
            except Exception:  # noqa: BLE001, S112 - cattrs raises a bare Exception for a literal; the next member may fit
                continue
        reader, member = readers[-1]
        return reader(data, member)

    return read


def _origin(kind: Any) -> Any:  # noqa: ANN401
    return get_origin(kind)


def _name(kind: Any) -> str:  # noqa: ANN401
    words = {str: "text", int: "a whole number", bool: "true or false", dict: "an object", list: "an array"}
    return words.get(kind) or str(getattr(kind, "__name__", kind))


def _describe(error: BaseException, _: object) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error)
