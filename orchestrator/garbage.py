"""When cycles are looked for."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage in cycles meanwhile, nor later among what is made here: it is values, which have none.

    The collector looks through all that is alive each time that it has grown by a quarter, which takes a fifth of
    the time in which a million results are read and judged.
    """
    if not gc.isenabled():  # an outer one sees to it
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
