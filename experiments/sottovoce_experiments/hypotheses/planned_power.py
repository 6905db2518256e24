"""How often tests see a difference, beside the power that the plan promises.

For each cell a plan gives the smallest difference that its test sees with the stated power. The true answers differ by
exactly this much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.domain import Categories, Integers, Record, Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency, GroupMean, Joint, Mean
from sottovoce.estimate.attributes.evidence import part_mechanisms
from sottovoce.estimate.comparison.associations import association_of_counts, private_groups_of_counts
from sottovoce.estimate.comparison.chi_square import goodness_of_fit, homogeneity, independence
from sottovoce.estimate.comparison.compare import compare
from sottovoce.estimate.comparison.identity import identity_test
from sottovoce.estimate.comparison.permutation import permutation_test
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio
from sottovoce.estimate.comparison.stated_mean import z_test
from sottovoce.estimate.comparison.watched import log_e_value
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.joint.association import cramers_v
from sottovoce.estimate.joint.evidence import from_tallies
from sottovoce.estimate.mean.betting import Sides
from sottovoce.study.plan import TestPlan, plan
from sottovoce.study.power.test_of import TestOf
from sottovoce.study.power.watched import LOOKS
from sottovoce.tally.counts import simulate_counts
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.hypotheses.null import PAGE
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import DIAGONAL, Picture

ALPHA = 0.05
SHARES, GRADES = Integers(0, 7), Integers(0, 10)
TABLE = Select(Record({"a": Integers(0, 1), "b": Integers(0, 3)}), ["a", "b"])
GROUPED = GroupMean(Categories(["a", "b", "c"]), GRADES)
FALLING = np.arange(8, 0, -1) / 36  # shares that are suspected instead of equal ones
ABC = Joint(Record({"a": Integers(0, 1), "b": Integers(0, 3), "c": Integers(0, 2)}))
STATED = np.array([3, 3, 2, 2, 2, 2, 1, 1]) / 16  # shares of the identity test
ORACLES = ["grr", "subset", "oue", "hadamard"]
Check = Callable[[TestPlan, int, np.random.Generator], float]


def signs(count: int, rng: np.random.Generator) -> Floats:
    """As many 1 as -1, in random order."""
    return rng.permutation(np.repeat([1.0, -1.0], count // 2))


def _counted(mechanism: Mechanism, shares: Any, n: int, rng: np.random.Generator) -> Estimate:
    counts = rng.multinomial(n, shares)
    estimate: Estimate = mechanism.estimate(simulate_counts(mechanism, counts, seed=int(rng.integers(1 << 48))))
    return estimate


def _moved(difference: float, direction: Any) -> tuple[Floats, Floats]:
    """Two laws whose difference has this size in each value, around equal shares."""
    size = len(direction)
    return 1 / size + difference / 2 * direction, 1 / size - difference / 2 * direction


def _share(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    direction = np.array([1.0, -1.0, *[0.0] * 6])
    laws = _moved(found.difference, direction)
    return float(compare(*(_counted(found.best.mechanism, law, n // 2, rng) for law in laws)).p_values[0])


def _equal(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    laws = _moved(found.difference, signs(8, rng))
    return homogeneity([_counted(found.best.mechanism, law, n // 2, rng) for law in laws]).p_value


def _permuted(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    laws = _moved(found.difference, signs(8, rng))
    first, second = (_counted(found.best.mechanism, law, n // 2, rng) for law in laws)
    return permutation_test(first, second, 199, seed=int(rng.integers(1 << 48))).p_value


def _fit(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = 1 / 8 + found.difference * signs(8, rng)
    return goodness_of_fit(_counted(found.best.mechanism, law, n, rng), np.full(8, 1 / 8)).p_value


def _table(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = 1 / 8 + found.difference * np.outer([1, -1], signs(4, rng)).ravel()
    return independence(_counted(found.best.mechanism, law, n, rng)).p_value


def _equivalent(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    both = (_counted(found.best.mechanism, np.full(8, 1 / 8), n // 2, rng) for _ in range(2))
    return float(compare(*both).equivalence(found.difference)[0])


def grades(shift: float) -> Floats:
    """Equally common numbers from 0 to 10, of whom some move from the lowest to the highest, so that the mean rises."""
    law = np.full(11, 1 / 11)
    law[0] -= shift / 10
    law[-1] += shift / 10
    return law


def _graded(mechanism: Mechanism, law: Any, n: int, rng: np.random.Generator) -> Estimate:
    people = np.repeat(np.arange(11), rng.multinomial(n, law))
    estimate: Estimate = mechanism.estimate(
        mechanism.tally(mechanism.privatize(people, seed=int(rng.integers(1 << 48))))
    )
    return estimate


def _means(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    laws = (grades(found.difference / 2), grades(-found.difference / 2))
    return compare(*(_graded(found.best.mechanism, law, n // 2, rng) for law in laws)).p_value


def _stated(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    return z_test(_graded(found.best.mechanism, grades(found.difference), n, rng), 5).p_value


def _groups(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    mechanism = found.best.mechanism
    labels = list(GROUPED.by.labels())
    place = rng.integers(0, 3, n)
    raised = rng.choice(11, n, p=grades(found.difference))
    values = np.where(place == 0, raised, rng.integers(0, 11, n))
    people = [(labels[group], int(value)) for group, value in zip(place, values, strict=True)]
    reports = mechanism.privatize(people, seed=int(rng.integers(1 << 48)))
    return float(mechanism.estimate(mechanism.tally(reports)).test_equality().p_value)


def _identical(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = STATED + found.difference * signs(8, rng)
    return identity_test(_counted(found.best.mechanism, law, n, rng), STATED).p_value


def _pairs(rows: Any, columns: Any, law: Floats, n: int, rng: np.random.Generator) -> Any:
    """How many people have each pair of reports, for a law of pairs of answers."""
    rates = rows.T @ law.reshape(2, 4) @ columns
    return rng.multinomial(n, rates.ravel() / rates.sum()).reshape(rates.shape)


def _associated(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = 1 / 8 + found.difference * np.outer([1, -1], signs(4, rng)).ravel()
    first, second = part_mechanisms(found.best.mechanism)
    counts = _pairs(output_law(first.channel), output_law(second.channel), law, n, rng)
    return association_of_counts(first, second, counts).p_value


def _public_category(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = 1 / 8 + found.difference * np.outer([1, -1], signs(4, rng)).ravel()
    counts = _pairs(output_law(found.best.mechanism.channel), np.eye(4), law, n, rng)
    return private_groups_of_counts(found.best.mechanism, np.array([*"abcd"]), counts).p_value


def _public_number(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    """A number from 0 to 10 with a standard deviation of about 3.2 in each of eight groups."""
    groups = rng.multinomial(n, np.full(8, 1 / 8))
    spread = float(np.std(np.arange(11)))
    held = [rng.multinomial(count, np.full(11, 1 / 11)) for count in groups]
    rates = output_law(found.best.mechanism.channel)
    values = [np.arange(11) + found.difference * spread * (group == 0) for group in range(8)]
    labels = np.unique(np.concatenate(values))
    counts = np.zeros((rates.shape[1], len(labels)), np.int64)
    for group in range(8):
        drawn = rng.multinomial(held[group], rates[group] / rates[group].sum())  # [value, output]
        counts[:, np.searchsorted(labels, values[group])] += drawn.T
    return private_groups_of_counts(found.best.mechanism, labels, counts).p_value


def _two_stated(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    law = 1 / 8 + found.difference * (FALLING - 1 / 8) / np.maximum(FALLING - 1 / 8, 0).sum()
    return likelihood_ratio(_counted(found.best.mechanism, law, n, rng), np.full(8, 1 / 8), law).p_value


def _cramer(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    """A random interaction of two attributes with two and four answers; the third is independent of them."""
    design: Any = found.best.protocol
    contrasts = np.linalg.qr(np.column_stack([np.ones(4), rng.normal(size=(4, 3))]))[0][:, 1:] @ rng.normal(size=3)
    contrasts *= found.difference / np.linalg.norm(contrasts) / 4
    law = np.multiply.outer(1 / 8 + np.outer([1, -1], contrasts), np.full(3, 1 / 3))
    people = rng.multinomial(n, np.array(design.weights) / sum(design.weights))
    tallies = []
    for arm, names, count in zip(design.start().arms, design.views, people, strict=True):
        hidden = tuple(place for place, name in enumerate("abc") if name not in names)
        cells = rng.multinomial(count, law.sum(axis=hidden).ravel())
        tallies.append(simulate_counts(arm.mechanism, cells, seed=int(rng.integers(1 << 48))))
    return cramers_v(from_tallies(design.question, tallies).table(("a", "b")), 1 - ALPHA).p_value


@lru_cache(maxsize=64)
def _both_reports(mechanism: Mechanism) -> Sides:
    """The bets on the two readings of a mechanism."""
    people = [mechanism.domain.labels()[0], mechanism.domain.labels()[-1]] * 100
    estimate: Estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=1)))
    return next(iter(estimate.evidence.watched()))


def _watched(found: TestPlan, n: int, rng: np.random.Generator) -> float:
    """The smallest p-value of all looks at a share of one half, or at a mean of 5, in two samples."""
    sides = _both_reports(found.best.mechanism)
    middle = (sides.low + sides.high) / 2
    two = found.test.samples == 2
    means = (middle + found.difference / 2, middle - found.difference / 2) if two else (middle + found.difference,)
    size = n // len(means) // LOOKS
    first, second = sides.numbers
    ones = [np.cumsum(rng.binomial(size, (mean - first) / (second - first), LOOKS)) for mean in means]
    for look in range(LOOKS):
        total = size * (look + 1)
        seen = [replace(sides, counts=np.array([total - one[look], one[look]], float)) for one in ones]
        log_e = _log_e_value(seen, middle)
        if log_e >= -np.log(ALPHA):
            return 0.0
    return 1.0


def _log_e_value(seen: list[Sides], stated: float) -> float:
    if len(seen) == 1:
        return float(np.logaddexp(seen[0].above(stated), seen[0].below(stated)) - np.log(2))
    one, other = seen
    pooled = float((one.counts + other.counts) @ one.numbers / (one.counts + other.counts).sum())
    # The e-value is the smallest over all common means, so that one of them may be enough.
    pooled = min(max(pooled, one.low), one.high)
    rising, falling = one.above(pooled) + other.below(pooled), one.below(pooled) + other.above(pooled)
    bound = float(np.logaddexp(rising, falling) - np.log(2))
    return bound if bound < -np.log(ALPHA) else log_e_value(one, other)


# By test: what is planned, the methods that are tried, and one run.
TESTS: dict[str, tuple[TestOf, list[str] | None, Check]] = {
    "difference of a share": (TestOf(Frequency(SHARES)), ORACLES, _share),
    "difference of means": (TestOf(Mean(GRADES)), ["bernoulli"], _means),
    "equal shares": (TestOf(Frequency(SHARES), overall=True), ORACLES, _equal),
    "permutation": (TestOf(Frequency(SHARES), overall=True), ["grr"], _permuted),
    "goodness of fit": (TestOf(Frequency(SHARES), overall=True, test="stated"), ORACLES, _fit),
    "independence": (TestOf(Frequency(TABLE), test="independence"), ORACLES, _table),
    "equivalence": (TestOf(Frequency(SHARES), test="equivalence"), ORACLES, _equivalent),
    "stated mean": (TestOf(Mean(GRADES), test="stated"), ["bernoulli"], _stated),
    "identity": (TestOf(Frequency(SHARES), test="identity"), ORACLES, _identical),
    "association": (TestOf(Frequency(TABLE), test="association"), None, _associated),
    "public category": (TestOf(Frequency(TABLE), test="public value"), None, _public_category),
    "public number": (TestOf(Frequency(SHARES), test="public value"), None, _public_number),
    "watched share": (TestOf(Frequency(Integers(0, 1)), watched=True), ["grr"], _watched),
    "watched stated mean": (TestOf(Mean(GRADES), test="stated", watched=True), ["bernoulli"], _watched),
    "two distributions": (
        TestOf(Frequency(SHARES), test="two distributions", other=FALLING),
        ["one-bit", "grr"],
        _two_stated,
    ),
    "Cramer's V": (TestOf(ABC, test="independence"), ["table-views"], _cramer),
    "equal means of groups": (TestOf(GROUPED, test="groups"), ["group-bernoulli"], _groups),
}


@lru_cache(maxsize=64)
def planned(test: str, epsilon: float, n: int, power: float) -> TestPlan:
    """The plan, which gives the smallest difference that is seen."""
    about, methods, _ = TESTS[test]
    prior = STATED if test == "identity" else None
    found = plan(about, epsilon=str(epsilon), participants=n, power=power, methods=methods, prior=prior)
    assert isinstance(found, TestPlan)
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How often one test sees the difference."""
    rng = np.random.default_rng(seed)
    found = planned(point["test"], point["epsilon"], point["n"], point["power"])
    check = TESTS[point["test"]][2]
    seen = float(np.mean([check(found, point["n"], rng) < ALPHA for _ in range(runs)]))
    about = {"rows": runs, "method": found.best.method, "difference": found.difference}
    return [{**about, "seen": seen, "gap": seen - point["power"]}]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The largest distance of the measured from the planned power."""
    worst = max(rows, key=lambda row: abs(float(row["gap"])))
    return [
        f"Largest distance from the planned power: {100 * abs(float(worst['gap'])):.1f} points ({worst['test']},"
        f" epsilon {worst['epsilon']:g}, n {worst['n']}; {len(rows)} cells)."
    ]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        "For each cell the plan (`sv.plan(sv.TestOf(...), power=...)`) gives the smallest difference that its test sees"
        " with this power at the level 5 %. The answers differ by exactly this much. Differences of all shares are root"
        " mean squares, in a random direction; equivalence is that of equal samples, and its difference is the margin."
        f" {_runs(rows)}"
    )


def said_of_further_tests(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table of tests with power laws of their own."""
    return (
        "Plans of tests whose power has a law of its own, as above. The difference of a public number is in standard"
        " deviations, others are root mean squares over shares or cells. The two reports of an association share"
        " epsilon. Watched tests are e-values, looked at 20 times. Stated shares of the identity test are 3, 3, 2, 2,"
        f" 2, 2, 1 and 1 of 16. {_runs(rows)}"
    )


def said_of_tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table of two distributions and of cross tables."""
    return (
        "Plans of the likelihood ratio of two stated distributions, whose difference is their total variation distance,"
        " and of independence in all tables of two of three attributes, whose difference is Cramer's V. The attributes"
        f" have 2, 4 and 3 answers. {_runs(rows)}"
    )


def _runs(rows: Sequence[Mapping[str, Any]]) -> str:
    error = 100 * (0.16 / float(rows[0]["rows"])) ** 0.5
    return (
        f"Each cell has {rows[0]['rows']:,} runs, so that a power of 80 % has a standard error of {error:.1f} points."
        f" {' '.join(summary(rows))}"
    )


ONE_REPORT = ((0.5, 50_000, 0.8), (1.0, 10_000, 0.8), (1.0, 10_000, 0.5), (4.0, 1_500, 0.9))
TWO_REPORTS = ((1.0, 50_000, 0.8), (2.0, 10_000, 0.8), (2.0, 10_000, 0.5), (4.0, 1_500, 0.9))
FURTHER = ("identity", "association", "public category", "public number", "watched share", "watched stated mean")
STATED_AND_TABLES = ("two distributions", "Cramer's V")
GRID = (
    *(
        (test, epsilon, n, power)
        for test in TESTS
        if test not in ("equal means of groups", *FURTHER, *STATED_AND_TABLES)
        for epsilon, n, power in ONE_REPORT
    ),
    *(("equal means of groups", epsilon, n, 0.8) for epsilon, n in ((2.0, 10_000), (4.0, 3_000))),
)
FURTHER_GRID = tuple(
    (test, epsilon, n, power)
    for test in FURTHER
    for epsilon, n, power in (TWO_REPORTS if test == "association" else ONE_REPORT)
)
TABLES_GRID = tuple((test, *point) for test in STATED_AND_TABLES for point in ONE_REPORT)
AXES = ("test", "epsilon", "n", "power")

SECTION = Section(
    page=PAGE,
    heading="## Planned power",
    text=said,
    lead=(*AXES, "method"),
    columns=(
        PageColumn("difference", "difference", ".3g"),
        PageColumn("seen, %", "seen", ".1f", (), 100),
        PageColumn("less the power, points", "gap", ".1f", (), 100),
    ),
)

EXPERIMENT = Experiment(
    id="tests-planned",
    title="How often tests see a difference, beside the planned power",
    metric="share of runs that are rejected",
    grid=((AXES, GRID),),
    quick=((AXES, (GRID[0], GRID[9])),),
    runs=2_000,
    quick_runs=100,
    cell=Late("hypotheses.planned_power:cell"),
    figure=Picture("power", "seen", "test", dots=True, guide=DIAGONAL, log=""),
    columns=(*AXES, "method", "difference", "seen", "gap"),
    summary=summary,
    section=SECTION,
)

FURTHER_TESTS = replace(
    EXPERIMENT,
    id="tests-planned-further",
    title="How often further tests see a difference, beside the planned power",
    grid=((AXES, FURTHER_GRID),),
    quick=((AXES, FURTHER_GRID[4:5]),),
    section=replace(SECTION, heading="## Planned power of further tests", text=said_of_further_tests),
)

OF_TABLES = replace(
    FURTHER_TESTS,
    id="tests-planned-tables",
    title="How often tests of two distributions and of cross tables see an effect, beside the planned power",
    grid=((AXES, TABLES_GRID),),
    quick=((AXES, TABLES_GRID[1:2]),),
    section=replace(SECTION, heading="## Planned power of two distributions and tables", text=said_of_tables),
)
