"""What estimates say beyond `numbers.py`: sets, boxes, half-sets, tables, surveys, series, comparisons, tests.

`python -m tests.estimate.further_numbers` writes them down. Other tests show that such numbers are right; these are
kept so that no change of a formula, a branch or a default goes unnoticed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.domain import Domain, Select
from sottovoce.estimate.comparison.associations import association, private_groups
from sottovoce.estimate.comparison.half_sets import equal_half_sets
from sottovoce.estimate.comparison.identity import identity_test
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio, likelihood_ratio_power
from sottovoce.estimate.comparison.stated_mean import z_test, z_test_power
from sottovoce.estimate.comparison.watched import watched_mean
from sottovoce.estimate.heterogeneity import of_parts
from sottovoce.estimate.series.series import Series
from sottovoce.estimate.survey.design import Survey
from tests.estimate.numbers import LEVEL, PEOPLE, UNEVEN, of_estimate, said
from tests.estimate.requested_numbers import FAMILIES as REQUESTED

FILE = Path(__file__).parent / "golden" / "further.json"
Calls = Iterator[tuple[str, Callable[[], Any]]]
ITEMS, FOUR = list("abcde"), sv.Integers(0, 3)


def people(kind: str) -> tuple[Domain, list[Any]]:
    """A domain, and answers with rare values and heaps."""
    some = range(PEOPLE)
    if kind == "sets":
        return sv.Sets(ITEMS, 2), [ITEMS[place % 5 : place % 5 + 1 + place % 2] if place % 7 else [] for place in some]
    if kind == "ranking":
        return sv.Ranking(ITEMS[:3]), [ITEMS[:3] if place % 3 else ["c", "a", "b"] for place in some]
    if kind == "boxes":
        record = sv.Record({"a": FOUR, "b": sv.Interval(0, 10)})
        return record, [{"a": place % 4 % 3, "b": UNEVEN[place % 13]} for place in some]
    if kind == "circle":
        return sv.Circle(24), [UNEVEN[place % 13] for place in some]
    if kind == "sparse":
        return sv.Sparse(5, 2), [{place % 5: 0.5 - place % 2} for place in some]
    size = 8 if kind == "eight" else 4
    return sv.Integers(0, size - 1), [place % size % 3 for place in some]


def pair(name: str, kind: str, **options: Any) -> tuple[sv.Estimate, sv.Estimate]:
    """Estimates of two halves of the people, with one mechanism."""
    domain, answers = people(kind)
    mechanism = sv.mechanism(name, domain, epsilon="1.7", **options)
    first, second = (
        mechanism.estimate(mechanism.tally(mechanism.privatize(answers[part::2], seed=part, threads=1)))
        for part in range(2)
    )
    return first, second


def of_named(name: str, estimate: sv.Estimate) -> Calls:
    for key, call in of_estimate(estimate):
        yield f"{name}: {key}", call


def sets() -> Calls:
    """Items of sets with how many people hold, and rankings."""
    for name in ("mask", "cells", "options", "padding-sampling"):
        one = pair(name, "sets")[0]
        yield from of_named(name, one)
        yield f"{name} predicted", lambda one=one: one.mechanism.variance(None, n=PEOPLE)  # type: ignore[misc]
        try:
            yield from of_named(f"{name} sizes", one.sizes)
        except sv.ParameterError:
            yield f"{name} sizes", lambda: "none"
    for name in ("mask", "options"):
        ranked: Any = pair(name, "ranking")[0]
        yield from of_named(f"{name} places", ranked.places)
        yield f"{name} order", lambda ranked=ranked: ", ".join(ranked.order() + ranked.order(method="kwiksort"))  # type: ignore[misc]


def boxes() -> Calls:
    one: Any = pair("torus-wave", "boxes")[0]
    yield from of_named("cells", one)
    for name, share in (
        ("range", one.range(a=(0, 1), b=(2, 7))),
        ("union", one.range({"a": 1}, {"b": (0, 5)})),
        ("outside", one.outside(a=2, b=(5, 10))),
    ):
        yield from of_named(name, share)
    for decoder in ("em", "simplex", "grid-prior"):
        yield decoder, lambda decoder=decoder: one.decoded(decoder).values  # type: ignore[misc]


def circle() -> Calls:
    for name in ("square-wave-discrete", "general-wave"):
        one = pair(name, "circle", buckets=8)[0]
        yield from of_named(name, one)
        yield from of_named(f"{name} mean", one.answer(sv.CircularMean(sv.Circle(24))))


def sparse() -> Calls:
    yield from of_named("sparse", pair("sparse", "sparse")[0])


def half_sets() -> Calls:
    one, other = pair("half-sets", "eight", count=3, seed=4)
    yield from of_named("one", one)
    yield "fit", lambda: _test(sv.goodness_of_fit(one, [0.125] * 8))
    yield "equal", lambda: _test(equal_half_sets([one, other]))
    yield "compared", lambda: _test(sv.compare(one, other).overall())


def compared() -> Calls:
    """Differences of two groups of people, tests and e-values."""
    for name, kind in (
        ("grr", "shares"), ("oue", "shares"), ("bernoulli", "number"), ("sampled", "box"), ("options", "sets")
    ):  # fmt: skip
        one, other = _of_kind(name, kind)
        difference = sv.compare(one, other)
        calls: dict[str, Callable[[], Any]] = {
            "ci": lambda d=difference: np.concatenate(d.ci(LEVEL)),  # type: ignore[misc]
            "all": lambda d=difference: np.concatenate(d.ci(LEVEL, simultaneous=True)),  # type: ignore[misc]
            "sample": lambda a=one, b=other: np.concatenate(sv.compare(a, b, target="sample").ci(LEVEL)),  # type: ignore[misc]
            "p": lambda d=difference: d.p_values,  # type: ignore[misc]
            "holm": lambda d=difference: d.adjusted("holm"),  # type: ignore[misc]
            "fdr": lambda d=difference: d.adjusted("fdr"),  # type: ignore[misc]
            "bonferroni": lambda d=difference: d.adjusted("bonferroni"),  # type: ignore[misc]
            "ratio": lambda d=difference: np.concatenate([d.ratio(LEVEL)[0], *d.ratio(LEVEL)[1]]),  # type: ignore[misc]
            "equivalence": lambda d=difference: d.equivalence(0.2),  # type: ignore[misc]
            "overall": lambda d=difference: _test(d.overall()),  # type: ignore[misc]
            "watched": lambda d=difference: [_test(one) for one in d.watched()],  # type: ignore[misc]
            "series": lambda a=one, b=other: _series(a, b),  # type: ignore[misc]
            "heterogeneity": lambda a=one, b=other: heterogeneity_of(a, b),  # type: ignore[misc]
        }
        for key, call in calls.items():
            yield f"{name} {key}", call


def _of_kind(name: str, kind: str) -> tuple[sv.Estimate, sv.Estimate]:
    if kind in ("number", "box"):
        domain: Domain = sv.Interval(0, 10) if kind == "number" else sv.Box(-1, 1, 3)
        answers: list[Any] = [UNEVEN[place % 13] for place in range(PEOPLE)]
        if kind == "box":
            answers = [(number / 10, -number / 10, 1 - number % 3) for number in answers]
        mechanism = sv.mechanism(name, domain, epsilon="1.7")
        made = [
            mechanism.estimate(mechanism.tally(mechanism.privatize(answers[part::2], seed=part, threads=1)))
            for part in range(2)
        ]
        return made[0], made[1]
    return pair(name, kind)


def heterogeneity_of(one: sv.Estimate, other: sv.Estimate) -> float:
    return of_parts([one.evidence, other.evidence])


def _series(one: sv.Estimate, other: sv.Estimate) -> Any:
    numbers: list[float] = []
    for kind in ("different", "same"):
        series = Series.of([one, other, one], people=kind)
        for contrast in (series.trend([0, 1, 3]), series.contrast([1, -2, 0.5], "bend", target="sample")):
            numbers += [*contrast.values, *contrast.std_errors, *np.concatenate(contrast.quiet_ci(LEVEL))]
            numbers += [test.p_value for test in contrast.tests()]
        numbers += [*np.concatenate(series.ci(LEVEL, simultaneous=True)).ravel()]
    alarms = Series.of([one, other, one], people="different").alarms()
    return [*numbers, alarms.threshold, *alarms.up.ravel(), *alarms.down.ravel()]


def _test(test: Any) -> Any:
    effect = test.effect
    ends = [effect.value, effect.low or 0.0, effect.high or 0.0] if effect is not None else []
    return [test.statistic, test.p_value, test.degrees or 0, *ends]


def named_tests() -> Calls:
    """Tests that are asked for by name, and their power."""
    one, other = pair("grr", "shares")
    mean, _ = _of_kind("bernoulli", "number")
    even, uneven = [0.25] * 4, [0.4, 0.3, 0.2, 0.1]
    yield "fit", lambda: _test(sv.goodness_of_fit(one, uneven))
    yield "identity", lambda: _test(identity_test(one, uneven))
    yield "ratio", lambda: _test(likelihood_ratio(one, even, uneven))
    yield "ratio power", lambda: likelihood_ratio_power(one.mechanism, even, uneven, 200, LEVEL)
    yield "z", lambda: _test(z_test(mean, 4.0, LEVEL))
    yield "z power", lambda: z_test_power(0.3, 0.11, LEVEL)
    yes = sv.Categories(["yes", "no"])
    crossed = sv.mechanism("grr", Select(sv.Record({"a": yes, "b": yes}), ["a", "b"]), epsilon="1.7")
    yield (
        "independence",
        lambda: _test(sv.independence(crossed.estimate(sv.simulate_counts(crossed, [90, 40, 30, 51], seed=1)))),
    )
    yield "watched mean", lambda: _test(watched_mean(mean, 2.0))
    reports = [
        estimate.mechanism.privatize([place % 4 for place in range(PEOPLE)], seed=seed)
        for seed, estimate in enumerate((one, other))
    ]
    yield "association", lambda: _test(association(*reports))
    yield "groups", lambda: _test(private_groups(reports[0], [place % 3 for place in range(PEOPLE)]))


def tables() -> Calls:
    """A cross table from views, with everything that one says about it."""
    record = sv.Record(
        {"sex": sv.Categories(["f", "m"]), "smoker": sv.Categories(["no", "yes"]), "age": sv.Integers(0, 2)}
    )
    views = sv.TableViews(record, [("sex", "smoker"), ("sex", "age")], "1.7")
    persons = [
        {"sex": "fm"[place % 3 == 0], "smoker": "no" if place % 4 else "yes", "age": place % 3}
        for place in range(PEOPLE)
    ]
    joint: Any = next(iter(sv.simulate(views, persons, seed=3).values()))
    yield from of_named("joint", joint)
    table = joint.table("sex", "smoker")
    yield from of_named("table", table)
    yield from of_named("within", table.shares_within("sex"))
    ratios = {
        "risk": lambda: table.relative_risk("yes", "f", "m", level=LEVEL),
        "odds": lambda: table.odds_ratio("yes", "f", "m", level=LEVEL),
    }
    for name, ratio in ratios.items():
        yield name, lambda ratio=ratio: [ratio().value, ratio().low, ratio().high]  # type: ignore[misc]
    yield "v", lambda: [table.cramers_v(level=LEVEL).value, table.cramers_v(level=LEVEL).low]


def surveys() -> Calls:
    """Weights, strata, clusters, finite populations and margins."""
    place = np.arange(PEOPLE)
    strata = ["north" if one % 3 else "south" for one in place]
    designs = {
        "weights": Survey(weights=1 + place % 4),
        "strata": Survey(weights=1 + place % 2, strata=strata, people={"north": 900, "south": 300}),
        "clusters": Survey(clusters=[f"{one % 17}" for one in place]),
        "raked": Survey(weights=1 + place % 2).raked({"side": (strata, {"north": 500, "south": 700})}),
    }
    for name, mechanism, answers in (
        ("grr", sv.mechanism("grr", FOUR, epsilon="1.7"), [int(one) % 4 % 3 for one in place]),
        (
            "bernoulli",
            sv.mechanism("bernoulli", sv.Interval(0, 10), epsilon="1.7"),
            [UNEVEN[one % 13] for one in place],
        ),
    ):
        reports = mechanism.privatize(answers, seed=2, threads=1)
        for design, survey in designs.items():
            yield from of_named(f"{name} {design}", survey.estimate(mechanism, reports))


FAMILIES: dict[str, Callable[[], Calls]] = {
    "sets": sets, "boxes": boxes, "circle": circle, "sparse": sparse, "half_sets": half_sets, "compared": compared,
    "named_tests": named_tests, "tables": tables, "surveys": surveys, **REQUESTED,
}  # fmt: skip


def of_further(family: str) -> dict[str, Any]:
    """All numbers of a family."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: said(call) for key, call in FAMILIES[family]()}


if __name__ == "__main__":
    written = {family: of_further(family) for family in FAMILIES}
    FILE.write_text(
        "{"
        + ",\n".join(f'"{family}": {json.dumps(numbers, sort_keys=True)}' for family, numbers in written.items())
        + "}\n",
        encoding="utf-8",
    )
