"""Tallies of reports with public weights: each report counts as often as its weight says.

Weights are fixed-point numbers, so a weighted tally is a plain tally in which report i is repeated w_i times. A second
one repeats it w_i**2 times: values are read from the first, variances from the second. Weights must be public and
independent of the noise; they may depend on everything else that is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import MismatchError, ParameterError
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.params import check_integer
from sottovoce.fast.batch import Reports, from_messages
from sottovoce.tally.count import count_cells, tally
from sottovoce.tally.tally import MAX_REPORTS, Tally

Ints = NDArray[np.int64]
MOST_WEIGHT = 1 << 20  # units of one weight
MOST_CLASSES = 60  # distinct weights up to which each is counted by itself; else the binary digits of the weights are


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTally:
    """Counts of reports with public weights, as integers that add up in any order.

    Attributes:
        n: the number of reports.
        units: how many units a weight of one has.
        weighted: each report counted as often as its weight in units; `weighted.n` is the sum of the weights.
        squared: each report counted as often as the square of its weight.
        cubes: the sum of the cubes of the weights, for the skewness of weighted sums.
    """

    n: int
    units: int
    weighted: Tally
    squared: Tally
    cubes: int

    def __post_init__(self) -> None:
        check_same(self.weighted.mechanism, self.squared.mechanism, "weigh tallies")
        check_integer("n", "a weighted tally", self.n, 0, MAX_REPORTS)
        check_integer("units", "a weighted tally", self.units, 1, MAX_REPORTS)
        first, second, third = self.weighted.n, self.squared.n, self.cubes
        # Cauchy-Schwarz, for the weights of n reports and for their powers.
        if first * first > self.n * second or second * second > first * third:
            raise MismatchError(f"No {self.n} weights have the sums of this weighted tally.")

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the reports."""
        return self.weighted.mechanism

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.weighted.n / self.units

    def __add__(self, other: object) -> WeightedTally:
        if not isinstance(other, WeightedTally):
            return NotImplemented
        if self.units != other.units:
            raise MismatchError(f"Weights of {self.units} and of {other.units} units to one do not add up.")
        return WeightedTally(
            self.n + other.n,
            self.units,
            self.weighted + other.weighted,
            self.squared + other.squared,
            self.cubes + other.cubes,
        )


def weighted_tally(mechanism: Mechanism, reports: Any, weights: Any, *, units: int | None = None) -> WeightedTally:
    """Count reports with public weights.

    Args:
        mechanism: The mechanism of the reports.
        reports: A batch of `privatize`, or a list of messages as devices send them.
        weights: One weight of at least zero for each report.
        units: How many units a weight of one has. Default: 1 for whole numbers, else as many as fit.

    Returns:
        The weighted tally.
    """
    batch = reports if isinstance(reports, Reports) else from_messages(mechanism, list(reports))
    numbers = check_weights(weights, len(batch))
    return _counted(mechanism, batch, *fixed_point(numbers, units))


def check_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """One number of at least zero for each of n reports; refuse anything else."""
    if isinstance(weights, np.ma.MaskedArray):
        raise ParameterError("Masked arrays of weights are not supported: leave out their reports, or fill them in.")
    try:
        numbers = np.asarray(weights, float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (n,) or not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise ParameterError(f"Weights must be one number of at least zero for each of the {n} reports.")
    return numbers


def fixed_point(weights: NDArray[np.float64], units: int | None = None) -> tuple[Ints, int]:
    """Weights as whole numbers of units, rounded, and how many units a weight of one has."""
    largest, squares = float(weights.max(initial=0)), float(weights @ weights)
    if units is None:
        whole = bool((weights == np.rint(weights)).all()) and largest <= MOST_WEIGHT and squares < MAX_REPORTS / 2
        room = min(MOST_WEIGHT / max(largest, 1e-300), np.sqrt(MAX_REPORTS / 4 / max(squares, 1e-300)))
        units = 1 if whole else max(1, int(room))
    scaled = np.where(weights > 0, np.maximum(np.rint(weights * units), 1.0), 0.0)  # nobody is lost by rounding
    if scaled.max(initial=0) > MOST_WEIGHT or scaled @ scaled > MAX_REPORTS:
        raise ParameterError(
            "These weights are too large for exact sums: divide all of them by the same number, such as their mean."
        )
    return scaled.astype(np.int64), units


def _counted(mechanism: Mechanism, batch: Reports, weights: Ints, units: int) -> WeightedTally:
    plain = tally(mechanism, batch)  # refuses invalid reports
    first, second = (_repeated(batch, weights**power) for power in (1, 2))
    return WeightedTally(
        len(batch),
        units,
        Tally(mechanism, int(weights.sum()), first, plain.simulated),
        Tally(mechanism, int((weights**2).sum()), second, plain.simulated),
        sum(int(w) ** 3 * int(c) for w, c in zip(*np.unique(weights, return_counts=True), strict=True)),
    )


def _repeated(batch: Reports, times: Ints) -> Ints:
    """The cells of a batch in which each report is repeated so many times.

    Reports are counted once for each distinct number; where these are many, once for each binary digit.
    """
    distinct = np.unique(times)
    if len(distinct) <= MOST_CLASSES:
        picks = [(int(number), times == number) for number in distinct]
    else:
        picks = [(1 << digit, (times >> digit) & 1 == 1) for digit in range(int(distinct[-1]).bit_length())]
    cells = np.zeros(batch.mechanism.cells, np.int64)
    for factor, rows in picks:
        public = None if batch.public is None else batch.public[rows]
        part = Reports(batch.mechanism, batch.payload[rows], public, batch.simulated)
        cells += factor * count_cells(part, warned=False)
    return cells
