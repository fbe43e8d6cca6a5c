"""Which images of ours the engine has, what they hold, and when they were last used."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, ImageNotFound

from orchestrator.execute.port import Held
from orchestrator.images.engine import tags
from orchestrator.images.labels import (
    BASE_LABEL,
    PARENT_LABEL,
    PLATFORM_LABEL,
    STEP_LABEL,
    TOOL,
    TOOL_LABEL,
    wheels_of,
)

if TYPE_CHECKING:
    from orchestrator.images.engine import Engine

_CONFLICT = 409
_LAYER = "orchestrator/layer"
_BASE = "orchestrator/base"
BOOTSTRAPPED = "orchestrator/bootstrap"
RECIPE = "orchestrator/recipe"


class Inventory:
    """The layers and prepared bases in the engine, of whichever run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def held(self) -> dict[str, Held]:
        """Return every layer and base, by key; the size of each is what it adds to what it stands on."""
        found = {image["Labels"][STEP_LABEL]: image for image in self._images()}
        return {key: self._held(key, image, found) for key, image in found.items()}

    def touch(self, key: str) -> None:
        """Note that a layer was used just now."""
        # The engine keeps the time of the last tag: a mark that every program on this engine shares.
        try:
            self._engine.api.tag(reference(key), _LAYER, _short(key))
        except ImageNotFound:
            return

    def discard(self, key: str) -> bool:
        """Remove a layer or a base, unless others stand on it or a container uses it; tell whether it is gone."""
        images = self._images()
        if any(_stands_on(image["Labels"], key) for image in images):
            return False
        removed = [self._remove(_name(i["Labels"])) for i in images if i["Labels"][STEP_LABEL] == key]
        gone = all(removed)
        bases = {image["Labels"][STEP_LABEL] for image in images if not _is_layer(image["Labels"])}
        if bases == {key} and gone:
            # What bases are made of goes with the last of them; it is made again when one is needed.
            for made in (RECIPE, BOOTSTRAPPED):
                for image in self._engine.api.images(made):
                    for tag in tags(image):
                        self._remove(tag)
        return gone

    def _remove(self, name: str) -> bool:
        try:
            self._engine.api.remove_image(name)
        except ImageNotFound:
            return True
        except APIError as error:
            if error.status_code != _CONFLICT:
                raise
            return False
        return True

    def _images(self) -> list[dict[str, Any]]:
        """Return what bears its own name; a dangling image may inherit the labels of the one it was built on."""
        # One label only: Podman 4.3 finds nothing that has two.
        images = self._engine.api.images(filters={"label": [STEP_LABEL]})
        ours = [image for image in images if image["Labels"].get(TOOL_LABEL) == TOOL]
        return [image for image in ours if _name(image["Labels"]) in tags(image)]

    def _held(self, key: str, image: dict[str, Any], found: dict[str, dict[str, Any]]) -> Held:
        labels = image["Labels"]
        parent = labels.get(PARENT_LABEL) or None
        below = found.get((parent or labels.get(BASE_LABEL, "")) if _is_layer(labels) else "")
        return Held(
            key=key,
            parent=parent,
            base=labels.get(BASE_LABEL, ""),
            platform=labels.get(PLATFORM_LABEL, ""),
            wheels=wheels_of(labels),
            size=max(0, int(image["Size"]) - (int(below["Size"]) if below else 0)),
            used=self._used(image),
        )

    def _used(self, image: dict[str, Any]) -> datetime:
        made = datetime.fromtimestamp(image["Created"], UTC)
        inspected = self._engine.image(image["Id"]) or {}
        tagged = (inspected.get("Metadata") or {}).get("LastTagTime") or ""
        try:
            moment = datetime.fromisoformat(tagged)
        except ValueError:
            return made
        return max(made, moment.astimezone(UTC))


def reference(key: str) -> str:
    """Return what the engine calls the image of a step."""
    return f"{_LAYER}:{_short(key)}"


def base_reference(digest: str) -> str:
    """Return what the engine calls a prepared base."""
    return f"{_BASE}:{_short(digest)}"


def _short(key: str) -> str:
    return key[:24]


def _name(labels: dict[str, str]) -> str:
    return reference(labels[STEP_LABEL]) if _is_layer(labels) else base_reference(labels[STEP_LABEL])


def _is_layer(labels: dict[str, str]) -> bool:
    return labels.get(BASE_LABEL) != labels[STEP_LABEL]


def _stands_on(labels: dict[str, str], key: str) -> bool:
    return labels[STEP_LABEL] != key and key in (labels.get(PARENT_LABEL), labels.get(BASE_LABEL))
