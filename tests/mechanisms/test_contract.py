"""Every registered mechanism keeps the contract, small and large, at low and high budgets."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Rounding, Then, Window
from sottovoce.core.channel.facets import Scale
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean
from sottovoce.core.registry import fits
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.testing import check_mechanism
from sottovoce.testing.mean import check_small
from sottovoce.testing.statistics import check_mean, mean_bound, reports_for_mean

QUICK = {(3, "1")}
# Each size with two budgets and each budget with small and large sizes; all pairs of them are long.
SLOW = {(2, "0.1"), (2, "8"), (7, "0.1"), (7, "8"), (65, "1"), (65, "8"), (300, "0.1"), (300, "1")}
REPEATED = (
    "distortion",
    "compression",
    "shist",
    "urr",
    "urap",
)  # by default the law of another line: one slow case of each
LARGE = ("she", 300)  # thousands of bits
# Those that enumerate masks or memos: the small case is slow, and so are one large and one of a high budget.
ROWS = ("basic-rappor", "one-time-rappor", "rappor", "o-rr", "o-rappor", "cms", "hcms", "pcs")
SLOW_ROWS = {(3, "1"), (7, "8"), (65, "1")}


def oracle_marks(name: str, size: int, epsilon: str) -> list[pytest.MarkDecorator]:
    if name in ROWS:
        return [pytest.mark.slow if (size, epsilon) in SLOW_ROWS else pytest.mark.long]
    if (size, epsilon) in QUICK:
        return []
    slow = (size, epsilon) in ({(7, "8")} if name in REPEATED else SLOW) and (name, size) != LARGE
    return [pytest.mark.slow if slow else pytest.mark.long]


CASES = [
    pytest.param(*(name, size, epsilon), marks=oracle_marks(name, size, epsilon))
    for name in sv.names(sv.Frequency)
    for size in (2, 3, 7, 65, 300)
    for epsilon in ("0.1", "1", "8")
    if fits(name, sv.Integers(0, size - 1))
]


@pytest.mark.parametrize(("name", "size", "epsilon"), CASES)
def test_registered_mechanisms_keep_the_contract(name: str, size: int, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Integers(-3, size - 4), epsilon=epsilon), seed=seed % 1000)


RANGES = {"signed": sv.Interval(-1, 1), "narrow": sv.Interval(0, "0.3"), "whole": sv.Integers(1, 14)}
QUICK_MEANS = {("whole", "3")}
HEAVY = {"designed", "scdf", "staircase", "laplace", "hybrid", "n-output"}  # tables and noise, enumerated for seconds
MEANS = [
    pytest.param(
        *(name, range_, epsilon),
        marks=[] if (range_, epsilon) in QUICK_MEANS and name not in HEAVY else pytest.mark.slow,
    )
    for name in sv.names(sv.Mean)
    for range_, epsilon in (
        *(("signed", epsilon) for epsilon in ("0.1", "8")),
        ("narrow", "1"),
        ("whole", "3"),
    )
]


@pytest.mark.parametrize(("name", "range_", "epsilon"), MEANS)
def test_registered_means_keep_the_contract(name: str, range_: str, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, RANGES[range_], epsilon=epsilon), seed=seed % 1000)


BRIEF = ("group-bernoulli", 2, "1")
WIDE = ("group-laplace", "group-piecewise")  # thousands of outputs; sets of groups are proven with other values


def group_marks(name: str, groups: int, key: str) -> list[pytest.MarkDecorator]:
    if name in WIDE and key != "grr":
        return [pytest.mark.long]
    return [] if (name, groups, "1") == BRIEF else [pytest.mark.slow]


GROUPS = [
    pytest.param(*(name, groups, key, epsilon), marks=group_marks(name, groups, key))
    for name in sv.names(sv.GroupMean)
    for groups, key, epsilon in (
        (2, "grr", "1"), (9, "grr", "4"), (9, "subset", "1"), (9, "unary", "1")
    )
]  # fmt: skip


@pytest.mark.parametrize(("name", "groups", "key", "epsilon"), GROUPS)
def test_registered_groups_keep_the_contract(name: str, groups: int, key: str, epsilon: str, seed: int) -> None:
    domain = sv.Pair(sv.Integers(1, groups), sv.Interval(0, 10))
    check_mechanism(sv.mechanism(name, domain, epsilon=epsilon, key=key), seed=seed % 1000)


WHOLES = {
    "ages": sv.Integers(18, 24),
    "words": sv.Categories(["never", "rarely", "often", "always"]),
    "range": sv.Interval(-1, 3),
    "clock": sv.Circle(24),
}
DISTRIBUTIONS = [
    pytest.param(*(name, domain, epsilon), marks=[] if domain == "ages" else pytest.mark.slow)
    for name in sv.names(sv.Distribution)
    for domain, epsilon in (("ages", "1"), ("words", "8"), ("range", "0.5"), ("clock", "1"))
]


@pytest.mark.parametrize(("name", "domain", "epsilon"), DISTRIBUTIONS)
def test_registered_distributions_keep_the_contract(name: str, domain: str, epsilon: str, seed: int) -> None:
    if fits(name, WHOLES[domain]):
        check_mechanism(sv.mechanism(name, WHOLES[domain], epsilon=epsilon), seed=seed % 1000)


VECTORS = (sv.Box(0, 10, 3), sv.Sparse(5, 1), sv.Ball(2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("name", sv.names(sv.VectorMean))
def test_registered_vectors_keep_the_contract(name: str, seed: int) -> None:
    domain = next(domain for domain in VECTORS if fits(name, domain))
    check_mechanism(sv.mechanism(name, domain, epsilon="1.5"), seed=seed % 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in sv.names(sv.Frequency) if name not in ROWS])
def test_texts_are_answers_too(name: str, seed: int) -> None:
    answers = ["lark", "owl", "neither", "it depends"]
    domain = sv.Categories(answers[:2] if name == "rr" else answers)
    check_mechanism(sv.mechanism(name, domain, epsilon=1.0), seed=seed % 1000)


def test_every_mechanism_is_asked_something() -> None:
    assert {case.values[0] for case in CASES} == set(sv.names(sv.Frequency))
    assert {case.values[0] for case in MEANS} == set(sv.names(sv.Mean))


# --- the contract refuses --------------------------------------------------------------------------------
class Shifted(Window):
    """Reports that are read as a number beside the code."""

    __slots__ = ()

    def scales(self) -> tuple[Scale, ...]:
        ((first, origin, slope),) = Window.scales(self)
        return (Scale(first, origin + Fraction(1, 100), slope),)


class Calm(Window):
    """Claims a mean square that is a little too small."""

    __slots__ = ()

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        first, second = Window.moments(self, code)
        return first, second * Fraction(999, 1000)


@pytest.mark.parametrize(("node", "sentence"), [(Shifted, "biased|moments"), (Calm, "moments differ")])
def test_a_wrong_reading_is_found_on_small_instances(node: type[Window], sentence: str) -> None:
    channel = Then(Rounding(0, 1, 4), node(5, 1, 3, 3 * UNIT // 4))
    mechanism = Mechanism("wrong", Mean(sv.Interval(0, 1)), channel, Decimal(20), CountOutputs())
    with pytest.raises(AssertionError, match=sentence):
        check_small(mechanism)


def test_a_mean_test_accepts_the_truth_and_refuses_what_is_off() -> None:
    variance, reach, off = 4.0, 10.0, 0.3
    n = reports_for_mean(variance, reach, off)
    bound = mean_bound(n, variance, reach)
    assert 0 < bound < off / 2
    for mean in (1.0, 1 + 0.99 * bound, 1 - 0.99 * bound):
        check_mean("it", mean, n, 1.0, variance, reach, off)
    with pytest.raises(AssertionError, match="probability below 1e-06"):
        check_mean("it", 1 + 1.01 * bound, n, 1.0, variance, reach, off)
    with pytest.raises(AssertionError, match="too few to"):
        check_mean("it", 1.0, n // 10, 1.0, variance, reach, off)
