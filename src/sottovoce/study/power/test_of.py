"""What a test is to see, for its power and sample size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from scipy.special import ndtr, ndtri

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_decimal, check_integer, reject
from sottovoce.core.question import GroupMean, Joint, Question
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.group_mean.contrasts import power_at
from sottovoce.estimate.request import check_level

OWNER = "TestOf"
MOST_CELLS = 1 << 10  # of two attributes
DIFFERENCE, EQUIVALENCE, STATED, IDENTITY, INDEPENDENCE, ASSOCIATION, PUBLIC_VALUE, GROUPS, DISTRIBUTIONS = TESTS = (
    *("difference", "equivalence", "stated", "identity", "independence", "association", "public value", "groups"),
    "two distributions",
)


@dataclass(frozen=True, slots=True)
class TestOf:
    """Say that a test is planned, by default one that compares two samples of different people.

    Args:
        question: What both samples are asked, such as `Mean(Interval(0, 10))`.
        difference: The difference to see: between two shares, means, and so on. None if it is to be found. For an
            equivalence it is the margin, and the true difference is zero.
        first: The share of all participants who are in the first sample.
        comparisons: How many differences are tested at once (Bonferroni).
        overall: One test that no share differs. `difference` is then the root mean square over the differences of all
            shares, and the plan knows public half-sets, which have more power where there are many categories.
        test: The name of the test. "difference" of two samples. "equivalence" of two samples within a margin.
            "stated": one sample and a stated number, or with `overall` stated shares (goodness of fit).
            "identity": stated shares, by the squared distance; root mean square over the shares.
            "independence" of two attributes; root mean square over the cells. Of a `Joint`, Cramer's V in each table.
            "association": independence, from two reports of each person that share epsilon.
            "public value" for a public number in private groups. The mean of the first group differs, in standard
            deviations. For pairs of a private and a public category: as for independence.
            "groups" for means of private groups, of which the first differs.
            "two distributions": the likelihood ratio of stated shares (the `prior` of the plan) and `other`. The
            difference is the total variation distance from the stated shares, in the direction of `other`.
        other: The shares of all answers that are suspected instead, for "two distributions".
        watched: The test is an e-value that is looked at 20 times, evenly, and ends the study as soon as it is large.

    Examples:
        >>> test = sv.TestOf(sv.Mean(sv.Interval(0, 10)), difference=0.5)
        >>> sv.plan(test, epsilon=1, power=0.8).participants
        13249
        >>> products = sv.TestOf(sv.Frequency(sv.Integers(1, 200)), difference=0.004, overall=True)
        >>> sv.plan(products, epsilon=1, power=0.9).best.method
        'half-sets (9 sets)'
        >>> pages = sv.TestOf(sv.Frequency(sv.Categories(["yes", "no"])), difference=0.03, test="equivalence")
        >>> sv.plan(pages, epsilon=2, power=0.8).participants
        16406
        >>> sv.plan(sv.TestOf(test.question, difference=0.5, watched=True), epsilon=1).participants
        40286

    See also:
        `compare` for the test itself, `plan` for the number of people.
    """

    __test__: ClassVar[bool] = False  # pytest collects classes of such names

    question: Question
    difference: Any = None
    first: float = 0.5
    comparisons: int = 1
    overall: bool = False
    test: str = DIFFERENCE
    watched: bool = False
    other: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, Question):
            raise reject("question", OWNER, "a question, such as Mean(Interval(0, 10))", self.question)
        if not self.question.has_differences:
            raise ParameterError(f"Two estimates of a {self.question.noun} have no difference that a test can see.")
        if self.difference is not None and check_decimal("difference", OWNER, self.difference) <= 0:
            raise reject("difference", OWNER, "a positive number", self.difference)
        if isinstance(self.first, bool) or not isinstance(self.first, (int, float)) or not 0 < self.first < 1:
            raise reject("first", OWNER, "a number in (0, 1)", self.first)
        check_integer("comparisons", OWNER, self.comparisons, 1, 1 << 20)
        if self.overall and (not self.question.has_overall_test or self.comparisons > 1):
            raise ParameterError("An overall test is one test of all shares: it needs a Frequency and no comparisons.")
        self._check_test()

    def _check_test(self) -> None:
        if self.test not in TESTS:
            raise reject("test", OWNER, f"one of {', '.join(TESTS)}", self.test)
        if self.overall and self.test not in (DIFFERENCE, STATED):
            raise ParameterError(f"The test {self.test!r} has no overall form: leave `overall` out.")
        if self.watched and (self.overall or self.test not in (DIFFERENCE, STATED)):
            raise ParameterError("Only a difference, and a stated number, have tests that may be watched.")
        of_pairs = bool(two_way_sizes(self.question)) or self.of_tables
        if self.test in (INDEPENDENCE, ASSOCIATION) and not of_pairs:
            raise ParameterError(
                f"A test of {self.test} needs the shares of all pairs of two attributes, such as of"
                " Frequency(Select(record, ['sex', 'smoker']))."
            )
        if self.test == GROUPS and self.question.kind != GroupMean.kind:
            raise ParameterError("A test of private groups needs the question GroupMean.")
        if self.test in (IDENTITY, PUBLIC_VALUE, DISTRIBUTIONS) and not self.question.has_overall_test:
            raise ParameterError(f"The test {self.test!r} needs a Frequency.")
        if self.other is not None:
            object.__setattr__(self, "other", _listed(self.other))
        if (self.other is None) != (self.test != DISTRIBUTIONS):
            raise ParameterError(
                f"The 'other' parameter of {OWNER} belongs to the test {DISTRIBUTIONS!r}: the shares of all answers"
                " that are suspected instead of the stated ones.",
                parameter="other",
            )

    @property
    def samples(self) -> int:
        """How many samples are drawn."""
        return 2 if self.test in (DIFFERENCE, EQUIVALENCE) else 1

    @property
    def of_tables(self) -> bool:
        """Whether independence in cross tables is planned, by the smallest Cramer's V."""
        return self.test == INDEPENDENCE and self.question.kind == Joint.kind

    @property
    def effect(self) -> str:
        """The name of the effect, before its number."""
        return "Cramer's V" if self.of_tables else "difference"

    @property
    def of_shares(self) -> bool:
        """Whether one test of all shares is planned, with the root mean square of their differences."""
        if self.of_tables:
            return False
        pairs = self.test == PUBLIC_VALUE and bool(two_way_sizes(self.question))
        return self.overall or pairs or self.test in (IDENTITY, INDEPENDENCE, ASSOCIATION)

    @property
    def unit(self) -> str:
        """What a difference is counted in, where it is not the unit of the answers; begins with a space."""
        return " standard deviations" if self.test == PUBLIC_VALUE and not self.of_shares else ""

    @property
    def degrees(self) -> int:
        """Degrees of freedom of a chi-square test of all shares, or of all means of groups."""
        if self.test in (INDEPENDENCE, ASSOCIATION, PUBLIC_VALUE) and two_way_sizes(self.question):
            return math.prod(size - 1 for size in two_way_sizes(self.question))
        return (self.question.choices.size or 1) - 1

    @property
    def balance(self) -> float:
        """The standard error of the difference is that of one sample of all participants, over this number."""
        return math.sqrt(self.first * (1 - self.first)) if self.samples == 2 else 1.0

    def level(self, level: float) -> float:
        """The level of one of the tests, so that all of them hold together."""
        return 1 - (1 - level) / self.comparisons


def _listed(shares: Any) -> tuple[float, ...]:
    """Stated shares in the order of the answers."""
    try:
        return tuple(map(float, shares))
    except (TypeError, ValueError):
        raise reject("other", OWNER, "a list of the shares of all answers", shares) from None


def most_difference(test: TestOf) -> float | None:
    """The largest difference that two answers can make, where it is known without their shares."""
    size = test.question.domain.size
    if test.of_shares and size is not None:
        if two_way_sizes(test.question) and test.test in (INDEPENDENCE, ASSOCIATION, PUBLIC_VALUE):
            fewer, more = sorted(two_way_sizes(test.question))  # one answer tells the other: 1 / more in a cell of each
            return math.sqrt((1 - 1 / fewer) / size / more)
        return math.sqrt(2 / size)  # each population has one answer alone
    if test.question.is_share:
        return 1.0
    line = test.question.domain.numbers if test.question.unit_power == 1 else None
    return None if line is None else float(line.high - line.low)


def check_difference(test: TestOf, difference: float, most: float | None, participants: int | None = None) -> None:
    """Refuse a difference that no answers have: a stated one, or the smallest that so many participants show."""
    if math.isfinite(difference) and (most is None or difference <= most * (1 + 1e-9)):
        return
    bound = "" if most is None else f" No answers differ by more than {most:.3g}."
    if participants is None:
        raise reject("difference", OWNER, f"a difference that answers can have.{bound}"[:-1], difference)
    raise ParameterError(
        f"With {participants:,} participants this test sees no difference that is possible.{bound} Ask more"
        " participants, or take a larger epsilon."
    )


def check_power(power: Any) -> float:
    """A power strictly between one half and 1."""
    if isinstance(power, bool) or not isinstance(power, (int, float)) or not 0.5 <= power < 1:
        raise reject("power", "plan", "a number from 0.5 to below 1, such as 0.8", power)
    return float(power)


def error_for(test: TestOf, power: float, level: float) -> float:
    """The standard error of one sample of all participants at which the test sees its difference."""
    check_level(level)
    return float(test.difference) * test.balance / reach(test, power, level)


def difference_for(test: TestOf, std_error: float, power: float, level: float) -> float:
    """The smallest difference that the test sees, from the standard error of one sample of all participants."""
    return std_error / test.balance * reach(test, power, level)


def reach(test: TestOf, power: float, level: float) -> float:
    """How many standard errors a difference must have to be seen with this power; of an equivalence, the margin."""
    if test.test == EQUIVALENCE:  # two one-sided tests, both of which a true difference of zero must pass
        return float(ndtri(test.level(level)) + ndtri((1 + power) / 2))
    return deviate(test.level(level)) + float(ndtri(power))


def power_of_test(test: TestOf, score: float, level: float) -> float:
    """The power for a difference, or of an equivalence a margin, of so many standard errors."""
    if test.test == EQUIVALENCE:
        return max(0.0, float(2 * ndtr(score - ndtri(test.level(level))) - 1))
    return power_at(score, test.level(level))


def two_way_sizes(question: Question) -> tuple[int, ...]:
    """The numbers of answers of two attributes whose pairs are asked for; empty where there are not two."""
    size = question.domain.size if question.has_overall_test else None
    if size is None or size > MOST_CELLS:
        return ()
    labels: Any = list(question.domain.labels())
    if not all(isinstance(label, tuple) and len(label) == 2 for label in labels):
        return ()
    sizes = tuple(len({repr(label[place]) for label in labels}) for place in (0, 1))
    return sizes if math.prod(sizes) == size and min(sizes) > 1 else ()
