"""One probe with all that it leans on, as a single file that pytest runs anywhere."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from orchestrator.report.scopes import Definition, Imported, Scope, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MARKS = "pytestmark"
_CONFTEST = "conftest.py"


def probe_source(path: Path, nodeid: str) -> str:
    """Return the source of one probe with the imports, constants, helpers and fixtures that it uses.

    Args:
        path: The file of the probe.
        nodeid: As pytest calls it, `test_dot.py::test_half`; its file part says where the probes' directory is.

    Raises:
        OSError: a file cannot be read.
        ValueError: there is no such probe, or it leans on something that one file cannot hold: a neighbour that
            is imported as a whole or while the probe runs, or one name that means two things.
    """
    file, *names = nodeid.partition("[")[0].split("::")
    parts = PurePosixPath(file).parts
    if not names or path.parts[-len(parts) :] != parts:
        raise ValueError(f"{nodeid!r} is no probe of {path.name}")
    gathered = _Gathered(path, path.parents[len(parts) - 1])
    gathered.add_probe(names[0])
    return gathered.text()


class _Gathered:
    """What was found to be needed so far, by file."""

    def __init__(self, path: Path, root: Path) -> None:
        self._root = root
        self._scopes: dict[Path, Scope] = {}
        self._needed: dict[Path, set[Definition]] = {}
        self._imports: dict[str, None] = {}
        self._aliases: dict[Path, dict[str, None]] = {}
        self._leans: dict[Path, set[Path]] = {}
        self._owners: dict[str, tuple[Path, str]] = {}
        self._probe = self._scope(path)
        directories = [one for one in path.parents if one == root or root in one.parents]
        conftests = [one / _CONFTEST for one in directories if (one / _CONFTEST).is_file()]
        # Where pytest looks for a fixture: in the file, then in each conftest.py upwards.
        self._chain = [self._probe, *(self._scope(one) for one in conftests)]
        for above, below in zip(self._chain[1:], self._chain, strict=False):
            self._leans[below.path].add(above.path)

    def add_probe(self, name: str) -> None:
        """Take a test function or class, and what pytest would do around it."""
        found = self._probe.defining(name)
        if not any(one.block and name in one.names for one in found):
            raise ValueError(f"{self._probe.path.name} has no probe {name}")
        for definition in (*found, *self._probe.defining(_MARKS)):
            self._add(self._probe, definition)
            self._add_fixtures(definition)
        for scope in self._chain:
            for definition in scope.definitions:
                if definition.autouse:
                    self._add(scope, definition)

    def text(self) -> str:
        """Return the file: imports first, and everything before what leans on it."""
        try:
            order = tuple(TopologicalSorter(self._leans).static_order())
        except CycleError:
            raise ValueError(f"{self._probe.path.name}: the files that it leans on import each other") from None
        later = [one for one in self._imports if not one.startswith("from __future__")]
        first = [one for one in self._imports if one not in later]
        blocks = ["\n".join([*first, *_sorted_imports(later)])]
        for path in order:
            blocks += ["\n".join(self._aliases.get(path, ()))]
            blocks += _joined([one for one in self._scopes[path].definitions if one in self._needed[path]])
        return "\n\n\n".join(filter(None, blocks)) + "\n"

    def _scope(self, path: Path) -> Scope:
        if path not in self._scopes:
            self._scopes[path] = read(path)
            self._needed[path] = set()
            self._leans[path] = set()
            future = [one for one in self._scopes[path].imports if one.module == "__future__"]
            self._imports |= dict.fromkeys(one.statement for one in future)
        return self._scopes[path]

    def _add(self, scope: Scope, definition: Definition) -> None:
        if definition in self._needed[scope.path]:
            return
        self._needed[scope.path].add(definition)
        for name in definition.names:
            self._own(name, scope, "")
        for one in definition.imports:
            if self._neighbour(scope, one) is not None:
                raise ValueError(f"{scope.path.name} imports {one.module or one.name} while the probe runs")
        for name in sorted(definition.needs):
            self._add_name(scope, name)
        if definition.fixture is not None:
            self._add_fixtures(definition)

    def _add_name(self, scope: Scope, name: str) -> None:
        for definition in scope.defining(name):
            self._add(scope, definition)
        for one in scope.imports:
            if one.name in (name, "*"):
                self._add_import(scope, one)

    def _add_import(self, scope: Scope, one: Imported) -> None:
        neighbour = self._neighbour(scope, one)
        if neighbour is None:
            self._own(one.name, scope, one.statement)
            self._imports[one.statement] = None
            return
        if one.attribute in (None, "*") or neighbour.stem == one.attribute:
            raise ValueError(f"{scope.path.name} imports {one.module or one.name} as a whole: name what it uses")
        other = self._scope(neighbour)
        self._leans[scope.path].add(neighbour)
        self._add_name(other, str(one.attribute))
        if one.name != one.attribute:
            self._own(one.name, scope, one.statement)
            self._aliases.setdefault(scope.path, {})[f"{one.name} = {one.attribute}"] = None

    def _add_fixtures(self, definition: Definition) -> None:
        """Take the fixtures that a test or fixture asks for; those that no file here has are pytest's own."""
        for name in sorted(definition.asks):
            for scope in self._chain:
                found = scope.giving(name)
                if found is definition:
                    continue  # it extends the one above it, which has the same name
                if found is not None:
                    self._add(scope, found)
                    break
                if any(one.name == name for one in scope.imports):
                    self._add_name(scope, name)
                    break

    def _neighbour(self, scope: Scope, one: Imported) -> Path | None:
        """Return the file among the probes that an import reads, if it reads one."""
        here = scope.path.parent
        upwards = [path for path in (here, *here.parents) if path == self._root or self._root in path.parents]
        places = [scope.path.parents[one.level - 1]] if one.level else upwards
        parts = one.module.split(".") if one.module else []
        for place in places:
            target = place.joinpath(*parts)
            submodule = target / f"{one.attribute}.py"
            files = (submodule, target.with_suffix(".py"), target / "__init__.py")
            found = next((file for file in files if file.is_file()), None)
            if found is not None:
                return found
        return None

    def _own(self, name: str, scope: Scope, statement: str) -> None:
        """Note whose a name is; an import of the same thing by two files is one."""
        path, earlier = self._owners.setdefault(name, (scope.path, statement))
        if earlier != statement or (not statement and path != scope.path):
            raise ValueError(f"{name} means one thing in {path.name} and another in {scope.path.name}")


def _joined(definitions: Sequence[Definition]) -> Iterator[str]:
    """Return blocks for which two blank lines set functions apart, and constants stand together."""
    constants: list[str] = []
    for one in definitions:
        if not one.block:
            constants.append(one.text)
            continue
        if constants:
            yield "\n".join(constants)
            constants = []
        yield one.text
    if constants:
        yield "\n".join(constants)


def _sorted_imports(statements: Sequence[str]) -> list[str]:
    return sorted(statements, key=lambda one: (one.startswith("from "), one))
