"""Readings of one or several tallies, by the shape of the law: the contract between counting and estimating.

One class for each shape, in the room of its question: `estimate/<room>/evidence.py` has `evidence(mechanism, tally,
candidates)`, which finds the shape; `READS`, the statistics whose tallies it reads; `answer(evidence, question)`, which
answers its question from evidence of another room; and `predicted_variance(mechanism, truth, n, target=...)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sottovoce.core import late
from sottovoce.core.errors import NoCovarianceError, NoIntervalError, ParameterError, SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.fakes import FakeReports, weighted
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.candidates import Selection
    from sottovoce.estimate.decoder import Decoded, Decoder
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.frequency.mixture import Mixture
    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence
    from sottovoce.estimate.mean.betting import Sides

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
POOR_BELOW = 30  # expected supporting (or missing) reports under which the normal interval is poor
MOST_EXCESS = 4 / 3  # an interval that may miss more times as often as promised is called poor ...
MOST_MISSED = 0.01  # ... or one that may miss by more than this probability more often
NOT_POOLED = (
    "Only tallies that all ask for the shares of the same values, for the same mean, or for the same"
    " distribution in the same buckets, can be combined."
)


class OutputTally(NamedTuple):
    """The law of numbered reports, one row for each code, and how often each was sent."""

    law: Floats
    cells: Ints


class Bounds(NamedTuple):
    """Lower and upper ends, one pair per value."""

    low: Floats
    high: Floats


class Contributions(NamedTuple):
    """The least and the largest number of a report, where each value is the mean of one number from each report.

    `reports` says how many reports each value is the mean of.
    """

    least: Floats
    most: Floats
    reports: Floats


class Functional(NamedTuple):
    """Linear functionals of the values: unbiased values of their own, and their joint covariance."""

    values: Floats
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))


class Offer(Enum):
    """Properties that evidence may offer and a decoder may need."""

    COVARIANCE = "the covariance of all values"
    LIKELIHOOD = "a likelihood"
    ALL_SHARES = "the shares of all values, which sum to one"
    NULL_ERRORS = "the standard error of a share of zero"
    CANDIDATES = "shares of single values, which can be read for any list of candidates"
    DESIGN = "counts that are linear in the shares of candidates, with known coefficients"
    RANGE = "a range for each value by itself"
    BALL = "a ball that holds the answers"
    OUTPUT_TALLIES = "a count of each report that can be sent"
    ORDER = "an order of its values"
    LEVELS = "estimates of several levels of a hierarchy"
    TABLES = "contingency tables of several attributes"
    JOINED_REPORTS = "a report about every attribute of a person"
    GRID = "shares of the cells of a grid over several fields"
    FITTED = "a fit that its protocol is made for"
    HALF_SETS = "counts of reports inside and outside of public half-sets"


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The tally that evidence was read from.

    Attributes:
        reports: given where they were kept for their likelihood.
        codes: those of the candidates that the evidence is about; None for all. `names` are what they stand for.
    """

    mechanism: Mechanism
    n: int
    cells: Ints
    reports: Any = None
    codes: Ints | None = None
    names: Sequence[object] = ()


class Evidence(ABC):
    """Linear unbiased readings with their variances, the available intervals, and words for them.

    Attributes:
        methods: of intervals; `default` is the default one, `default_inside` that of values that a decoder moved.
        noun: the name of one value.
        quality: the kind of the linear estimate, in a word.
        picture: the function that draws it.
        estimate_class: the class of estimates from it, if they have members beyond those of `Estimate`.
        n: how many reports there are.
        ends: the possible range of the truth, where `limits` does not say otherwise.
        axes: the names of the values, along one axis or several.
        question: the question of the values, if it is known.
        also: evidence about other questions that was read from the same reports.
        slack: how far the values may be off on average, such as by where answers lie inside a bucket.
    """

    picture: ClassVar[str] = "estimate.show.plot:plot"
    estimate_class: ClassVar[type[Estimate] | None] = None
    if TYPE_CHECKING:  # of each shape its fields, class variables or properties: type checkers know the latter alone

        @property
        def methods(self) -> tuple[Method, ...]: ...
        @property
        def default(self) -> Method: ...
        @property
        def default_inside(self) -> Method | None: ...
        @property
        def noun(self) -> str: ...
        @property
        def quality(self) -> str: ...
        @property
        def n(self) -> int: ...
        @property
        def ends(self) -> tuple[Any, Any]: ...
        @property
        def axes(self) -> Axes: ...
        @property
        def question(self) -> Question | None: ...
        @property
        def also(self) -> tuple[Evidence, ...]: ...
        @property
        def slack(self) -> float: ...

    else:
        default_inside, quality, question, also, slack = None, "unbiased", None, (), 0.0

    @property
    def selection(self) -> Selection | None:
        """How reports selected the values that are shown, if they did."""
        return None

    @property
    def labels(self) -> Sequence[object]:
        """The label of each value; a tuple where there are several axes."""
        return self.axes.labels

    # --- readings ----------------------------------------------------------------------------------
    @abstractmethod
    def values(self) -> Floats:
        """Unbiased estimates."""

    @abstractmethod
    def variances(self, target: Target) -> Floats:
        """Estimated variances of the values: privacy noise only ("sample"), or with sampling ("population")."""

    def covariance(self, target: Target) -> Floats:
        """The estimated covariance matrix of the values, if it is known."""
        variances = self.variances(target)
        if len(variances) > 1:
            raise NoCovarianceError(f"The covariance of these {len(variances)} values is not known.")
        return variances.reshape(1, 1)

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Weighted sums of the values with their covariance, one row of weights for each sum."""
        rows = np.atleast_2d(weights)
        used = np.flatnonzero(rows.any(axis=0))  # values of weight zero need not be estimable
        rows = rows[:, used]
        if len(used) == 1:  # a single value needs no covariance
            return Functional(rows @ self.values()[used], rows @ rows.T * self.variances(target)[used])
        return Functional(rows @ self.values()[used], rows @ self.covariance(target)[np.ix_(used, used)] @ rows.T)

    def likelihood(self) -> Mixture:
        """The likelihood of shares as an operator, if there is one."""
        raise ParameterError(f"Reports about a {self.noun} have no likelihood of shares.")

    def output_tallies(self) -> list[OutputTally]:
        """The law and the count of each report that can be sent, by mechanism; for shares only."""
        raise ParameterError(f"Reports about a {self.noun} are not counted one by one.")

    def null_errors(self) -> Floats:
        """The standard error of each value if the true one is zero; for shares only."""
        raise ParameterError(f"A {self.noun} has no standard error at share zero.")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The possible range of the truth."""
        return self.ends

    @property
    def offers(self) -> frozenset[Offer]:
        """The offers to decoders."""
        return frozenset({Offer.RANGE})

    def decoded(self, decoder: Decoder) -> Decoded:
        """The values of a decoder."""
        return decoder.solve(self)

    def contributions(self) -> Contributions | None:
        """How far one report can move each value, over all reports that are valid; None where values are no means."""
        return None

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        """Between which values the estimates from all other reports lie; None where that is not known."""
        contributions = self.contributions()
        return None if contributions is None else Bounds(*fakes.removed(self.values(), *contributions))

    def restricted(self, codes: Ints, labels: Sequence[object]) -> Evidence:
        """The evidence about some codes only."""
        raise ParameterError(f"Candidates are supported for shares only, not for a {self.noun}.")

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> Evidence:
        """The evidence of several tallies of different people, with weights of least variance unless some are given."""
        raise ParameterError(NOT_POOLED)

    # --- intervals ---------------------------------------------------------------------------------
    def interval(self, request: IntervalRequest) -> Bounds:
        """The intervals of one of the methods."""
        return self.normal(request) if request.method == Method.NORMAL else self.other_interval(request)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        """The intervals of methods other than "normal"."""
        raise NoIntervalError(f"The {self.noun} has no interval by the method {request.method}.")

    def watched(self) -> list[Sides]:
        """Bets on each value that hold at all times, where there are any: for e-values."""
        raise NoIntervalError(f"Estimates of a {self.noun} of this kind have no test that may be watched.")

    @abstractmethod
    def normal_is_poor(self) -> Flags:
        """Values for which the normal approximation is poor."""

    @abstractmethod
    def warning(self) -> str | None:
        """The warning about the normal interval, if it is poor."""

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        """The warning about intervals of a method at a level that may miss `most` times as often as they promise."""
        return self.warning() if request.method == Method.NORMAL else None

    def inside(self, request: IntervalRequest) -> Bounds:
        """Intervals inside the possible range, for values that a decoder moved there."""
        return Bounds(*(np.clip(end, *self.limits) for end in self.interval(request)))

    def normal(self, request: IntervalRequest) -> Bounds:
        """The estimate plus and minus a normal quantile of its standard error, which allows for `slack`."""
        errors, values, level = np.sqrt(self.variances(request.target)), self.values(), request.level
        half = deviate(level) * errors if not self.slack else slack_deviate(level, self.slack, errors)
        return Bounds(values - half, values + half)

    @property
    def heterogeneity(self) -> float:
        """A p-value of the hypothesis that all tallies have the same values, where they are kept apart."""
        raise ParameterError("Heterogeneity compares tallies: combine them by sv.combine([...]) first.")

    # --- questions ---------------------------------------------------------------------------------
    @property
    def by_group(self) -> GroupMeansEvidence | None:
        """The evidence about groups, if this is about groups."""
        return None

    @property
    def distribution(self) -> DistributionEvidence | None:
        """The evidence about the shares of buckets, if this is about a distribution."""
        return None

    @property
    def early_stop(self) -> float | None:
        """The change of the total log-likelihood at which EM ends, if it is not run to the largest likelihood."""
        return None

    def answer(self, question: Question) -> Evidence:
        """The evidence of the same reports about a question."""
        known = next((known for known in (self, *self.also) if known.question == question), None)
        if known is not None:
            return known
        if not isinstance(question, Question):
            raise ParameterError("A question must be an object such as Mean(Interval(0, 10)).")
        answer: Evidence | None = late.load(f"estimate.{question.room}.evidence:answer")(self, question)
        if answer is None:
            raise ParameterError(
                f"Reports that were counted for a {self.noun} do not answer this question of kind {question.kind}."
            )
        return answer

    def answers(self, question: Question) -> bool:
        """Whether the same reports answer a question."""
        try:
            self.answer(question)
        except SottovoceError:
            return False
        return True

    # --- showing -----------------------------------------------------------------------------------
    def sentence(self, estimate: Estimate, level: float) -> str:
        """An estimate from this evidence in words; here of a single number."""
        (low,), (high,) = estimate.ci(level)
        bottom, ceiling = self.limits
        return (
            f"The estimate of their {self.noun} is {estimate.quality}: {estimate.value:.6g} on a scale from {bottom:g}"
            f" to {ceiling:g}, with a standard error of {estimate.std_errors[0]:.2g} ({level:.0%}"
            f" {estimate.default_method} interval from {low:.6g} to {high:.6g} for the population)."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of an estimate, with the columns that only this shape has."""
        return table


def most_excess(level: float) -> float:
    """Largest miss rate without a warning, as a multiple of the promised one."""
    return min(MOST_EXCESS, 1 + MOST_MISSED / (1 - level))


def floats_of(value: Any) -> Floats:
    """An argument as an array of floats; an empty one where it holds anything else than numbers."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        return np.empty(0)


def deviate(level: float) -> float:
    """The two-sided normal quantile of a level."""
    return float(-ndtri((1 - level) / 2))


def slack_deviate(level: float, slack: float | Floats, errors: Floats) -> Floats:
    """Half the width of the interval that covers for any mean error up to `slack`.

    The half width is c with P(|Z + slack / error| <= c / error) = level, which lies between both of the simple sums.
    """
    away = np.divide(slack, errors, out=np.full_like(errors, np.inf), where=errors > 0)
    known = np.isfinite(away)
    at = np.where(known, away, 0.0)
    low, high = at + float(ndtri(level)), at + deviate(level)
    for _ in range(60):
        middle = (low + high) / 2
        enough = ndtr(middle - at) - ndtr(-middle - at) >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(known, high * errors, slack)


def weighted_without_fakes(
    fakes: FakeReports, values: Floats, weights: Floats, parts: Sequence[Evidence]
) -> Bounds | None:
    """The bounds of a weighted sum of evidence, with the same weights: [part, value]."""
    known = [(part.values(), *bounds) for part in parts if (bounds := part.without_fakes(fakes)) is not None]
    if len(known) < len(parts):
        return None
    means = all(part.contributions() is not None for part in parts)
    return Bounds(*weighted(values, weights, known, together=fakes.issued or not means))
