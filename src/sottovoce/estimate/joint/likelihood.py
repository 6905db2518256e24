"""The likelihood of reported residuals under latent classes, with its slopes.

Residuals of one and of two attributes are compared all at once: with the shares of all attributes of a class side by
side in one row of S, and W the weights of the classes, S' W S holds all tables of two attributes. Larger blocks are
compared one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint.residuals import Reported, centred

Slopes = tuple[float, Floats, Floats]


class ResidualLikelihood:
    """Half the weighted squares of the differences of all residuals; `sizes` are the numbers of answers."""

    def __init__(self, reported: Sequence[Reported], sizes: dict[str, int]) -> None:
        place = {name: i for i, name in enumerate(sizes)}
        ends = list(accumulate(sizes.values(), initial=0))
        self._spans = [slice(*ends[i : i + 2]) for i in range(len(sizes))]
        width = ends[-1]
        self._single, self._single_weight = np.zeros(width), np.zeros(width)
        self._pairs, self._pair_weight = np.zeros((width, width)), np.zeros((width, width))
        self._centre = np.zeros((width, width))
        for span, size in zip(self._spans, sizes.values(), strict=True):
            self._centre[span, span] = np.eye(size) - 1 / size
        self._larger = []
        for names, residual, precision in reported:
            places = [place[name] for name in names]
            if len(names) > 2:
                self._larger.append((places, residual, precision))
            elif len(names) == 2:
                rows, columns = (self._spans[i] for i in places)
                self._pairs[rows, columns], self._pair_weight[rows, columns] = residual, precision
            else:
                self._single[self._spans[places[0]]] = residual
                self._single_weight[self._spans[places[0]]] = precision

    def __call__(self, weights: Floats, rows: Floats) -> Slopes:
        """The value, with its slopes by weights and by shares; a row holds the shares of one class side by side."""
        single = self._centre @ (weights @ rows) - self._single
        pairs = self._centre @ (rows.T @ (weights[:, None] * rows)) @ self._centre - self._pairs
        by_single, by_pair = self._single_weight * single, self._pair_weight * pairs
        value = (float(single @ by_single) + float((pairs * by_pair).sum())) / 2
        through = rows @ by_pair
        of_weights = rows @ by_single + (through * rows).sum(axis=1)
        of_rows = weights[:, None] * (by_single + through + rows @ by_pair.T)
        for places, residual, precision in self._larger:
            value += self._add_larger(places, residual, precision, weights, rows, of_weights, of_rows)
        return value, of_weights, of_rows

    def _add_larger(
        self,
        places: Sequence[int],
        residual: Floats,
        precision: float,
        weights: Floats,
        rows: Floats,
        of_weights: Floats,
        of_rows: Floats,
    ) -> float:
        """The part of one block of three attributes or more; its slopes are added."""
        letters = [chr(ord("a") + axis) for axis in range(len(places))]
        own = [rows[:, self._spans[place]] for place in places]
        cells = "".join(letters)
        classes = ",".join("z" + letter for letter in letters)
        table = np.einsum(f"z,{classes}->{cells}", weights, *own, optimize=True)
        away = centred(table) - residual
        scaled = precision * away
        of_weights += np.einsum(f"{cells},{classes}->z", scaled, *own, optimize=True)
        for axis, place in enumerate(places):
            others = [one for i, one in enumerate(own) if i != axis]
            named = ",".join("z" + letter for i, letter in enumerate(letters) if i != axis)
            slope = np.einsum(f"{cells},{named}->z{letters[axis]}", scaled, *others, optimize=True)
            of_rows[:, self._spans[place]] += weights[:, None] * slope
        return float((away * scaled).sum()) / 2
