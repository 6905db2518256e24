"""The answers that a study expects, described instead of collected: for plans, and for simulations without data.

A description is an expectation that anyone may read. It never comes from the answers of the study itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_decimal
from sottovoce.estimate.prior import Prior

Floats = NDArray[np.float64]
CELLS = 1 << 12  # of a continuous law in a prior
_TURNS = range(-8, 9)  # around a circle, over which a law is added up

# The parameters of each law, and the law of a range.
LAWS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "uniform": ((), lambda low, high: scipy.stats.uniform(low, high - low)),
    "normal": (("mean", "sd"), lambda low, high, mean, sd: scipy.stats.norm(mean, sd)),
    "lognormal": (("median", "sigma"), lambda low, high, median, sigma: scipy.stats.lognorm(sigma, scale=median)),
    "exponential": (("mean",), lambda low, high, mean: scipy.stats.expon(low, mean - low)),
    "beta": (("a", "b"), lambda low, high, a, b: scipy.stats.beta(a, b, low, high - low)),
}
_POSITIVE = ("sd", "sigma", "median", "a", "b")


@dataclass(frozen=True, slots=True)
class NumberLaw:
    """Law of expected numbers, kept to the range of the question. Whole numbers are rounded; circles wrap around."""

    kind: str
    parameters: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, kind: str, **parameters: Any) -> NumberLaw:
        """A law of numbers with checked parameters."""
        if kind not in LAWS:
            raise ParameterError(f"The law of a population must be one of {', '.join(LAWS)}.")
        names, _ = LAWS[kind]
        if {*names} != {*parameters}:
            listed = " and ".join(names) or "no parameters"
            raise ParameterError(f"The law {kind} has {listed}.")
        numbers = {name: float(check_decimal(name, f"the law {kind}", parameters[name])) for name in names}
        for name, value in numbers.items():
            if name in _POSITIVE and value <= 0:
                raise ParameterError(f"The {name} of a {kind} law must be above 0.")
        return cls(kind, tuple(numbers.items()))

    def check(self, domain: Domain) -> None:
        """Refuse a law that has nothing inside the range."""
        if not self._inside(domain) > 1e-9:
            raise ParameterError("This law has no weight inside the range of the question.")

    def draw(self, domain: Domain, n: int, generator: np.random.Generator) -> Floats:
        """Answers of n people."""
        low, high, law = self._on(domain)
        if domain.circular:
            return np.asarray(law.ppf(generator.random(n)) % high)
        first, last = law.cdf(low), law.cdf(high)
        drawn = np.clip(law.ppf(first + (last - first) * generator.random(n)), low, high)
        integers = domain.whole
        return np.asarray(drawn if integers is None else np.clip(np.rint(drawn), integers.low, integers.high))

    def prior(self, domain: Domain) -> Prior:
        """This law as a prior for a planner."""
        low, high, law = self._on(domain)
        is_whole = domain.whole is not None and domain.whole.size <= CELLS
        edges = np.linspace(low, high, (domain.size or CELLS) + 1 if is_whole else CELLS + 1)
        turns = _TURNS if domain.circular else (0,)
        mass = np.maximum(sum(np.diff(law.cdf(edges + turn * high)) for turn in turns), 0)
        middles = np.clip((edges[1:] + edges[:-1]) / 2, float(domain.low), float(domain.high))  # type: ignore[attr-defined]
        return Prior(middles, mass)

    def _on(self, domain: Domain) -> tuple[float, float, Any]:
        half = 0.0 if domain.whole is None else 0.5  # whole numbers are the middles of their cells
        low, high = float(domain.low) - half, float(domain.high) + half  # type: ignore[attr-defined]
        return low, high, LAWS[self.kind][1](low, high, **dict(self.parameters))

    def _inside(self, domain: Domain) -> float:
        low, high, law = self._on(domain)
        mass = float(law.cdf(high) - law.cdf(low))
        return 1.0 if domain.circular and not math.isnan(mass) else mass


@dataclass(frozen=True, slots=True)
class ExpectedAttribute:
    """The answers to one attribute of a cross table: shares, one row for each answer to `by`, or a law of numbers."""

    name: str
    rows: tuple[tuple[float, ...], ...] = ()
    by: str = ""
    law: NumberLaw | None = None

    @classmethod
    def of(
        cls, name: str, *, rows: Sequence[Sequence[Any]] = (), by: str = "", law: NumberLaw | None = None
    ) -> ExpectedAttribute:
        """An expected attribute, checked as far as possible without the question."""
        return cls(name, tuple(_of_all("shares", row) for row in rows), by, law)


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """The answers to one question.

    Attributes:
        shares: of the categories, or of the groups; None where all are equally common or there are none.
        laws: of the numbers; one for each group, or one for all.
        missing: shares of the reasons for giving no answer.
        within: shares of the categories within each group, or within all of them alike.
        attributes: of a cross table; those that are left out have equally common answers.
    """

    shares: tuple[float, ...] | None = None
    laws: tuple[NumberLaw, ...] = ()
    missing: tuple[float, ...] = ()
    within: tuple[tuple[float, ...], ...] = ()
    attributes: tuple[ExpectedAttribute, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        shares: Sequence[Any] | None = None,
        laws: Sequence[NumberLaw] = (),
        missing: Sequence[Any] = (),
        within: Sequence[Sequence[Any]] = (),
        attributes: Sequence[ExpectedAttribute] = (),
        one_choice: bool = True,
    ) -> ExpectedAnswers:
        """Expected answers, checked as far as possible without the question."""
        listed = None if shares is None else (_of_all if one_choice else _shares)("shares", shares)
        reasons = _shares("missing", missing)
        if sum(reasons) >= 1:
            raise ParameterError("Not everyone can give no answer: the shares of the reasons must sum to less than 1.")
        inside = tuple(_of_all("within", row) for row in within)
        return cls(listed, tuple(laws), reasons, inside, tuple(attributes))

    def with_reasons(self, shares: Sequence[float], reasons: int) -> list[float]:
        """Shares of those who answer as shares of all, followed by those of the reasons for giving no answer."""
        answered = 1 - sum(self.missing)
        return [*(answered * share for share in shares), *(self.missing or (0.0,) * reasons)]

    def laws_of(self, groups: int) -> tuple[NumberLaw, ...]:
        """The law of each group."""
        return self.laws if len(self.laws) == groups else self.laws * groups


def number_domain(domain: Domain) -> Domain | None:
    """The domain, if its answers are numbers that laws can describe."""
    return domain if domain.numbers is not None or domain.circular else None


def _shares(name: str, shares: Sequence[Any]) -> tuple[float, ...]:
    numbers = tuple(float(check_decimal(name, "a population", one)) for one in shares)
    if not all(0 <= one <= 1 for one in numbers):
        raise ParameterError(f"The {name} of a population must be numbers from 0 to 1.")
    return numbers


def _of_all(name: str, shares: Sequence[Any]) -> tuple[float, ...]:
    """Shares that sum to one, to the last digit."""
    listed = _shares(name, shares)
    if abs(sum(listed) - 1) > 1e-6:
        raise ParameterError(f"The {name} of a population must sum to 1.")
    return tuple(one / sum(listed) for one in listed)


def plain_number(value: Any, domain: Domain) -> Any:
    """A drawn number as a file of answers has it."""
    return float(value) if domain.whole is None else int(value)
