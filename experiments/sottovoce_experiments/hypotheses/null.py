"""How often tests reject a true hypothesis, on permuted answers of real people.

In each run people are drawn from a real column and put into two samples at random, so that nothing differs between
them. The counts of their reports are drawn from the exact law of the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Integers, Interval, Record, Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import GroupMean, Joint
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.associations import association_of_counts, private_groups_of_counts
from sottovoce.estimate.comparison.chi_square import goodness_of_fit, homogeneity, independence
from sottovoce.estimate.comparison.compare import compare
from sottovoce.estimate.comparison.identity import identity_test
from sottovoce.estimate.comparison.permutation import permutation_test
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio
from sottovoce.estimate.comparison.stated_mean import z_test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.joint.association import cramers_v
from sottovoce.estimate.joint.evidence import from_tallies
from sottovoce.protocols.gaussian.known import GaussianMeanKnownSigma
from sottovoce.protocols.shares.tables import TableViews
from sottovoce.protocols.simulate import simulate
from sottovoce.tally.counts import simulate_counts
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, PATIENTS

Ints = NDArray[np.int64]
COLUMNS = {  # the answers of real people: file, column, most frequent values kept
    "sex": (ADULT, "sex", 2),
    "education": (ADULT, "education", 16),
    "country": (ADULT, "native_country", 40),
    "diagnosis": (PATIENTS, "diag_1", 400),
}
NUMBERS = {"age": (ADULT, "age", Integers(17, 90)), "days": (PATIENTS, "days_in_hospital", Integers(1, 14))}
PAGE = Page(
    "results/tests.md",
    "# Do the tests hold their level?\n\nHow often tests reject a hypothesis that is true. At the level 5 % a right"
    " test rejects 5 % of them. `sottovoce reproduce tests-null --pages docs` writes this page; it needs the data sets"
    " that are named in [Results](index.md).\n",
)

ONE_BIT = "one-bit"
VIEWS = "table-views"
GROUPS = "group-bernoulli"
MARGIN = 0.1


@lru_cache(maxsize=8)
def held(column: str) -> Ints:
    """How many people give each answer of a column, most frequent first."""
    source, name, most = COLUMNS[column]
    answers = pq.read_table(data_file(source.file), columns=[name])[name].to_pylist()
    counts = np.unique([str(answer) for answer in answers], return_counts=True)[1]
    return np.sort(counts)[::-1][:most].astype(np.int64)


@lru_cache(maxsize=8)
def numbers(column: str) -> NDArray[np.float64]:
    """The numbers of all people in a column."""
    source, name, _ = NUMBERS[column]
    return np.asarray(pq.read_table(data_file(source.file), columns=[name])[name].to_numpy(), float)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Rejection rates of one test at 5 and 1 %."""
    rng = np.random.default_rng(seed)
    shares = held(point["column"]) / held(point["column"]).sum() if point["column"] in COLUMNS else None
    p_values = np.array([TESTS[point["test"]](point, shares, rng) for _ in range(runs)])
    # P-values of permutations are multiples of 1 / 200, and a test rejects at its level.
    rates = {f"at_{level}": float((p_values <= level / 100 + 1e-12).mean()) for level in (5, 1)}
    return [{"rows": len(p_values), **rates}]


def _estimate(mechanism: Mechanism, counts: Ints, rng: np.random.Generator) -> Estimate:
    estimate: Estimate = mechanism.estimate(simulate_counts(mechanism, counts, seed=int(rng.integers(1 << 48))))
    return estimate


def _mechanism(point: Mapping[str, Any], categories: int) -> Mechanism:
    return _built(point["mechanism"], categories, str(point["epsilon"]))


@lru_cache(maxsize=8)
def _built(name: str, categories: int, epsilon: str) -> Mechanism:
    return build(name, Integers(0, categories - 1), epsilon=epsilon)


def _two(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> tuple[Estimate, Estimate]:
    """Two samples of people of whom a quarter is in the first."""
    mechanism = _mechanism(point, len(shares))
    people = rng.multinomial(point["n"], shares)
    first = rng.multivariate_hypergeometric(people, point["n"] // 4)
    return _estimate(mechanism, first, rng), _estimate(mechanism, people - first, rng)


def _fit(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    mechanism = _mechanism(point, len(shares))
    return goodness_of_fit(_estimate(mechanism, rng.multinomial(point["n"], shares), rng), shares).p_value


def _equal(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    return homogeneity(_two(point, shares, rng)).p_value


def _difference(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The difference of the most frequent answer."""
    return float(compare(*_two(point, shares, rng)).p_values[0])


def _permuted(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    return permutation_test(*_two(point, shares, rng), 199, seed=int(rng.integers(1 << 48))).p_value


def _independent(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The answer and a sex that is permuted among people."""
    record = Record({"sex": Integers(0, 1), "answer": Integers(0, len(shares) - 1)})
    mechanism = build(point["mechanism"], Select(record, ["sex", "answer"]), epsilon=str(point["epsilon"]))
    people = rng.multinomial(point["n"], shares)
    women = rng.multivariate_hypergeometric(people, point["n"] // 3)
    return independence(_estimate(mechanism, np.concatenate([women, people - women]), rng)).p_value


def _identical(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    mechanism = _mechanism(point, len(shares))
    return identity_test(_estimate(mechanism, rng.multinomial(point["n"], shares), rng), shares).p_value


def _simple(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The shares of the column against shares that are more even."""
    other = 0.9 * shares + 0.1 / len(shares)
    if point["mechanism"] == ONE_BIT:  # which asks about these two distributions alone
        mechanism = _one_bit(tuple(shares), tuple(other), str(point["epsilon"]))
    else:
        mechanism = _mechanism(point, len(shares))
    estimate = _estimate(mechanism, rng.multinomial(point["n"], shares), rng)
    return likelihood_ratio(estimate, shares, other).p_value


@lru_cache(maxsize=8)
def _one_bit(shares: tuple[float, ...], other: tuple[float, ...], epsilon: str) -> Mechanism:
    return build(ONE_BIT, Integers(0, len(shares) - 1), epsilon=epsilon, shares=shares, other=other)


def _mean(point: Mapping[str, Any], column: Any, rng: np.random.Generator) -> Estimate:
    """The mean of people who are drawn from a column."""
    mechanism = build(point["mechanism"], NUMBERS[point["column"]][2], epsilon=str(point["epsilon"]))
    reports = mechanism.privatize(column, seed=int(rng.integers(1 << 48)))
    estimate: Estimate = mechanism.estimate(mechanism.tally(reports))
    return estimate


def _stated(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The mean of all people of the column."""
    everyone = numbers(point["column"])
    return z_test(_mean(point, rng.choice(everyone, point["n"]), rng), float(everyone.mean())).p_value


def _means(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """Means of two samples of people of whom a quarter is in the first."""
    drawn = rng.choice(numbers(point["column"]), point["n"])
    return float(compare(*(_mean(point, part, rng) for part in np.split(drawn, [point["n"] // 4]))).p_value)


def _paired(point: Mapping[str, Any], shares: Any, other: Any, rng: np.random.Generator) -> tuple[Mechanism, Ints]:
    """The mechanism of a private answer, and how many people have each of its reports and each value of the other side.

    Both sides are drawn independently for each person, as where one of them is permuted among people.
    """
    mechanism = _mechanism(point, len(shares))
    rates = np.outer(shares @ output_law(mechanism.channel), other)
    return mechanism, rng.multinomial(point["n"], rates.ravel() / rates.sum()).reshape(rates.shape)


def _associated(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The answer and a sex that is permuted among people, both private."""
    sex = _built("grr", 2, str(point["epsilon"]))
    mechanism, counts = _paired(point, shares, held("sex") / held("sex").sum() @ output_law(sex.channel), rng)
    return association_of_counts(mechanism, sex, counts).p_value


def _numbers_by_group(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """Public days in hospital, which are permuted among people with a private answer."""
    days, people = np.unique(numbers("days"), return_counts=True)
    mechanism, counts = _paired(point, shares, people / people.sum(), rng)
    return private_groups_of_counts(mechanism, days, counts).p_value


def _texts_by_group(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """A public sex that is permuted among people with a private answer."""
    mechanism, counts = _paired(point, shares, np.array([1, 2]) / 3, rng)
    return private_groups_of_counts(mechanism, np.array(["f", "m"]), counts).p_value


@lru_cache(maxsize=8)
def _views(categories: int, epsilon: str) -> TableViews:
    """All tables of a sex, an answer, and a third attribute that is a coin."""
    record = Record({"sex": Integers(0, 1), "answer": Integers(0, categories - 1), "coin": Integers(0, 1)})
    return TableViews(record, Joint(record).tables, epsilon)


def _in_tables(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """Cramer's V of the answer and a sex that is permuted among people, from views of three attributes."""
    design = _views(len(shares), str(point["epsilon"]))
    law = np.multiply.outer(np.outer([1 / 3, 2 / 3], shares), [0.5, 0.5])
    people = rng.multinomial(point["n"], np.array(design.weights) / sum(design.weights))
    tallies = []
    for arm, names, count in zip(design.start().arms, design.views, people, strict=True):
        hidden = tuple(place for place, name in enumerate(("sex", "answer", "coin")) if name not in names)
        cells = rng.multinomial(count, law.sum(axis=hidden).ravel())
        tallies.append(simulate_counts(arm.mechanism, cells, seed=int(rng.integers(1 << 48))))
    return cramers_v(from_tallies(design.question, tallies).table(("sex", "answer")), 0.95).p_value


def _by_group(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> Estimate:
    """Days in hospital, which are permuted among people, by a private answer."""
    categories = Categories([str(place) for place in range(len(shares))])
    mechanism = _grouped(categories, point["mechanism"], str(point["epsilon"]))
    groups = rng.choice(len(shares), point["n"], p=shares)
    days = rng.choice(numbers("days"), point["n"])
    people = [(str(group), int(day)) for group, day in zip(groups.tolist(), days.tolist(), strict=True)]
    reports = mechanism.privatize(people, seed=int(rng.integers(1 << 48)))
    estimate: Estimate = mechanism.estimate(mechanism.tally(reports))
    return estimate


@lru_cache(maxsize=8)
def _grouped(categories: Categories, name: str, epsilon: str) -> Mechanism:
    return build(name, GroupMean(categories, NUMBERS["days"][2]).domain, epsilon=epsilon)


def _equal_groups(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    return float(_by_group(point, shares, rng).test_equality().p_value)


def _two_groups(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """The difference between the means of the two most frequent groups."""
    return float(_by_group(point, shares, rng).difference("0", "1").p_value)


def _equivalent(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """Equivalence of the share of the most frequent answer within a margin that is the true difference."""
    mechanism, moved = _mechanism(point, len(shares)), shares.copy()
    moved[:2] += np.array([-1, 1]) * MARGIN
    sizes = point["n"] // 4, point["n"] - point["n"] // 4
    both = [_estimate(mechanism, rng.multinomial(n, law), rng) for n, law in zip(sizes, (moved, shares), strict=True)]
    return float(compare(*both).equivalence(MARGIN)[0])


def _normal(point: Mapping[str, Any], n: int, rng: np.random.Generator) -> Estimate:
    """The mean of normal answers with a known standard deviation, in a wide range."""
    protocol = GaussianMeanKnownSigma(Interval(-1000, 1000), sigma=2, epsilon=str(point["epsilon"]), participants=n)
    estimates: Any = simulate(protocol, rng.normal(170, 2, n), seed=int(rng.integers(1 << 48)))
    estimate: Estimate = estimates["mean"]
    return estimate


def _stated_normal(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    return z_test(_normal(point, point["n"], rng), 170).p_value


def _normal_means(point: Mapping[str, Any], shares: Any, rng: np.random.Generator) -> float:
    """Means of two samples of people of whom a quarter is in the first."""
    sizes = point["n"] // 4, point["n"] - point["n"] // 4
    return float(compare(*(_normal(point, size, rng) for size in sizes)).p_value)


TESTS: dict[str, Callable[[Mapping[str, Any], Any, np.random.Generator], float]] = {
    "goodness of fit": _fit,
    "equal shares": _equal,
    "one difference": _difference,
    "permutation": _permuted,
    "independence": _independent,
    "identity": _identical,
    "likelihood ratio": _simple,
    "z, stated mean": _stated,
    "z, two means": _means,
    "z, stated mean of normal answers": _stated_normal,
    "z, two means of normal answers": _normal_means,
    "association": _associated,
    "private group, number": _numbers_by_group,
    "private group, category": _texts_by_group,
    "Cramer's V": _in_tables,
    "equal means of groups": _equal_groups,
    "difference of two groups": _two_groups,
    "equivalence, at its margin": _equivalent,
}


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The extremes of the rejection rates."""
    five, one = ([100 * float(row[name]) for row in rows] for name in ("at_5", "at_1"))
    return [
        f"Rejected at 5 %: {min(five):.2f} to {max(five):.2f} %; at 1 %: {min(one):.2f} to {max(one):.2f} %"
        f" ({len(rows)} cells)."
    ]


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table."""
    return (
        f"Answers are columns of real people: {', '.join(f'{name} ({most})' for name, (*_, most) in COLUMNS.items())},"
        " with the number of different answers. A quarter of the people is in the first of two samples, a third has the"
        " first of two sexes. Numbers are the age and the days in hospital. Normal answers are drawn in each run. Each"
        f" cell has {_counted(rows)}"
    )


def said_further(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text above the table of further tests."""
    return (
        "Answers, numbers and samples as above. One bit asks whether an answer is likelier under the second of two"
        " stated distributions. Tables are read from views of three attributes. The days in hospital are the numbers of"
        " private groups. For an equivalence the difference of one share is the margin itself, so that the hypothesis"
        " is just true."
        f" Each cell has {_counted(rows)}"
    )


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    count = int(rows[0]["rows"])
    return (
        f"{count:,} permutations, so that 5 % have a standard error of {_error(0.05, count)} points, and 1 % of"
        f" {_error(0.01, count)}. {' '.join(summary(rows))}"
    )


def _error(share: float, count: int) -> str:
    """The standard error of a share in percentage points."""
    return f"{100 * (share * (1 - share) / count) ** 0.5:.2f}"


CASES = (
    ("sex", "grr", 1_500, 0.5),
    ("education", "grr", 1_500, 4.0),
    ("education", "oue", 5_000, 1.0),
    ("country", "hadamard", 5_000, 1.0),
    ("country", "oue", 50_000, 0.5),
)
LISTED = (*(case for case in CASES if case[1] != "oue"), ("country", "grr", 50_000, 2.0))  # numbered reports
BITS = (("education", ONE_BIT, 1_500, 4.0), ("country", ONE_BIT, 5_000, 1.0), ("country", ONE_BIT, 50_000, 0.5))
HALVES = (
    ("education", "half-sets", 1_500, 4.0),
    ("country", "half-sets", 5_000, 1.0),
    ("country", "half-sets", 50_000, 0.5),
)
MEANS = (("age", "bernoulli", 1_500, 0.5), ("age", "piecewise", 5_000, 1.0), ("days", "piecewise", 50_000, 4.0))
TABLES = (
    *(("sex", VIEWS, 1_500, 4.0), ("sex", VIEWS, 10_000, 1.0)),
    *(("education", VIEWS, 5_000, 4.0), ("country", VIEWS, 50_000, 4.0)),
)
GROUPED = (("sex", GROUPS, 1_500, 4.0), ("sex", GROUPS, 10_000, 1.0), ("education", GROUPS, 10_000, 4.0))
MARGINS = (("sex", "grr", 5_000, 1.0), ("sex", "grr", 50_000, 0.5), ("education", "oue", 50_000, 1.0))
LARGE = (("diagnosis", "oue", 50_000, 2.0), ("diagnosis", "half-sets", 50_000, 2.0))
NORMAL = (("normal", "known sigma", 1_500, 4.0), ("normal", "known sigma", 50_000, 1.0))
GRID = (
    *(
        (test, *case)
        for test in ("goodness of fit", "equal shares", "one difference", "independence", "identity")
        for case in CASES
    ),
    *(("permutation", *case) for case in CASES if case[1] == "grr"),
    *((test, *case) for test in ("goodness of fit", "equal shares") for case in HALVES),
    *((test, *case) for test in ("goodness of fit", "equal shares") for case in LARGE),
    ("identity", *LARGE[0]),
    *(
        (test, *case)
        for test in ("likelihood ratio", "private group, number", "private group, category")
        for case in LISTED
    ),
    *(("association", *case) for case in LISTED),
    *((test, *case) for test in ("z, stated mean", "z, two means") for case in MEANS),
    *(("z, stated mean of normal answers", *case) for case in NORMAL),
    ("z, two means of normal answers", "normal", "known sigma", 5_000, 2.0),
)
FURTHER_GRID = (
    *(("likelihood ratio", *case) for case in BITS),
    *(("Cramer's V", *case) for case in TABLES),
    *(("equal means of groups", *case) for case in GROUPED),
    *(("difference of two groups", *case) for case in GROUPED[:2]),
    *(("equivalence, at its margin", *case) for case in MARGINS),
)
AXES = ("test", "column", "mechanism", "n", "epsilon")

SECTION = Section(
    page=PAGE,
    heading="## Permuted answers",
    text=said,
    lead=AXES,
    columns=(
        PageColumn("rejected at 5 %", "at_5", ".2f", (), 100),
        PageColumn("at 1 %", "at_1", ".2f", (), 100),
    ),
)

EXPERIMENT = Experiment(
    id="tests-null",
    title="How often tests reject a true hypothesis",
    metric="share of permutations that are rejected",
    grid=((AXES, GRID),),
    quick=((AXES, (*GRID[:2], ("equal shares", *HALVES[0]))),),
    runs=5_000,
    quick_runs=200,
    cell=Late("hypotheses.null:cell"),
    figure=Picture("test", "at_5", dots=True, guide=0.05, log=""),
    columns=(*AXES, "at_5", "at_1"),
    summary=summary,
    needs=(ADULT.file, PATIENTS.file),
    data=(*COLUMNS, *NUMBERS),
    section=SECTION,
)

FURTHER_TESTS = replace(
    EXPERIMENT,
    id="tests-null-further",
    title="How often further tests reject a true hypothesis",
    grid=((AXES, FURTHER_GRID),),
    quick=((AXES, FURTHER_GRID[:1]),),
    runs=5_000,
    section=replace(SECTION, heading="## Further tests", text=said_further),
)
