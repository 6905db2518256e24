"""The answers that a study expects, described instead of collected: for plans, and for simulations without data.

A description is an expectation that anyone may read. It never comes from the answers of the study itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Circle, Integers
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_decimal
from sottovoce.core.question import Frequency, GroupMean, Mean
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
    """A law of numbers, kept to the range of the question; whole numbers are rounded, a circle is wound around."""

    kind: str
    parameters: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, kind: str, **parameters: Any) -> NumberLaw:
        """Checked."""
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
        if isinstance(domain, Circle):
            return np.asarray(law.ppf(generator.random(n)) % high)
        first, last = law.cdf(low), law.cdf(high)
        drawn = np.clip(law.ppf(first + (last - first) * generator.random(n)), low, high)
        return np.asarray(np.clip(np.rint(drawn), domain.low, domain.high) if isinstance(domain, Integers) else drawn)

    def prior(self, domain: Domain) -> Prior:
        """The same law for a planner."""
        low, high, law = self._on(domain)
        whole = isinstance(domain, Integers) and (domain.size or 0) <= CELLS
        edges = np.linspace(low, high, (domain.size or CELLS) + 1 if whole else CELLS + 1)
        turns = _TURNS if isinstance(domain, Circle) else (0,)
        mass = np.maximum(sum(np.diff(law.cdf(edges + turn * high)) for turn in turns), 0)
        middles = np.clip((edges[1:] + edges[:-1]) / 2, float(domain.low), float(domain.high))  # type: ignore[attr-defined]
        return Prior(middles, mass)

    def _on(self, domain: Domain) -> tuple[float, float, Any]:
        half = 0.5 if isinstance(domain, Integers) else 0.0  # whole numbers are the middles of their cells
        low, high = float(domain.low) - half, float(domain.high) + half  # type: ignore[attr-defined]
        return low, high, LAWS[self.kind][1](low, high, **dict(self.parameters))

    def _inside(self, domain: Domain) -> float:
        low, high, law = self._on(domain)
        found = float(law.cdf(high) - law.cdf(low))
        return 1.0 if isinstance(domain, Circle) and not math.isnan(found) else found


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """The answers to one question.

    Attributes:
        shares: of the categories, or of the groups; None where all are equally common or there are none.
        laws: of the numbers; one for each group, or one for all.
        missing: shares of the reasons for giving no answer.
    """

    shares: tuple[float, ...] | None = None
    laws: tuple[NumberLaw, ...] = ()
    missing: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, *, shares: Sequence[Any] | None = None, laws: Sequence[NumberLaw] = (), missing: Sequence[Any] = ()
    ) -> ExpectedAnswers:
        """Checked as far as it can be without the question."""
        listed = None if shares is None else _shares("shares", shares)
        if listed is not None and abs(sum(listed) - 1) > 1e-6:
            raise ParameterError("The shares of a population must sum to 1.")
        reasons = _shares("missing", missing)
        if sum(reasons) >= 1:
            raise ParameterError("Not everyone can give no answer: the shares of the reasons must sum to less than 1.")
        return cls(listed, tuple(laws), reasons)

    def check(self, asked: Asked) -> None:
        """Refuse a description that does not fit the question."""
        if len(self.missing) not in (0, len(asked.missing)):
            raise ParameterError(f"The population of {asked.name} needs one share for each reason of giving none.")
        listed, numbers = _parts(asked)
        if listed is None and self.shares is not None:
            raise ParameterError(f"The population of {asked.name} is a law of numbers, without shares.")
        if listed is not None and self.shares is not None and len(self.shares) != listed:
            raise ParameterError(f"The population of {asked.name} needs {listed} shares.")
        if isinstance(asked.question, GroupMean) and len(self.laws) not in (1, listed):
            raise ParameterError(f"The population of {asked.name} needs one law, or one for each group.")
        if not isinstance(asked.question, GroupMean) and (len(self.laws) > 1 or bool(self.laws) == bool(self.shares)):
            raise ParameterError(f"The population of {asked.name} needs shares of categories, or one law of numbers.")
        if self.laws and numbers is None:
            raise ParameterError(f"The population of {asked.name} needs shares: its answers are no numbers.")
        for law in self.laws:
            law.check(numbers)  # type: ignore[arg-type]

    # --- for a plan ------------------------------------------------------------------------------
    def prior(self, asked: Asked) -> Any:
        """What a planner of the whole question takes."""
        question, silent = asked.question, 1 - sum(self.missing)
        missing = self.missing or (0.0,) * len(asked.missing)
        if isinstance(question, GroupMean):
            groups = self._groups(question.by.size or 1)
            priors = [law.prior(question.value) for law in self._laws(len(groups))]
            shares = [*(silent * share for share in groups), *missing]
            return shares, [*priors, *[priors[0]] * len(missing)]
        if isinstance(question, Mean):
            (law,) = self.laws
            prior = law.prior(question.domain)
            return ([silent, *missing], [prior] * (1 + len(missing))) if asked.missing else prior
        if self.shares is not None or isinstance(question, Frequency):
            return [*(silent * share for share in self._listed(question.domain)), *missing]
        return self.laws[0].prior(question.domain)

    def _listed(self, domain: Domain) -> Sequence[float]:
        """The shares of categories, or of whole numbers."""
        return self.shares if self.shares is not None else self.laws[0].prior(domain).weights

    def _groups(self, count: int) -> tuple[float, ...]:
        return self.shares or (1 / count,) * count

    def _laws(self, count: int) -> tuple[NumberLaw, ...]:
        return self.laws if len(self.laws) == count else self.laws * count

    # --- for a simulation ------------------------------------------------------------------------
    def draw(self, asked: Asked, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        """The columns of n people, as a file of answers has them."""
        question = asked.question
        if isinstance(question, GroupMean):
            groups = generator.choice(question.by.size or 1, n, p=self._groups(question.by.size or 1))
            values: list[Any] = [None] * n
            for place, law in enumerate(self._laws(question.by.size or 1)):
                who = np.flatnonzero(groups == place)
                for person, value in zip(who.tolist(), law.draw(question.value, len(who), generator), strict=True):
                    values[person] = _plain(value, question.value)
            labels = list(question.by.labels())
            columns = {asked.name: values, f"{asked.name}/by": [labels[place] for place in groups]}
        elif self.shares is not None:
            labels = list(question.domain.labels())
            drawn = generator.choice(len(labels), n, p=np.array(self.shares) / sum(self.shares))
            columns = {asked.name: [labels[place] for place in drawn]}
        else:
            numbers = self.laws[0].draw(question.domain, n, generator)
            columns = {asked.name: [_plain(value, question.domain) for value in numbers]}
        if self.missing:
            reasons = generator.choice(1 + len(self.missing), n, p=[1 - sum(self.missing), *self.missing])
            for person in np.flatnonzero(reasons).tolist():
                columns[asked.name][person] = asked.missing[reasons[person] - 1]
        return columns


def drawn_answers(
    questions: Sequence[Asked], population: Mapping[str, ExpectedAnswers], participants: int, seed: int | None
) -> dict[str, list[Any]]:
    """The answers of a described population, a column for each question that is no question about another's answer."""
    found: dict[str, list[Any]] = {}
    for place, asked in enumerate(questions):
        if asked.attribute:
            continue
        if asked.name not in population:
            raise ParameterError(f"The population does not describe the answers to {asked.name}.")
        generator = np.random.default_rng(None if seed is None else [seed, place])
        found |= population[asked.name].draw(asked, participants, generator)
    return found


def _parts(asked: Asked) -> tuple[int | None, Domain | None]:
    """How many categories or groups there are, and the domain of the number."""
    question = asked.question
    if isinstance(question, GroupMean):
        return question.by.size, question.value
    domain = question.domain
    has_numbers = domain.numbers is not None or isinstance(domain, Circle)
    return domain.size, domain if has_numbers else None


def _shares(name: str, given: Sequence[Any]) -> tuple[float, ...]:
    numbers = tuple(float(check_decimal(name, "a population", one)) for one in given)
    if not all(0 <= one <= 1 for one in numbers):
        raise ParameterError(f"The {name} of a population must be numbers from 0 to 1.")
    return numbers


def _plain(value: Any, domain: Domain) -> Any:
    return int(value) if isinstance(domain, Integers) else float(value)
