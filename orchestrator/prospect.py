"""What a run would build for some cells, without running anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.errors import NothingSelectedError
from orchestrator.execute.port import Plan
from orchestrator.matrix import Selection, expand, select
from orchestrator.model import LockedCell, Unresolvable
from orchestrator.resolve import axis_versions

if TYPE_CHECKING:
    from orchestrator.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """The selected cells that can be built here, why the others cannot, and the plan over all candidates."""

    selected: tuple[LockedCell, ...]
    locked: tuple[LockedCell, ...]
    """All candidates, the selected ones among them."""
    impossible: dict[str, str]
    """Selected cells that cannot be built here: id to the reason."""
    plan: Plan


def prospect(shop: Workshop, selection: Selection) -> Prospect:
    """Resolve the selected cells and all others that may share layers with them, and plan them together.

    Raises:
        NothingSelectedError: no cell is selected, or none of those can be built here.
    """
    everything = expand(shop.matrix, axis_versions(shop.matrix, shop.resolver.pages))
    chosen = select(shop.matrix, everything, selection)
    impossible = {cell.id: why for cell in chosen if (why := shop.devices.missing(cell.device)) is not None}
    here = [cell for cell in chosen if cell.id not in impossible]
    shop.observer.phase(f"resolving {len(here)} cells")
    answers = shop.resolve(here)
    selected = tuple(one for one in answers if isinstance(one, LockedCell))
    impossible |= {one.cell.id: one.reason for one in answers if isinstance(one, Unresolvable)}
    if not selected:
        first = next(iter(impossible.items()), None)
        why = f"none of the {len(chosen)} selected cells can be built here" if first else "no cell is selected"
        hint = f"{first[0]}: {first[1]}" if first else "`orchestrator list --all` shows every cell and why"
        raise NothingSelectedError(why, hint=hint)
    locked = shop.lock_candidates(everything, answers)
    return Prospect(selected=selected, locked=locked, impossible=impossible, plan=shop.plan(locked))
