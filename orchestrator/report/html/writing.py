"""A page as text: its template, its style and its script, and the policy that allows nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orchestrator.report import words
from orchestrator.report.clean import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestrator.report.html.page import Page

_HOME = "orchestrator.report.html"
_SCRIPTS = ("data", "filters", "panel", "opening", "grids", "start")
"""The parts of the script in their order."""

_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""What could end a script block, or a line of one."""


def written(page: Page) -> str:
    """Return a page as an HTML document. Text longer than `words.LONGEST` is cut, whatever it is."""
    style, script = _asset("page.css"), _script()
    text: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - idem
            policy=policy(style, script),
            data=Markup(as_script(page.data)),  # noqa: S704 - escaped there
        )
    )
    return text + "\n"


def policy(style: str, script: str) -> str:
    """Return the content security policy: one style, one script, images of data, and nothing from anywhere."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def as_script(value: Mapping[str, Any]) -> str:
    """Return JSON that stays inside the script element it is written into."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _script() -> str:
    """Return the script: its parts in one block, so that nothing of it is seen outside."""
    return '"use strict";\n{\n' + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS) + "}\n"


def _asset(name: str) -> str:
    return (files(_HOME) / "templates" / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(_HOME),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_bounded,
    )


def _bounded(value: object) -> object:
    """Cut text of others; an address is no text, and is marked so in the template."""
    return shorten(value, words.LONGEST) if type(value) is str else value
