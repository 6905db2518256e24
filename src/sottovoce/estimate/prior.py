"""`Prior`: the expected distribution of the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_decimal, check_integer, reject
from sottovoce.estimate.evidence import Floats

CELLS = 1 << 14  # of a continuous law: moments are off by less than one part in 10**7 of the range
ROUNDING = 1e-12
TINY = 1e-12  # floats do not determine the mean of a cell with less mass


@dataclass(frozen=True, slots=True)
class Prior:
    """Describe the expected answers: finitely many values, and how likely each is.

    A prior makes a plan precise. A wrong prior costs accuracy; estimates and intervals stay valid. A continuous
    distribution is cut into fine cells that hold their exact mass.

    Args:
        values: The values, in the units of the answers.
        weights: The weight of each value; only their proportions matter.

    Examples:
        >>> sv.Prior([6, 7], [1, 3])
        Prior(2 values, mean 6.75, standard deviation 0.433)
        >>> round(sv.Prior.normal(7, 1.5, low=0, high=14).mean, 2)
        7.0

    See also:
        `plan` and `Mechanism.average_variance` use priors.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def __init__(self, values: Iterable[float], weights: Iterable[float]) -> None:
        at, mass = _numbers("values", values), _numbers("weights", weights)
        if at.shape != mass.shape:
            raise ParameterError(
                f"A prior must have one weight per value. Got {len(at)} values and {len(mass)} weights."
            )
        if mass.min() < 0 or not 0 < mass.sum() < np.inf:
            raise reject("weights", "prior", "non-negative numbers with a positive sum", weights)
        total = mass.sum()
        object.__setattr__(self, "values", tuple(at.tolist()))
        # Weights that sum to one up to rounding stay as they are, so that a stored prior is read back unchanged.
        object.__setattr__(self, "weights", tuple((mass if abs(total - 1) < ROUNDING else mass / total).tolist()))

    def __repr__(self) -> str:
        return f"Prior({len(self.values)} values, mean {self.mean:.4g}, standard deviation {self.variance**0.5:.4g})"

    @classmethod
    def uniform(cls, low: Any, high: Any) -> Prior:
        """Build the uniform distribution on a range.

        Args:
            low: The lower end.
            high: The upper end.

        Returns:
            The prior.
        """
        return cls.histogram([1], _range(low, high))

    @classmethod
    def normal(cls, mean: Any, sd: Any, low: Any, high: Any) -> Prior:
        """Build a normal distribution, cut off at the ends of a range.

        Args:
            mean: The mean before it is cut.
            sd: The standard deviation before it is cut.
            low: The lower end.
            high: The upper end.

        Returns:
            The prior.
        """
        centre, spread = float(check_decimal("mean", "prior", mean)), _positive("sd", sd)
        law, ends = scipy.stats.norm(centre, spread), _range(low, high)
        return cls(*_cut(law, *ends, _narrow(law, *ends)))

    @classmethod
    def exponential(cls, rate: Any, low: Any, high: Any) -> Prior:
        """Build an exponential distribution that starts at `low`, cut off at `high`.

        Args:
            rate: The rate, per unit of the answers.
            low: The lower end.
            high: The upper end.

        Returns:
            The prior.
        """
        left, right = _range(low, high)
        law = scipy.stats.expon(left, 1 / _positive("rate", rate))
        return cls(*_cut(law, left, right, _narrow(law, left, right)))

    @classmethod
    def beta(cls, a: Any, b: Any, low: Any, high: Any) -> Prior:
        """Build a beta distribution, stretched over a range.

        The density of a beta law may be infinite at an end, so its cells are held at their means: E[u; u <= t] of a
        beta law is a / (a + b) times the distribution function of the law with a + 1.

        Args:
            a: The first shape parameter.
            b: The second shape parameter.
            low: The lower end.
            high: The upper end.

        Returns:
            The prior.
        """
        left, right = _range(low, high)
        p, q = _positive("a", a), _positive("b", b)
        middles, mass = _cut(scipy.stats.beta(p, q), 0.0, 1.0)
        _, partial = _cut(scipy.stats.beta(p + 1, q), 0.0, 1.0)
        means = np.divide(p / (p + q) * partial, mass, out=middles.copy(), where=mass > TINY)
        half = 0.5 / CELLS
        return cls(left + (right - left) * np.clip(means, middles - half, middles + half), mass)

    @classmethod
    def histogram(cls, counts: Iterable[float], edges: Iterable[float]) -> Prior:
        """Build a prior from counts between edges; within a bin, answers are spread evenly.

        Args:
            counts: The count of each bin.
            edges: The edges, one more than there are bins.

        Returns:
            The prior.
        """
        mass, at = _numbers("counts", counts), _numbers("edges", edges)
        if len(at) != len(mass) + 1 or not (np.diff(at) > 0).all():
            raise reject("edges", "prior", f"{len(mass) + 1} rising numbers, one more than counts", edges)
        if mass.min() < 0 or not 0 < mass.sum() < np.inf:
            raise reject("counts", "prior", "non-negative numbers with a positive sum", counts)
        pieces = -(-CELLS // len(mass))
        middles = (np.arange(pieces) + 0.5) / pieces
        values = at[:-1, None] + np.diff(at)[:, None] * middles
        return cls(values.ravel(), np.repeat(mass / pieces, pieces))

    @classmethod
    def of(cls, values: Iterable[float]) -> Prior:
        """Build the empirical distribution of earlier answers.

        Args:
            values: The earlier answers. They must be public, or protected otherwise.

        Returns:
            The prior.
        """
        at, counts = np.unique(_numbers("values", values), return_counts=True)
        return cls(at, counts)

    @property
    def mean(self) -> float:
        """Compute the expected answer."""
        return float(np.dot(self.values, self.weights))

    @property
    def second_moment(self) -> float:
        """The expected square of an answer."""
        return float(np.dot(np.square(self.values), self.weights))

    @property
    def variance(self) -> float:
        """Compute the variance of the expected answers."""
        return float(np.dot(np.square(np.subtract(self.values, self.mean)), self.weights))

    def scaled(self, low: Any, high: Any) -> Prior:
        """The prior with [low, high] moved to [-1, 1]."""
        left, right = _range(low, high)
        at = np.asarray(self.values)
        if at.min() < left or at.max() > right:
            raise ParameterError(
                f"The prior has values outside the range [{left}, {right}]: from {at.min():.6g} to {at.max():.6g}."
            )
        return Prior(((at - left) - (right - at)) / (right - left), self.weights)

    def rounded(self, low: Any, high: Any, steps: int) -> Floats:
        """The law of the value after unbiased rounding to the grid of steps + 1 points from low to high."""
        check_integer("steps", "prior", steps, 1, 1 << 20)
        place = (np.asarray(self.scaled(low, high).values) + 1) * (steps / 2)
        point = np.minimum(np.floor(place), steps - 1).astype(np.int64)
        up = place - point
        weights = np.asarray(self.weights)
        law = np.bincount(point, weights * (1 - up), steps + 1) + np.bincount(point + 1, weights * up, steps + 1)
        return np.asarray(law, float)


def expected_answers(domain: Domain) -> Prior:
    """Answers spread evenly: over the whole numbers of a domain, or over its range."""
    numbers = domain.numbers
    if numbers is None:
        raise reject("domain", "prior", "a domain of numbers", domain)
    low, high = float(numbers.low + numbers.origin), float(numbers.high + numbers.origin)
    if domain.size is not None and domain.size <= CELLS:
        return Prior(np.linspace(low, high, domain.size), np.ones(domain.size))
    return Prior.uniform(low, high)


def _narrow(law: Any, low: float, high: float) -> Floats:
    """Edges of cells: half of them equally wide, half of equal mass, since a law may be narrow in its range."""
    even = np.linspace(low, high, CELLS // 2 + 1)
    shares = np.linspace(law.cdf(low), law.cdf(high), CELLS // 2 + 1)[1:-1]
    return np.unique(np.clip(np.concatenate([even, law.ppf(shares)]), low, high))


def _cut(law: Any, low: float, high: float, edges: Floats | None = None) -> tuple[Floats, Floats]:
    """Middles and masses of the cells; above the median from the survival function, to avoid cancellation."""
    edges = np.linspace(low, high, CELLS + 1) if edges is None else edges
    upper = edges[1:] > law.median()
    mass = np.where(upper, -np.diff(law.sf(edges)), np.diff(law.cdf(edges)))
    if not mass.sum() > 0:
        raise ParameterError(f"This prior has no weight between {low} and {high}.")
    return (edges[:-1] + edges[1:]) / 2, np.maximum(mass, 0)


def _range(low: Any, high: Any) -> tuple[float, float]:
    left, right = float(check_decimal("low", "prior", low)), float(check_decimal("high", "prior", high))
    if not left < right:
        raise reject("high", "prior", f"a number above low = {left}", high)
    return left, right


def _positive(name: str, value: Any) -> float:
    number = float(check_decimal(name, "prior", value))
    if not 0 < number < np.inf:
        raise reject(name, "prior", "a positive number", value)
    return number


def _numbers(name: str, values: Any) -> Floats:
    """A list of finite numbers, at least one."""
    try:
        listed = np.asarray(values if hasattr(values, "__len__") else list(values))
        numbers = listed.astype(float)
    except (TypeError, ValueError):
        raise reject(name, "prior", "a list of finite numbers", values) from None
    if listed.dtype.kind not in "iufO" or numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise reject(name, "prior", "a list of finite numbers", values)
    return numbers
