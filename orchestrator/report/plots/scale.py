"""Where numbers go along a plot's vertical axis: on a scale that shows them all, or in a row of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DECADES = 3
"""From how many powers of ten a scale is logarithmic."""

_LARGEST = 1e300
"""Beyond this, and below its inverse, the arithmetic of drawing ends; such numbers get a row."""

_EXPONENT = 305
_TICKS = 6

NO_VALUE = "no value"
"""The row of versions where nothing was recorded."""

ABOVE = ("nan", "inf", "> 1e300")
"""Rows over the scale, the uppermost first."""

BELOW = ("≈ 0", "0", "< -1e300", "-inf", NO_VALUE)
"""Rows under the scale, the uppermost first."""


class Form(StrEnum):
    """How a scale grows."""

    LINEAR = "linear"
    LOG = "log"
    SYMLOG = "symlog"
    """Logarithmic to both sides of zero, and linear around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The scale of a vertical axis, from `low` to `high`."""

    form: Form
    low: float
    high: float
    linear: float = 1.0
    """Up to where a symlog scale is linear."""
    ticks: tuple[float, ...] = ()
    """Of a logarithmic scale."""
    empty: bool = False
    """True where no number goes on it."""

    def at(self, value: float) -> float:
        """Return where a finite value is between `low`, 0, and `high`, 1."""
        low, high, place = map(self._stretched, (self.low, self.high, value))
        return (place - low) / (high - low)

    def _stretched(self, value: float) -> float:
        if self.form is Form.LINEAR:
            return value / max(abs(self.low), abs(self.high))  # the span may be more than a number can be
        if self.form is Form.LOG:
            return math.log10(value)
        size = abs(value)
        within = size <= self.linear
        stretched = size / self.linear if within else 1 + math.log10(size) - math.log10(self.linear)
        return math.copysign(stretched, value)


def scale(values: Iterable[float], threshold: float | None) -> Scale:
    """Return the scale that shows all finite values and the threshold with room around them."""
    numbers = [value for value in values if math.isfinite(value) and abs(value) <= _LARGEST]
    if threshold is not None and math.isfinite(threshold) and abs(threshold) <= _LARGEST:
        numbers.append(threshold)
    else:
        threshold = None
    sizes = [abs(value) for value in numbers if abs(value) >= 1 / _LARGEST]
    if not sizes or math.log10(max(sizes)) - math.log10(min(sizes)) < _DECADES:
        return _linear(numbers)
    if min(numbers) >= 0 and threshold != 0:
        return _log(sizes)
    return _symlog(numbers, sizes)


def row(value: float | None, form: Form) -> str | None:
    """Return the row that a value goes to, or None where it goes on a scale of this form."""
    if value is None:
        return NO_VALUE
    if not math.isfinite(value):
        return str(value)
    if abs(value) > _LARGEST:
        return "> 1e300" if value > 0 else "< -1e300"
    if form is Form.LOG and value < 1 / _LARGEST:
        return "≈ 0" if value else "0"
    return None


def _linear(numbers: Sequence[float]) -> Scale:
    if not numbers:
        return Scale(form=Form.LINEAR, low=0.0, high=1.0, empty=True)
    low, high = min(numbers), max(numbers)
    size = max(abs(low), abs(high))
    if high - low < 1e-9 * size or size < 1 / _LARGEST:  # all the same, as far as a drawing can tell
        if size < 1 / _LARGEST:
            return Scale(form=Form.LINEAR, low=-0.09, high=1.0)
        room = size / 10
    else:
        if low > 0 and low < high / 2:
            low = 0.0
        room = (high - low) * 0.09
    return Scale(form=Form.LINEAR, low=low - room, high=high + room)


def _log(sizes: Sequence[float]) -> Scale:
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    room = 0.12 + 0.06 * (high - low)
    low, high = max(low - room, -_EXPONENT), min(high + room, _EXPONENT)
    exponents = range(math.ceil(low), math.floor(high) + 1)
    ticks = tuple(10.0**exponent for exponent in exponents[:: math.ceil(len(exponents) / _TICKS)])
    return Scale(form=Form.LOG, low=10**low, high=10**high, ticks=ticks)


def _symlog(numbers: Sequence[float], sizes: Sequence[float]) -> Scale:
    least, most = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    stride = math.ceil((most - least + 1) / (_TICKS // 2))
    powers = [10.0**exponent for exponent in range(most, least - 1, -stride)]
    # Half a power more than the largest on its side; a side without numbers ends within the linear part.
    low, high = min(numbers), max(numbers)
    low = 3 * low if low < 0 else -(10.0**least) / 2
    high = 3 * high if high > 0 else 10.0**least / 2
    ticks = sorted([0.0, *powers, *(-power for power in powers)])
    return Scale(
        form=Form.SYMLOG,
        low=low,
        high=high,
        linear=10.0**least,
        ticks=tuple(tick for tick in ticks if low <= tick <= high),
    )
