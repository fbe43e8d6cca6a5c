"""Bytes to plain values with the place of each: a small, predictable subset of YAML.

Scalars follow the YAML 1.2 core schema, plus yes/no/on/off, which most readers of YAML take for booleans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from orchestrator.config.places import Keys, MalformedError, Mark, Problem, shown

if TYPE_CHECKING:
    from pathlib import Path

MAX_SIZE = 256 * 1024
"""Largest file that is read, in bytes."""

MAX_DEPTH = 16
"""Deepest nesting that is followed; the format needs 8."""

_TRUE = frozenset({"true", "yes", "on"})
_ADVICE = {
    r"found character '\t' that cannot start any token": "a tab cannot indent or separate here: use spaces",
    "mapping values are not allowed here": "a ':' that cannot be here: quote the text, or check the indentation",
    "but found another document": "a second document: remove this '---'",
    "could not find expected ':'": "a key without ':'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as plain values. The maps tell where each value and key stands and how each scalar is written."""

    value: object
    values: Mapping[Keys, Mark]
    keys: Mapping[Keys, Mark]
    sources: Mapping[Keys, str]
    problems: tuple[Problem, ...]
    """What is wrong with the YAML and does not hinder reading on."""

    def __contains__(self, keys: Keys) -> bool:
        return keys in self.values

    def names(self, *keys: str) -> tuple[str, ...]:
        """Return the keys of the mapping at a place, in order; none where there is no mapping."""
        value = self.value
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return tuple(value) if isinstance(value, dict) else ()

    def mark(self, keys: Keys) -> Mark:
        """Return where a value starts, or else the nearest value around it."""
        while keys not in self.values:
            keys = keys[:-1]
        return self.values[keys]

    def key_mark(self, keys: Keys) -> Mark:
        """Return where a key stands; for what has no key, where its value starts."""
        return self.keys.get(keys) or self.mark(keys)


def read(path: Path) -> bytes:
    """Read a file, within bounds.

    Raises:
        MalformedError: it is not there, cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SIZE + 1)
    except FileNotFoundError:
        raise MalformedError("there is no such file") from None
    except IsADirectoryError:
        raise MalformedError("this is a directory: name the file in it") from None
    except OSError as error:
        raise MalformedError(f"cannot be read: {error.strerror or error}") from None
    except ValueError:  # a NUL byte in the path
        raise MalformedError("this is not a file name") from None
    if len(data) > MAX_SIZE:
        raise MalformedError(f"larger than {MAX_SIZE // 1024} KiB: this is no matrix")
    return data


def parse(data: bytes) -> Document:
    """Read YAML: one document, no tags, anchors, aliases or merge keys.

    Raises:
        MalformedError: it is not such YAML, or nested too deeply.
    """
    text = _decode(data)
    try:
        node = _Composer(text).get_single_node()
    except yaml.reader.ReaderError as error:
        message = f"a control character, U+{ord(text[error.position]):04X}"
        raise MalformedError(message, mark=_mark_at(text, error.position)) from None
    except yaml.MarkedYAMLError as error:
        raise _malformed(error) from None
    except (ValueError, OverflowError):
        # PyYAML lets these out of chr() and int(), for \U escapes and %YAML directives, without a place.
        raise MalformedError(r"not valid YAML: a number too large, in a \U escape or a directive") from None
    if node is None:
        raise MalformedError("empty: start with `version: 1`", mark=Mark(line=1, column=1))
    walk = _Walk()
    value = walk.value(node, ())
    return Document(
        value=value, values=walk.values, keys=walk.keys, sources=walk.sources, problems=tuple(walk.problems)
    )


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        utf16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = "not UTF-8" + (" but UTF-16" if utf16 else f" (byte 0x{data[error.start]:02x})")
        raise MalformedError(f"{message}: save the file as UTF-8", mark=_mark_at(before, len(before))) from None


def _mark_at(text: str, position: int) -> Mark:
    before = text[:position]
    return Mark(line=before.count("\n") + 1, column=position - before.rfind("\n"))


def _mark(mark: yaml.Mark) -> Mark:
    return Mark(line=mark.line + 1, column=mark.column + 1)


def _malformed(error: yaml.MarkedYAMLError) -> MalformedError:
    problem = error.problem or error.context or "unreadable"
    mark = error.problem_mark or error.context_mark
    message = _ADVICE.get(problem)
    if message is None:
        message = f"not valid YAML: {problem[:200]}"
        if error.context and error.context_mark and mark and _mark(error.context_mark) != _mark(mark):
            message += f" ({error.context} from {_mark(error.context_mark)})"
    return MalformedError(message, mark=_mark(mark) if mark else None)


class _Composer(yaml.SafeLoader):
    """Text to nodes, in pure Python, so that a depth can be counted and nothing is constructed."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own way to replace the YAML 1.1 ones

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = _mark(event.start_mark)
        if event.anchor is not None:
            what = "aliases" if isinstance(event, yaml.AliasEvent) else "anchors"
            message = f"{what} are not allowed, like {shown(event.anchor)} here: write the value out"
            raise MalformedError(message, mark=mark)
        if event.tag is not None:
            raise MalformedError(f"tags are not allowed, like {shown(event.tag)} here", mark=mark)
        if self._depth == MAX_DEPTH:
            raise MalformedError(f"nested more than {MAX_DEPTH} deep", mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _resolve(kind: str, pattern: str, first: str) -> None:
    _Composer.add_implicit_resolver(
        f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"), list(first) or [""]
    )


_resolve("null", r"~|null|Null|NULL", "~nN")
_resolve("null", r"", "")
_resolve("bool", r"(?i:true|false|yes|no|on|off)", "tTfFyYnNoO")
# Numbers with more digits are text: nothing in the format needs them, and int() is quadratic.
_resolve("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", "+-0123456789")
_resolve("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "+-.0123456789")
_resolve("float", r"[-+]?[0-9]+[eE][-+]?[0-9]+", "+-0123456789")


@dataclass(slots=True)
class _Walk:
    """Nodes to values, noting the places."""

    values: dict[Keys, Mark] = field(default_factory=dict)
    keys: dict[Keys, Mark] = field(default_factory=dict)
    sources: dict[Keys, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def value(self, node: yaml.Node, at: Keys) -> object:
        """Return the value of a node."""
        self.values[at] = _mark(node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*at, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, at)

    def _scalar(self, node: yaml.Node, at: Keys) -> object:
        self.sources[at] = node.value
        value = scalar(node)
        if value is None:
            message = "there is no value: write one, or remove the key" if at else "empty: start with `version: 1`"
            self.problems.append(Problem(message=message, mark=self.values[at], keys=at))
        return value

    def _mapping(self, node: yaml.MappingNode, at: Keys) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key, value in node.value:
            mark = _mark(key.start_mark)
            if not isinstance(key, yaml.ScalarNode):
                raise MalformedError("a list or a mapping cannot be a key", mark=mark)
            name = key.value
            if name == "<<" and key.style is None:
                raise MalformedError("merge keys (<<) are not allowed: write the values out", mark=mark)
            here = (*at, name)
            if name in mapping:
                message = f"{shown(name)} is here twice, first at {self.keys[here]}"
                self.problems.append(Problem(message=message, mark=mark, keys=here))
                continue
            self.keys[here] = mark
            if not isinstance(meant := scalar(key), str):
                message = f"keys must be strings: {misread(name, meant)}"
                self.problems.append(Problem(message=message, mark=mark, keys=here))
            mapping[name] = self.value(value, here)
        return mapping


def scalar(node: yaml.Node) -> str | float | bool | None:
    """Return what a scalar means."""
    match node.tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return node.value.lower() in _TRUE
        case "int":
            return int(node.value)
        case "float":
            return float(node.value)
    return str(node.value)


def misread(source: str, value: object) -> str:
    """Tell how to write a scalar that YAML does not read as text."""
    if isinstance(value, bool | None):
        meant = "nothing" if value is None else str(value).lower()
    else:
        meant = f"the number {value}"
    return f"write {shown(source)} (unquoted, YAML reads it as {meant})"
