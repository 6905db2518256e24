"""Mean, variance and standard deviation of a number, in one round or two; every participant answers once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any

from sottovoce.core.channel import Each
from sottovoce.core.domain import Domain, Integers, Interval, Powers, Square
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean, Variance
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ROUNDS_EFFORT
from sottovoce.core.statistic.joint import MAX_JOINT, CountJoint
from sottovoce.core.statistic.moments import Moments
from sottovoce.estimate.mean.evidence import evidence
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.variance.evidence import from_arms, from_both, moments, parts
from sottovoce.estimate.variance.same_reports import MOST, from_outputs
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.variance.shares import (
    Expected,
    belief,
    budget_share,
    built,
    expected,
    expected_of_outputs,
    people_share,
    short,
    squared,
)
from sottovoce.tally.tally import Tally

OWNER = "a variance"
METHODS = ("split-n", "sequential", "split-eps", "same-reports")
SHARES = 1000  # shares of the participants or of the budget are multiples of one over this


@dataclass(frozen=True, slots=True)
class VarianceRounds(Protocol):
    """Estimate the variance of a number, with its mean and its standard deviation.

    The estimate is unbiased for the variance of the population, and for that of the participants with the divisor n -
    1. A wrong prior costs accuracy; estimates and intervals stay valid.

    Args:
        domain: The range of the answers.
        epsilon: The privacy budget of one participant.
        method: "split-n": a share of the participants reports the number, the others the square of its distance from a
            public centre. "sequential": the first participants report the number, and their mean is the centre for all
            others. "split-eps": everyone reports both. "same-reports": everyone reports a whole number through
            randomized response, and its reports are read twice.
        mechanism: The mechanism for means.
        share: The share of participants ("split-n") or of the budget ("split-eps") for the number itself. Default: the
            least expected error if the expected mean is half a standard deviation off.
        first: How many participants are asked first ("sequential").
        centre: The public centre. Default: the expected mean.
        prior: The expected answers. Default: spread evenly.

    Examples:
        >>> protocol = sv.VarianceRounds(sv.Interval(0, 10), epsilon=2)
        >>> estimates = sv.simulate(protocol, [2, 4, 6, 8] * 1000, seed=1)
        >>> sorted(estimates), round(estimates["variance"].value)
        (['mean', 'sd', 'variance'], 5)

    See also:
        `Variance` with `plan` compares these methods.
    """

    domain: Integers | Interval
    epsilon: Decimal
    method: str
    mechanism: str
    share: Decimal | None
    first: int | None
    centre: Decimal | None
    prior: Prior | None

    def __init__(
        self,
        domain: Domain,
        epsilon: Any,
        *,
        method: str = "split-n",
        mechanism: str | None = None,
        share: Any = None,
        first: int | None = None,
        centre: Any = None,
        prior: Prior | None = None,
    ) -> None:
        line = domain.line if isinstance(domain, Domain) else None
        if line is None:
            raise reject("domain", OWNER, "a range of numbers (Integers or Interval)", domain)
        if method not in METHODS:
            raise reject("method", OWNER, f"one of {', '.join(METHODS)}", method)
        usual = "nprr" if method == "same-reports" else "designed"
        chosen = usual if mechanism is None else mechanism
        if chosen not in names(Mean):
            raise reject("mechanism", OWNER, f"one of {', '.join(names(Mean))}", mechanism)
        if method == "same-reports" and (line.size or MOST + 1) > MOST:
            raise reject("domain", OWNER, f"at most {MOST} whole numbers for same-reports", domain)
        if prior is not None and not isinstance(prior, Prior):
            raise reject("prior", OWNER, "a prior", prior)
        belief(line, prior)  # refuses a prior outside the range
        set_ = object.__setattr__
        set_(self, "domain", domain)
        set_(self, "epsilon", check_epsilon(OWNER, epsilon))
        set_(self, "method", method)
        set_(self, "mechanism", chosen)
        set_(self, "share", _share(method, share))
        set_(self, "first", _first(method, first))
        set_(self, "centre", _centre(method, line, centre))
        set_(self, "prior", prior)

    @property
    def question(self) -> Variance:
        return Variance(self.domain)

    def effort(self) -> int:
        return ROUNDS_EFFORT + 2 * effort_of(self.mechanism, self.epsilon)

    # --- rounds ------------------------------------------------------------------------------------
    def start(self) -> Round:
        return _first_of(self)

    def _start(self) -> Round:
        if self.method == "same-reports":
            return Round((Arm("number", self._of_levels()),))
        if self.method == "split-eps":
            return Round((Arm("both", self._of_both()),))
        number = self._of_number(self.epsilon)
        if self.method == "sequential":
            return Round((Arm("number", number),), quota=self.first)
        square = self._of_square(self.about, self.epsilon)
        weight = min(SHARES - 1, max(1, round(SHARES * (self.share or people_share(number, square, self.believed)))))
        return Round((Arm("number", number, weight), Arm("square", square, SHARES - weight)))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        if self.method in ("same-reports", "split-eps"):
            ((tally,),) = history
            if self.method == "same-reports":
                spread = from_outputs(evidence(tally.mechanism, _enough(tally)))
            else:
                spread = from_both(_enough(tally))
            return moments(self.domain, spread, [tally])
        if self.method == "split-n":
            ((number, square),) = history
        else:
            (number,), *later = history
            if not later and not closing:
                return Round((Arm("square", self._of_square(self.learned(number), self.epsilon)),))
            ((square,),) = later or ((None,),)
        if closing and number.n and (square is None or square.n < 2):
            only = {"mean": number.mechanism.estimate(number)}
            return partial(only, "Closed early: a variance needs at least two reports of the square; there are fewer.")
        return self._estimates(number, square)

    def _estimates(self, number: Tally, square: Tally) -> Estimates:
        spread = from_arms(_enough(number), _enough(square), learned=self.method == "sequential")
        return moments(self.domain, spread, [number, square])

    # --- the centre --------------------------------------------------------------------------------
    @property
    def about(self) -> Decimal:
        """The centre of the squares in methods of one round."""
        if self.centre is not None:
            return self.centre
        return short(self.believed.mean, self._length / 100, self._length)

    def learned(self, tally: Tally) -> Decimal:
        """The centre after the first round: its mean, rounded to a hundredth of its error or finer.

        The estimate accounts for rounding except for its correlation with the error, at most 1/100 of the removed bias.
        The centre may lie outside the range by noise: clamping it to the range would bias the variance. Farther than
        one more length of the range the first round has almost no information, and there it is clamped.
        """
        first = evidence(_enough(tally).mechanism, tally)
        (mean,), (low, high) = first.values(), first.ends
        reach = high - low
        return short(min(max(mean, low - reach), high + reach), math.sqrt(first.spread / first.n) / 100, reach)

    @property
    def believed(self) -> Prior:
        """The prior of the answers."""
        return belief(self.domain, self.prior)

    @property
    def budget(self) -> Decimal:
        """The part of epsilon for the number itself: all of it, unless everyone reports its square too."""
        if self.method != "split-eps":
            return self.epsilon
        return self.epsilon * (self.share or budget_share(self.domain, self.epsilon, self.about, self.believed))

    # --- mechanisms --------------------------------------------------------------------------------
    def _of_number(self, epsilon: Decimal) -> Mechanism:
        return built(self.mechanism, self.domain, epsilon, None if self.prior is None else self.believed)

    def _of_square(self, centre: Decimal, epsilon: Decimal) -> Mechanism:
        view = Square(self.domain, centre)
        return built(self.mechanism, view, epsilon, None if self.prior is None else squared(self.believed, view))

    def _of_both(self) -> Mechanism:
        first = self.budget
        number, square = self._of_number(first), self._of_square(self.about, self.epsilon - first)
        channel = Each((number.channel, square.channel))
        statistic = CountJoint() if 0 < CountJoint().cells(channel) <= MAX_JOINT else Moments()
        view = Powers(self.domain, self.about)
        return Mechanism("split-eps", Variance(self.domain), channel, self.epsilon, statistic, domain=view)

    def _of_levels(self) -> Mechanism:
        if self.mechanism == "nprr":
            return build("nprr", self.domain, epsilon=self.epsilon, k=(self.domain.size or 2) - 1)
        return self._of_number(self.epsilon)

    # --- predictions -------------------------------------------------------------------------------
    def expected(self, law: Prior | None = None, *, off: float = 0.0) -> Expected:
        """Variances of single readings for answers drawn from a law; by default from the prior.

        With `off`, for answers that are all moved by this many standard deviations, up or down with equal probability.
        """
        known = self.believed if law is None else belief(self.domain, law)
        if self.method == "same-reports":
            return expected_of_outputs(self._of_levels(), known).moved(off)
        if self.method == "split-eps":
            return expected(*parts(self._of_both()), known).moved(off)
        number = self._of_number(self.epsilon)
        if self.method == "split-n":
            return expected(number, self._of_square(self.about, self.epsilon), known).moved(off)
        # The first round finds the mean wherever it is; what changes is the range of the squares about it.
        step, mean, ends = off * known.variance**0.5, known.mean, (float(self.domain.low), float(self.domain.high))
        places = {min(max(mean + move, ends[0]), ends[1]) for move in (-step, step)}
        # It misses the mean by its own error, up or down; squares about another centre vary more, on a longer range.
        error = math.sqrt(float(number.variance(known)) / (self.first or 1))
        cases = []
        for place, missed in product(sorted(places), (-error, error)):
            square = self._of_square(short(place + missed, 0, self._length), self.epsilon)
            cases.append(expected(number, square, known, learned=True, missed=missed))
        return cases[0]._replace(square=sum(one.square for one in cases) / len(cases), distance=0.0)

    def predicted_error(self, participants: int, law: Prior | None = None, *, off: float = 0.0) -> float:
        """The standard error of the variance with this number of participants, for answers drawn from a law.

        The prediction is exact except for the sequential method, whose centre is assumed to miss the mean by its
        standard error. For `off` see `expected`.
        """
        n = check_integer("participants", OWNER, participants, 4, 1 << 53)
        known = self.expected(law, off=off)
        if self.method in ("same-reports", "split-eps"):
            return math.sqrt(known.error((n, n), together=True))
        if self.method == "split-n":
            first = min(n - 1, max(2, round(n * self.start().arms[0].weight / SHARES)))
        elif self.first is not None and self.first < n:
            first = self.first
        else:
            raise reject("participants", OWNER, f"more than the {self.first} of the first round", n)
        return math.sqrt(known.error((first, n - first)))

    @property
    def _length(self) -> float:
        return float(self.domain.high) - float(self.domain.low)


@lru_cache(maxsize=32)
def _first_of(protocol: VarianceRounds) -> Round:
    """The first round, cached: collectors ask for it often, and shares and channels take a while to find."""
    return protocol._start()


def _enough(tally: Tally) -> Tally:
    if tally.n < 2:
        raise ParameterError(
            f"A variance needs at least two reports of each kind; {tally.mechanism.name} has {tally.n}."
        )
    return tally


def _share(method: str, share: Any) -> Decimal | None:
    if share is None:
        return None
    if method not in ("split-n", "split-eps"):
        raise reject("share", OWNER, f"left out for {method}", share)
    part = check_decimal("share", OWNER, share)
    if not 0 < part < 1 or part != part.quantize(Decimal(1) / SHARES):
        raise reject("share", OWNER, "a number in (0, 1) with at most three places", share)
    return part


def _first(method: str, first: Any) -> int | None:
    if (first is None) == (method == "sequential"):
        must = "the number of participants of the first round" if first is None else f"left out for {method}"
        raise reject("first", OWNER, must, first)
    return None if first is None else check_integer("first", OWNER, first, 2, 1 << 53)


def _centre(method: str, domain: Integers | Interval, centre: Any) -> Decimal | None:
    if centre is None:
        return None
    if method not in ("split-n", "split-eps"):
        raise reject("centre", OWNER, f"left out for {method}", centre)
    number = check_decimal("centre", OWNER, centre)
    if not domain.low <= number <= domain.high:
        raise reject("centre", OWNER, f"a number in [{domain.low}, {domain.high}]", centre)
    return number
