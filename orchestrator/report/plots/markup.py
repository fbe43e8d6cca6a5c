"""What matplotlib writes as SVG, made small, safe to put into a page with others, and light or dark."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from orchestrator.report.plots.palette import DARK, LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FONTS = "system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif"

_ROLES = {colour: role for role, colour in LIGHT.items()}
_PAINTS = ("fill", "stroke")
_KEPT = (
    *_PAINTS, "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-size",
    "font-weight", "text-anchor",
)  # fmt: skip
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_HREF = "{http://www.w3.org/1999/xlink}href"
# matplotlib before 3.10 writes the font in one word.
_FONT = re.compile(r"(?:(?P<weight>\w+) )?(?P<size>[\d.]+)px ")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = "".join(
    [
        "@media screen and (prefers-color-scheme:dark){",
        *(f".metric-plot .{paint[0]}-{role}{{{paint}:{DARK[role]}}}" for role in LIGHT for paint in _PAINTS),
        "}",
    ]
)
"""The same in every plot. Without it, and where it is not understood, plots are light."""


def finished(
    written: bytes, title: str, alt: str, said: Mapping[str, tuple[str, ...]], restored: Mapping[int, str]
) -> str:
    """Return the drawing as one SVG element that describes itself.

    Args:
        written: What matplotlib wrote.
        title: The name of the plot.
        alt: What is seen, in a sentence.
        said: By the id of a group of markers, what each of them says where it is pointed at.
        restored: Characters that stand in for others, to those.
    """
    root = ET.fromstring(written)  # noqa: S314 - what matplotlib wrote
    width, height = (root.get(name, "").removesuffix("pt") for name in ("width", "height"))
    for group, texts in said.items():
        markers = root.findall(f".//*[@id='{group}']//{{*}}use")
        for marker, text in zip(markers, texts, strict=True):
            ET.SubElement(marker, "title").text = _legal(text)
    names = {name: f"p{hashlib.sha256(written).hexdigest()[:8]}-{n}" for n, name in enumerate(_referenced(root))}
    content = [child for element in root for child in _rebuilt(element, names, restored)]
    drawn = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "metric-plot",
            "viewBox": f"0 0 {_rounded(width)} {_rounded(height)}",
            "width": _rounded(width),
            "height": _rounded(height),
            "role": "img",
            "aria-label": _legal(alt),
            "font-family": FONTS,
            "stroke-linejoin": "round",
        },
    )
    ET.SubElement(drawn, "title").text = _legal(title)
    ET.SubElement(drawn, "desc").text = _legal(alt)
    ET.SubElement(drawn, "style").text = STYLE
    drawn.extend(content)
    return ET.tostring(drawn, encoding="unicode") + "\n"


def _referenced(root: ET.Element) -> list[str]:
    targets = [element.get(_HREF, "").removeprefix("#") for element in root.iter()]
    return list(dict.fromkeys(filter(None, targets)))


def _rebuilt(element: ET.Element, names: Mapping[str, str], restored: Mapping[int, str]) -> Iterator[ET.Element]:
    """Yield an element in its plain form, or what is in it where it is a group that says nothing."""
    kind = element.tag.rpartition("}")[2]
    if kind in ("metadata", "style"):
        return
    children = [one for child in element for one in _rebuilt(child, names, restored)]
    attributes = dict(_attributes(element, names))
    if (kind == "g" and not attributes) or (kind in ("g", "defs") and not children):
        yield from children
        return
    if kind == "defs":
        # A marker takes its paint from where it is used, where the style sheet reaches it.
        for name in ("class", *_PAINTS):
            for child in children:
                child.attrib.pop(name, None)
    plain = ET.Element(kind, attributes)
    plain.text = (element.text or "").translate(dict(restored)) if kind in ("text", "title") else None
    plain.extend(children)
    yield plain


def _attributes(element: ET.Element, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in element.items():
        if name == "id":
            if value in names:
                yield "id", names[value]
        elif name == "style":
            yield from _style(value)
        elif name == _HREF:
            yield "href", f"#{names[value.removeprefix('#')]}"
        elif name == "transform":
            if not value.startswith("rotate(-0 "):
                yield name, _DECIMALS.sub(lambda found: _rounded(found[0]), value)
        else:
            yield name, _DECIMALS.sub(lambda found: _rounded(found[0]), value).replace(" \n", " ").strip()


def _style(text: str) -> Iterator[tuple[str, str]]:
    """Yield declarations as attributes, which no content security policy of a page forbids."""
    roles = []
    for declaration in text.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (font := _FONT.match(value)):
            yield "font-size", font["size"]
            if font["weight"]:
                yield "font-weight", font["weight"]
        elif name in _KEPT:
            yield name, value.removesuffix("px")
            if name in _PAINTS and value in _ROLES:
                roles.append(f"{name[0]}-{_ROLES[value]}")
    if roles:
        yield "class", " ".join(roles)


def _rounded(number: str) -> str:
    return f"{float(number):.2f}".rstrip("0").rstrip(".")


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
