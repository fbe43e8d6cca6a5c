from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.report.scopes import Definition, Imported, Scope, read

if TYPE_CHECKING:
    from pathlib import Path

TEXT = '''
"""A docstring."""
import os.path
from . import near
from math import floor as down

# Above it.
CONSTANT = down(1.5)

@pytest.fixture(name="given", autouse=True)
def _made(base, *, other=CONSTANT):
    local = [x for x in range(other)]
    import json
    return helper(local, os.sep)

class Holder:
    limit = CONSTANT

    def method(self, named):
        return self.limit

helper(CONSTANT)
'''


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    path = tmp_path / "it.py"
    path.write_text(TEXT, encoding="utf-8")
    return read(path)


def defined(scope: Scope, name: str) -> Definition:
    (found,) = (one for one in scope.definitions if name in one.names)
    return found


def test_imports(scope: Scope) -> None:
    assert scope.imports == (
        Imported(module="os.path", attribute=None, name="os"),
        Imported(module="", attribute="near", name="near", level=1),
        Imported(module="math", attribute="floor", name="down"),
    )
    assert [one.statement for one in scope.imports] == [
        "import os.path",
        "from . import near",
        "from math import floor as down",
    ]
    assert Imported(module="a.b", attribute=None, name="c").statement == "import a.b as c"


def test_a_definition_has_its_text_and_what_it_needs(scope: Scope) -> None:
    constant, fixture = defined(scope, "CONSTANT"), defined(scope, "_made")
    assert constant.text == "# Above it.\nCONSTANT = down(1.5)"
    assert constant.needs == {"down"}
    assert not constant.block
    assert fixture.text.startswith('@pytest.fixture(name="given", autouse=True)\ndef _made')
    assert fixture.needs == {"pytest", "CONSTANT", "range", "helper", "os"}
    assert fixture.asks == {"base", "other"}
    assert (fixture.fixture, fixture.autouse, fixture.block) == ("given", True, True)
    assert [one.module for one in fixture.imports] == ["json"]
    assert scope.giving("given") is fixture
    assert scope.giving("_made") is None


def test_a_class_needs_what_its_methods_do(scope: Scope) -> None:
    holder = defined(scope, "Holder")
    assert holder.needs == {"CONSTANT"}
    assert {"self", "named"} <= holder.asks


def test_what_is_done_with_a_name_goes_with_it(scope: Scope) -> None:
    assert [one.text for one in scope.defining("CONSTANT")] == [
        "# Above it.\nCONSTANT = down(1.5)",
        "helper(CONSTANT)",
    ]
    assert scope.defining("nothing") == ()
