"""Raking: weights that meet known public margins, one after another until all hold.

Reference: Deming, Stephan, "On a least squares adjustment of a sampled frequency table when the expected marginal
totals are known", Annals of Mathematical Statistics 1940.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError

Floats = NDArray[np.float64]
MOST_ROUNDS = 1000
CLOSE = 1e-9  # largest relative distance from a margin


class Raked(NamedTuple):
    """Calibrated weights of all reports, the calibration cell of each, and the categories of each cell."""

    weights: Floats
    cells: NDArray[np.int64]
    traits: Floats


def raked(weights: Floats, margins: Mapping[str, tuple[Sequence[Any], Mapping[Any, Any]]]) -> Raked:
    """Weights that sum to the people of every category of every margin.

    `margins` has for each variable the category of each report, and the people of each category in the population.
    """
    columns, wanted = zip(*(_margin(name, pair, len(weights)) for name, pair in margins.items()), strict=True)
    totals = [float(people.sum()) for people in wanted]
    if max(totals) - min(totals) > 1e-6 * max(totals):
        raise ParameterError(
            f"All margins must be about the same population: their people sum to {min(totals):,.0f} and to"
            f" {max(totals):,.0f}."
        )
    current = np.asarray(weights * (totals[0] / weights.sum()))
    for _ in range(MOST_ROUNDS):
        away = 0.0
        for codes, people in zip(columns, wanted, strict=True):
            factors = people / np.bincount(codes, current, len(people))
            away = max(away, float(np.abs(factors - 1).max()))
            current = current * factors[codes]
        if away < CLOSE:
            return Raked(current, *_cells(columns, [len(people) for people in wanted]))
    raise ParameterError(
        "No weights meet all margins: some combination of categories that the margins need has no participants. Merge"
        " categories, or leave out a margin."
    )


def checked_margins(margins: Any) -> Mapping[str, tuple[Sequence[Any], Mapping[Any, Any]]]:
    """Margins as pairs of a column and the people of each category; refuse anything else."""
    if not isinstance(margins, Mapping) or not margins:
        raise ParameterError("Raking needs at least one margin: a column of categories, and the people of each.")
    for name, pair in margins.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Mapping):
            raise ParameterError(
                f"Margin {name} must be a pair: a category for each report, and a mapping with the people of each."
            )
        if isinstance(pair[0], str) or not hasattr(pair[0], "__len__"):
            raise ParameterError(f"Margin {name} must have a list with the category of each report.")
    return margins


def _margin(name: str, pair: tuple[Sequence[Any], Mapping[Any, Any]], n: int) -> tuple[NDArray[np.int64], Floats]:
    """The category of each report as a number, and the people of each category."""
    column, people = pair
    if len(column) != n:
        raise ParameterError(f"Margin {name} must have a category for each of the {n} reports. Got {len(column)}.")
    places = {category: place for place, category in enumerate(people)}
    unknown = {category for category in column if category not in places}
    if unknown:
        raise ParameterError(
            f"Margin {name} has no number of people for {len(unknown)} of the categories of its column."
        )
    try:
        numbers = np.array([float(count) for count in people.values()])
    except (TypeError, ValueError):
        numbers = np.zeros(1)
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise ParameterError(f"Margin {name} must have more than zero people in every category.")
    codes = np.array([places[category] for category in column], np.int64)
    absent = [category for category, place in places.items() if not (codes == place).any()]
    if absent:
        raise ParameterError(
            f"Nobody of category {absent[0]!r} of margin {name} takes part: merge it with another one."
        )
    return codes, numbers


def _cells(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> tuple[NDArray[np.int64], Floats]:
    """The combinations of categories that occur: the number of each report's, and indicators of its categories."""
    kinds, cells = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    traits = [np.eye(size)[kinds[:, place]] for place, size in enumerate(sizes)]
    return np.asarray(cells.ravel(), np.int64), np.concatenate(traits, axis=1)
