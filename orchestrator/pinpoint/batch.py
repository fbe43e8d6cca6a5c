"""What `infer` says of many lines over the same versions, worked out once for equal rows of runs.

How a row of runs looks under each hypothesis does not depend on the line that it belongs to. Only the weights of
the hypotheses do, because the issues of a line pool what they show of their noise. So the recursions are done once
for every distinct row, and each line mixes their results with its own weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orchestrator.pinpoint.paths import Kernels, candidates, heaviest, kernels, most_probable, products, turns
from orchestrator.pinpoint.smoothing import backward, forward, weigh, weighty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orchestrator.pinpoint.prior import Prior

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_ROWS = 128
"""Rows that are worked on at once: what they need fits the processor's cache."""


class Shape:
    """One row under every hypothesis: what all lines share that have it."""

    def __init__(self, if_ok: Array, if_bad: Array, bad: Array) -> None:
        self._kernel = if_ok, if_bad
        self._bad = bad
        self._turns: dict[tuple[int, int], tuple[Array, Array]] = {}

    def turns(self, old: int, new: int) -> tuple[Array, Array]:
        """Return the chances, (G,), that `old` is ok and `new` bad, and the reverse."""
        found = self._turns.get((old, new))
        if found is None:
            found = self._turns[old, new] = turns(*self._kernel, self._bad[new], old, new)
        return found


@dataclass(frozen=True, slots=True)
class Inferred:
    """What is inferred of an issue in one line; `Posterior` says what the fields are."""

    line: int
    place: int
    path: NDArray[np.bool_]
    bad: Array
    probability: float
    false_fail: float
    false_pass: float
    introduced: float
    fixed: float
    weight: Array
    shape: Shape

    def turned(self, old: int, new: int) -> tuple[float, float]:
        """Return the chances that version `old` is ok and `new` is bad, and the reverse."""
        introduced, fixed = self.shape.turns(old, new)
        return float(introduced @ self.weight), float(fixed @ self.weight)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Issues of lines, (U,), sorted by the row that they have, with the weights of hypotheses there, (U, G)."""

    line: Places
    place: Places
    row: Places
    weight: Array
    heavy: Places
    """The two likeliest hypotheses, (U, 2)."""

    def of(self, first: int, last: int) -> _Shares:
        """Return those that have a row from `first` to before `last`, counted from `first`."""
        part = slice(*np.searchsorted(self.row, (first, last)))
        return _Shares(
            self.line[part], self.place[part], self.row[part] - first, self.weight[part], self.heavy[part]
        )


def infer_lines(
    prior: Prior,
    steps: Array,
    runs: tuple[Array, Array],
    testable: NDArray[np.bool_],
    lines: Sequence[Places],
) -> Iterator[Inferred]:
    """Say of every issue of every line that has any run what `infer` says, row by row.

    `runs` and `testable` are those of R distinct rows, (R, n) each; a line lists the rows of its issues.
    """
    rates = prior.grid()
    moves = prior.moves(steps, rates[2]), prior.moves(steps, rates[3])
    parts = [slice(first, first + _ROWS) for first in range(0, len(testable), _ROWS)]
    passed = [forward(prior, (rates[0], rates[1]), moves, (runs[0][part], runs[1][part]), None) for part in parts]
    asked = np.any(runs[0] + runs[1], axis=1)
    shares = _shares(prior, rates[4], np.concatenate([evidence for _, evidence in passed]), asked, lines)
    grid = np.stack(rates[:4], axis=1)
    for part, (filtered, _) in zip(parts, passed, strict=True):
        seen = backward(filtered, moves)
        yield from _mixed(
            grid, kernels(seen, testable[part]), seen.bad, shares.of(part.start, part.start + filtered.shape[1])
        )


def _shares(
    prior: Prior, weight: Array, evidence: Array, asked: NDArray[np.bool_], lines: Sequence[Places]
) -> _Shares:
    """Weigh the hypotheses in every line; those that `infer` leaves out weigh nothing."""
    weights, heavy = [], []
    for rows in lines:
        found = weigh(prior, evidence[rows], weight, int(asked[rows].sum()))
        place = weighty(found)
        if place is None:
            heavy.append(heaviest(found))
        else:
            likely = np.take_along_axis(found, place, axis=1)
            heavy.append(np.take_along_axis(place, heaviest(likely), axis=1))
            found = np.zeros_like(found)
            np.put_along_axis(found, place, likely, axis=1)
        weights.append(found / found.sum(axis=1, keepdims=True))
    row = np.concatenate(lines)
    order = np.argsort(row, kind="stable")
    order = order[asked[row[order]]]
    return _Shares(
        np.repeat(np.arange(len(lines)), [len(rows) for rows in lines])[order],
        np.concatenate([np.arange(len(rows)) for rows in lines])[order],
        row[order],
        np.concatenate(weights)[order],
        np.concatenate(heavy)[order],
    )


def _mixed(grid: Array, kernel: Kernels, bad: Array, shares: _Shares) -> Iterator[Inferred]:
    """Mix what rows are under each hypothesis, by the weights in each line."""
    count = len(bad)
    ok_mean, bad_mean, chance = np.split(_means(np.concatenate([*kernel[:2], bad]), shares), 3, axis=1)
    newest = (kernel[2][shares.row] * shares.weight).sum(axis=1)
    paths = candidates((ok_mean, bad_mean, newest), kernel, shares.row, shares.heavy)
    path, probability = most_probable(paths, _worth(kernel, shares))
    expected = (shares.weight @ grid).tolist()
    shapes = [Shape(kernel[0][:, row], kernel[1][:, row], bad[:, row]) for row in range(bad.shape[1])]
    chance = np.clip(chance.reshape(len(expected), count), 0.0, 1.0)
    users = zip(
        shares.line.tolist(), shares.place.tolist(), shares.row.tolist(), probability.tolist(), strict=True
    )
    for at, (line, place, row, likely) in enumerate(users):
        false_fail, false_pass, introduced, fixed = expected[at]
        yield Inferred(
            line=line,
            place=place,
            path=path[at],
            bad=chance[at],
            probability=likely,
            false_fail=false_fail,
            false_pass=false_pass,
            introduced=introduced,
            fixed=fixed,
            weight=shares.weight[at],
            shape=shapes[row],
        )


def _means(values: Array, shares: _Shares) -> Array:
    """Return the means, (U, m), over the hypotheses of values (m, R, G)."""
    found = np.empty((len(shares.row), len(values)))
    ends = np.searchsorted(shares.row, np.arange(values.shape[1] + 1)).tolist()
    for row, (first, last) in enumerate(pairwise(ends)):
        np.matmul(shares.weight[first:last], values[:, row].T, out=found[first:last])
    return found


def _worth(kernel: Kernels, shares: _Shares) -> Callable[[NDArray[np.bool_], Places], Array]:
    """Return what tells the probability of paths, worked out once for equal paths of a row."""

    def worth(path: NDArray[np.bool_], which: Places) -> Array:
        packed = np.packbits(path, axis=1)
        seen: dict[tuple[int, bytes], int] = {}
        rows = shares.row[which]
        place = [
            seen.setdefault((row, code.tobytes()), len(seen))
            for row, code in zip(rows.tolist(), packed, strict=True)
        ]
        first = np.unique(place, return_index=True)[1]
        only = rows[first]
        each = products(path[first], (kernel[0][:, only], kernel[1][:, only], kernel[2][only]))
        found: Array = (shares.weight[which] * each[place]).sum(axis=1)
        return found

    return worth
