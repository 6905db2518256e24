"""Sets of items: the mask, its exact law and variance, covariances, sizes, and answers as people give them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import sottovoce as sv
from sottovoce.core.channel import Wheel
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.evidence import from_cells
from sottovoce.mechanisms.sets.mask import best_size
from sottovoce.study.detect import smallest_share
from sottovoce.tally.tally import report_cells
from sottovoce.testing import check_mechanism

WAYS = ["bus", "car", "bike", "train"]


def rare_variance(items: int, most: int, picked: int, epsilon: float) -> float:
    """n times the variance of an item that nobody holds, from the hypergeometric law of hits and sums over it."""
    n, e = items + most, math.exp(epsilon)
    hits = np.arange(min(most, picked) + 1)
    law_of_hits = hypergeom(n, most, picked).pmf(hits) * np.where(hits, e, 1.0)
    law_of_hits /= law_of_hits.sum()
    own = float(law_of_hits @ hits) / most
    other = float(law_of_hits @ (picked - hits)) / items
    return other * (1 - other) / (own - other) ** 2


@pytest.mark.parametrize(
    ("items", "most", "epsilon", "known"),
    [(100, 10, 1, 33.2), (1000, 10, 1, 41.0), (20, 3, 2, None), (12, 12, 0.5, None)],
)
def test_the_variance_of_a_rare_item_is_that_of_its_closed_form(
    items: int, most: int, epsilon: float, known: float | None
) -> None:
    mask = sv.mechanism("mask", sv.Sets(range(items), most), epsilon=epsilon)
    channel: Any = mask.channel
    variance = float(mask.variance([0] * items, 1)[0])
    assert variance == pytest.approx(rare_variance(items, most, channel.picked, epsilon), rel=1e-9)
    assert known is None or variance == pytest.approx(known, abs=0.05)
    sizes = range(1, min(items, 80) + 1)
    assert channel.picked == min(sizes, key=lambda size: rare_variance(items, most, size, epsilon))


def test_padding_and_sampling_is_randomized_response_of_one_item_with_the_budget_that_sampling_allows() -> None:
    """Enumerated: draw one of the elements held, then k-ary randomized response with ln(m (e**epsilon - 1) + 1)."""
    padded: Any = sv.mechanism("padding-sampling", sv.Sets(range(5), 3), epsilon=1).channel
    e, n = 3 * (math.e - 1) + 1, padded.elements
    for code in padded.codes():
        held = padded.held(code)
        for report in range(n):
            chance = sum((e if report == one else 1) / (e + n - 1) for one in held) / len(held)
            assert float(padded.likelihood(report, code)) == pytest.approx(chance, rel=1e-12)


# Of METHODS' whole family for a list without end, by the number of items held and epsilon.
BOUNDS = {(5, 1): 20.7, (10, 1): 42, (50, 1): 212, (5, 2): 3.8, (10, 2): 7.7, (50, 2): 38}


@pytest.mark.parametrize(("most", "epsilon"), BOUNDS)
def test_cells_come_near_the_bound_for_any_number_of_items(most: int, epsilon: float) -> None:
    variances = {
        float(sv.mechanism("cells", sv.Sets(range(items), most), epsilon=epsilon).variance([0] * items, 1)[0])
        for items in (100, 60_000)
    }
    assert len(variances) == 1 and variances.pop() <= 1.06 * BOUNDS[most, epsilon]


@pytest.mark.parametrize(("most", "epsilon"), [(1, 1.0), (5, 1.0), (10, 1.0), (10, 2.0), (50, 1.0)])
def test_the_wheel_has_the_published_arcs_and_variance(most: int, epsilon: float) -> None:
    """Arcs of the part 1 / (2 m - 1 + m e**epsilon), which nearly has the least variance of any length."""
    wheel: Any = sv.mechanism("wheel", sv.Sets(range(1000), most), epsilon=epsilon)
    channel, e = wheel.channel, np.exp(epsilon)
    part = channel.arc / channel.positions
    assert part == pytest.approx(1 / (2 * most - 1 + most * e), rel=3e-4)
    own = part * e / (1 + most * part * (e - 1))
    assert wheel.variance([0] * 1000, 1)[0] == pytest.approx(part * (1 - part) / (own - part) ** 2, rel=3e-4)
    full = np.linspace(0.2, 0.8, 2000) * part * 2
    owns = full * e / (1 + most * full * (e - 1))
    assert wheel.variance([0] * 1000, 1)[0] < 1.01 * np.min(full * (1 - full) / (owns - full) ** 2)


def test_overlapping_arcs_leave_the_rarest_report_as_likely() -> None:
    channel = Wheel(2, 2, 4, 1, 3 << 50, 4)  # ids list where the arcs of two items and two fillers begin
    levels: set[Fraction] = set()
    for word in range(256):
        public = divmod(word, 16)
        chances = [channel.likelihood(report, 3, public) for report in range(4)]
        assert sum(chances) == 1
        levels |= {*chances}
    assert max(levels) / min(levels) == channel.ratio() == 3


def test_the_rate_of_an_item_in_a_shared_cell_is_that_of_independent_cells() -> None:
    """From the law of the number of cells that m elements take, by its recursion."""
    cells, most, epsilon = 24, 4, 1.0
    spread: Any = sv.mechanism("cells", sv.Sets(range(50), most), epsilon=epsilon, cells=cells).channel
    own, other = map(float, spread.inner.item_rates())
    taken = np.zeros(most + 1)
    taken[0] = 1
    for _ in range(most):
        places = np.arange(most + 1)
        taken = taken * places / cells + np.concatenate([[0], (taken * (cells - places) / cells)[:-1]])
    held = float(taken @ np.arange(most + 1)) / cells
    assert float(spread.item_rates().other) == pytest.approx(held * own + (1 - held) * other, rel=1e-12)


def test_shares_of_thousands_of_neighbouring_items_lie_in_their_intervals() -> None:
    """Items with neighbouring numbers share cells no more often than others."""
    items, n = 2100, 10_000
    people = np.zeros((n, items), bool)
    people[: n // 2, 100:103] = True
    people[n // 2 :, ::1000] = True
    mechanism = sv.mechanism("cells", sv.Sets(range(items), 3), epsilon=4)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=2)))
    scores = (estimate.values - people.mean(axis=0)) / np.sqrt(
        mechanism.variance(people.mean(axis=0), n, target="sample")
    )
    assert 0.9 <= float(np.mean(scores**2)) <= 1.1 and abs(float(scores.mean())) < 0.1
    assert abs(float(estimate.sizes.values[3]) - 1) < 0.1


@pytest.mark.parametrize(("epsilon", "asked"), [("0.5", 1), (1, 1), (2, 2), (4, 3)])
def test_options_ask_about_more_items_where_the_budget_allows(epsilon: Any, asked: int) -> None:
    mechanism = sv.mechanism("options", sv.Sets(range(12)), epsilon=epsilon)
    channel: Any = mechanism.channel
    assert channel.window.asked == asked
    e, patterns = math.exp(float(epsilon)), 1 << asked
    own, other = (e + patterns / 2 - 1) / (e + patterns - 1), patterns / 2 / (e + patterns - 1)
    rare = 12 / asked * other * (1 - other) / (own - other) ** 2
    assert float(mechanism.variance([0] * 12, 10**6)[0]) * 10**6 == pytest.approx(rare, rel=1e-4)


def test_variances_of_sums_of_options_are_those_of_drawn_reports() -> None:
    """Two neighbouring items are asked about together: where they go together, the variance of their sum is larger."""
    mechanism = sv.mechanism("options", sv.Sets(range(3)), epsilon=3, asked=2)
    people = [[0, 1]] * 300 + [[]] * 700
    weights = np.array([1.0, 1, 0])
    draws = [mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=seed))) for seed in range(400)]
    spread = float(np.var([weights @ one.values for one in draws]))
    said = [float(one.evidence.functional(weights, Target.SAMPLE).covariance[0, 0]) for one in draws[:40]]
    assert spread == pytest.approx(float(np.mean(said)), rel=0.25)
    assert draws[0].evidence.sizes is None


def test_plans_ask_about_single_options_where_everything_may_be_ticked() -> None:
    for epsilon in (1, 2):
        plan = sv.plan(sv.SetShares(sv.Sets(range(20))), epsilon=epsilon, participants=5000)
        assert plan.best.method == "options"
    assert sv.plan(sv.SetShares(sv.Sets(range(20), 2)), epsilon=1, participants=5000).best.method == "mask"
    many = sv.plan(sv.SetShares(sv.Sets(range(30_000), 5)), epsilon=1, participants=5000, prior="rare")
    assert many.best.method == "cells" and many.best.bytes_per_report < 30


CASES = [
    ("mask", 3, 1, "1", ()),
    ("mask", 4, 2, "0.1", ()),
    ("padding-sampling", 4, 4, "1", pytest.mark.slow),
    ("mask", 70, 5, "8", pytest.mark.slow),
    ("mask", 130, 20, "0.1", pytest.mark.slow),
    ("cells", 40, 2, "1", ()),
    ("cells", 5, 5, "0.1", pytest.mark.slow),
    ("cells", 300, 3, "4", pytest.mark.slow),
    ("options", 8, 8, "1", ()),
    ("options", 9, 3, "2", pytest.mark.slow),
    ("options", 20, 20, "4", pytest.mark.slow),
]


@pytest.mark.parametrize(
    ("name", "items", "most", "epsilon"), [pytest.param(*case[:4], marks=case[4]) for case in CASES]
)
def test_registered_mechanisms_keep_the_contract(name: str, items: int, most: int, epsilon: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, sv.Sets(range(items), most), epsilon=epsilon), seed=seed % 1000, reports=2000)


def test_a_mechanism_refuses_a_hit_that_is_a_little_too_likely() -> None:
    mask = sv.mechanism("mask", sv.Sets(WAYS, 2), epsilon=1)
    channel: Any = mask.channel
    assert sv.audit(mask).ok
    with pytest.raises(sv.PrivacyError, match="more than"):
        replace(mask, channel=replace(channel, hit=channel.hit + (1 << 10)))


def one_report_covariance(mechanism: Mechanism, crowd: dict[int, float], weights: np.ndarray) -> float:
    """The variance of a weighted sum of shares of one report, over the enumerated law of a crowd."""
    first = second = 0.0
    for code, part in crowd.items():
        for (words, report), probability in law(mechanism.channel, code).items():
            score = float(weights @ from_cells(mechanism, 1, report_cells(mechanism, report, words)).values())
            first += part * float(probability) * score
            second += part * float(probability) * score**2
    return second - first**2


def test_variances_of_differences_allow_for_items_that_go_together() -> None:
    """Whether two items are held by the same people or never: the variance is never too small, and hardly too large."""
    mechanism = sv.mechanism("mask", sv.Sets(range(6), 2), epsilon=1, picked=2)
    channel: Any = mechanism.channel
    together = {0b11: 0.3, 0: 0.7}
    apart = {0b01: 0.3, 0b10: 0.3, 0: 0.4}
    rates, n = channel.item_rates(), 1 << 40
    held = np.array([0.3, 0.3, 0, 0, 0, 0])
    items = np.round(n * (float(rates.other) + held * float(rates.own - rates.other))).astype(np.int64)
    evidence = from_cells(mechanism, n, np.concatenate([items, [0, 0]]))
    for weights in (np.array([1.0, -1, 0, 0, 0, 0]), np.array([1.0, 1, 0, 0, 0, 0]), np.array([1.0, 0, -1, 0, 0, 0])):
        said = float(evidence.functional(weights, Target.POPULATION).covariance[0, 0]) * n
        true = [one_report_covariance(mechanism, crowd, weights) for crowd in (together, apart)]
        assert max(true) * (1 - 1e-6) <= said <= 1.12 * max(true)


def test_shares_and_numbers_of_items_of_a_simulation_lie_in_their_intervals() -> None:
    mechanism = sv.mechanism("mask", sv.Sets(WAYS, 3), epsilon=2)
    people = [["bus"], [], ["bus", "bike"], ["train", "car", "bus"], ["car"]] * 4000
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=3)))
    low, high = estimate.ci(0.999)
    assert ((low < [0.6, 0.4, 0.2, 0.2]) & (high > [0.6, 0.4, 0.2, 0.2])).all()
    sizes = estimate.sizes
    low, high = sizes.ci(0.999)
    assert [*sizes.labels] == [0, 1, 2, 3]
    assert ((low < [0.2, 0.4, 0.2, 0.2]) & (high > [0.2, 0.4, 0.2, 0.2])).all()
    assert estimate.values.sum() == pytest.approx(float(np.arange(4) @ sizes.values))  # both are the mean number
    assert estimate.to_frame()["value"].tolist() == WAYS


def test_some_items_are_estimated_as_all_are() -> None:
    mechanism = sv.mechanism("mask", sv.Sets(WAYS, 2), epsilon=2)
    tally = mechanism.tally(mechanism.privatize([["bus"], ["car", "train"]] * 300, seed=1))
    some, every = mechanism.estimate(tally, candidates=["train", "bus"]), mechanism.estimate(tally)
    assert some.values.tolist() == every.values[[3, 0]].tolist()
    with pytest.raises(sv.ParameterError, match="one tally"):
        some.sizes  # noqa: B018  (a property that refuses)


def test_two_tallies_of_sets_are_combined() -> None:
    parts = []
    for seed, epsilon in enumerate((1, 2)):
        mechanism = sv.mechanism("mask", sv.Sets(WAYS, 2), epsilon=epsilon)
        parts.append(mechanism.tally(mechanism.privatize([["bus"], ["car", "train"], []] * 500, seed=seed)))
    both = sv.combine(parts, people="different")
    low, high = both.ci(0.999)
    assert ((low < 1 / 3) & (high > 1 / 3))[[0, 1, 3]].all()
    assert both.std_errors[0] < sv.combine(parts[1:]).std_errors[0]


def test_answers_come_as_lists_sets_tables_and_texts() -> None:
    domain = sv.Sets(WAYS, 2)
    mechanism = sv.mechanism("mask", domain, epsilon=1)
    answers: list[Any] = [["bus"], {"car", "train"}, (), ["bike", "bus"]]
    table = np.array([[one in answer for one in WAYS] for answer in answers])
    written = [domain.typed(text) for text in ("bus", "car; train", "", " bike;bus ")]
    reports = [list(mechanism.privatize(form, seed=4)) for form in (answers, table, written)]
    assert reports[0] == reports[1] == reports[2]
    for wrong in ("bus", [["bus"] * 2], [WAYS], [["tram"]], [None], np.ones((2, 4), bool), np.ones((2, 3), bool)):
        with pytest.raises(sv.DomainError):
            mechanism.privatize(wrong, seed=4)


@pytest.mark.parametrize("items", [["a"], ["a", "a"], ["a;b", "c"], [" a", "b"], ["", "b"], ["a", 1], "ab"])
def test_lists_of_items_that_are_ambiguous_are_refused(items: Any) -> None:
    with pytest.raises(sv.ParameterError):
        sv.Sets(items, 1)


@pytest.mark.parametrize("most", [0, 5, "2", 1.5, True])
def test_the_most_items_of_an_answer_are_some_of_the_list(most: Any) -> None:
    with pytest.raises(sv.ParameterError, match="most"):
        sv.Sets(WAYS, most)


def test_the_best_size_is_one_for_few_items_and_large_budgets() -> None:
    cases = ((4, 2, 1), (1000, 10, 1), (1000, 10, 8))
    sizes = [best_size(items, most, Fraction(math.exp(epsilon))) for items, most, epsilon in cases]
    assert sizes == [1, 26, 1]


def test_plans_prefer_the_mask_and_predict_the_spread_of_simulations() -> None:
    question = sv.SetShares(sv.Sets(range(60), 4))
    plan = sv.plan(question, epsilon=1, participants=4000)
    assert [one.method for one in plan.options] == ["mask", "cells", "wheel", "padding-sampling", "options"]
    mechanism = plan.best.mechanism
    draws = np.random.default_rng(1)
    people = draws.random((4000, 60)) < 0.03
    people[people.sum(axis=1) > 4] = False
    errors = [
        mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=seed))).values - people.mean(axis=0)
        for seed in range(20)
    ]
    spread = math.sqrt(float(np.mean(np.square(errors))))  # for the sample: without the spread of people
    predicted = math.sqrt(float(np.mean(mechanism.variance(people.mean(axis=0), 4000, target="sample"))))
    assert spread == pytest.approx(predicted, rel=0.1)


STUDY = """
[study]
name = "travel"
owner = "A city"
contact = "privacy@example.org"
purpose = "To plan buses."
unit = "person"
epsilon = "2"

[questions.ways]
ask = "set-shares"
text = "Which of these did you use last week?"
items = ["bus", "car", "bike", "train"]
most = 2

[population.ways]
shares = { bus = 0.3, car = 0.5, bike = 0.2 }
"""


def test_a_study_file_asks_it_from_the_plan_to_the_results(tmp_path: Any) -> None:
    file = tmp_path / "travel.toml"
    file.write_text(STUDY, encoding="utf-8")
    study = sv.read_study(file)
    planned = sv.plan_study(study, participants=3000)
    assert "mask" in str(planned)
    answers = {"ways": ["bus; car", "", "bike", " train ;bus"] * 500}
    frame = sv.simulate_study(planned, answers, seed=5).to_frame()
    assert frame["label"].tolist()[:4] == WAYS and {*frame["measure"]} == {"share", "share with number of items"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('items = ["bus", "bus"]', "distinct"),
        ("most = 9", "most"),
        ('missing = ["refused"]\nmost = 2', "missing"),
        ('by = ["women", "men"]\nmost = 2', "by"),
    ],
)
def test_mistakes_of_a_study_file_are_said_in_a_sentence(line: str, said: str, tmp_path: Any) -> None:
    key = line.split(" ")[0]
    text = "\n".join(one for one in STUDY.splitlines() if not one.startswith((key, "most")))
    text = text.replace('ask = "set-shares"', f'ask = "set-shares"\n{line}')
    (tmp_path / "travel.toml").write_text(text, encoding="utf-8")
    with pytest.raises(sv.SottovoceError, match=said):
        sv.read_study(tmp_path / "travel.toml")


def test_hits_of_every_size_are_equally_likely_up_to_rounding() -> None:
    """Of a channel that draws the first hit, reports with one hit and with several have one probability."""
    channel: Any = sv.mechanism("mask", sv.Sets(range(4), 3), epsilon=1, picked=3).channel
    for code in channel.codes():
        levels = sorted({round(math.log(float(chance)), 9) for chance in law(channel, code).values()})
        assert len(levels) == 2 and levels[1] - levels[0] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("name", "items", "most"), [("mask", 50, 5), ("cells", 200, 5), ("options", 8, 8)])
def test_the_smallest_share_that_is_found_is_that_of_the_binomial_law(name: str, items: int, most: int) -> None:
    """The exact interval of all items at once excludes zero from a count on, which is reached with probability 0.95."""
    n, subject = 40_000, sv.mechanism(name, sv.Sets(range(items), most), epsilon=2)
    share: Any = smallest_share(subject, n, power=0.95, among=items)
    channel: Any = subject.channel
    own, other = map(float, channel.item_rates())
    reports = n * channel.window.asked // items if name == "options" else n
    critical = int(binom.isf(0.025 / items, reports, other)) + 1  # the least count whose upper tail is that small
    assert binom.sf(critical - 1, reports, other) <= 0.025 / items < binom.sf(critical - 2, reports, other)
    assert binom.sf(critical - 1, reports, other + share * (own - other)) == pytest.approx(0.95, abs=1e-6)
    plan = sv.plan(sv.SetShares(sv.Sets(range(items), most)), epsilon=2, participants=n, methods=[name])
    assert f"{100 * share:.2g} % of people" in plan.advice
