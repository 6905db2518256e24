"""Plans: ranked by the exact error, with reasons that are true, and errors that are met."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Bins
from sottovoce.core.exchange import codec
from sottovoce.core.registry import SAME_LAW
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.study.detect import smallest_share
from sottovoce.study.planners.frequency import CLOSE, LARGE, _rank
from sottovoce.tally.counts import simulate_cells

SIZES, EPSILONS = (2, 3, 5, 16, 100, 1024), (0.2, 1.0, 2.0, 4.0, 8.0)
GRID = [(size, epsilon) for size in SIZES for epsilon in EPSILONS]
N = 20_000


def plan(size: int, epsilon: float, **options: Any) -> sv.Plan:
    return sv.plan(sv.Frequency(sv.Integers(0, size - 1)), epsilon=epsilon, participants=N, **options)


def fitting(size: int, epsilon: float) -> list[sv.Mechanism]:
    """Every registered mechanism that can ask this, each law once."""
    found = []
    for name in sv.names(sv.Frequency):
        if name in SAME_LAW:
            continue
        try:
            found.append(sv.mechanism(name, sv.Integers(0, size - 1), epsilon=epsilon))
        except sv.ParameterError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("size", "epsilon"), GRID)
def test_options_are_ranked_by_their_exact_error(size: int, epsilon: float) -> None:
    """Those within 5 % of the lowest mean squared error come first, the shortest reports ahead; the rest by error."""
    made = plan(size, epsilon)
    errors = {}
    for m in fitting(size, epsilon):
        # Memos need a file on the device, and permutations a very large tally: these are planned when named.
        if m.claimed_forever is not None or m.cells > LARGE * size or not m.guarantee.is_pure:
            continue
        # All but d-bit-flip have exactly this error with N participants: there some values are asked about more often.
        variance = float(np.mean(m.variance(np.full(size, 1 / size), 1 << 30))) * (1 << 30) / N
        errors[m.fingerprint] = math.sqrt(variance)
        assert np.mean(m.variance(np.full(size, 1 / size), N)) == pytest.approx(variance, rel=size / N)
    planned = {option.mechanism.fingerprint: option.std_error for option in made.options}
    assert planned == pytest.approx(errors, rel=1e-12)
    assert made.best is made.options[0]
    least = min(errors.values())
    close = [option for option in made.options if option.std_error <= CLOSE * least]
    assert tuple(close) == made.options[: len(close)]
    keys = [(option.bytes_per_report, option.std_error) for option in close]
    assert keys == sorted(keys)
    rest = [option.std_error for option in made.options[len(close) :]]
    assert rest == pytest.approx(sorted(rest), rel=1e-12)
    for option in made.options:
        assert option.bytes_per_report == codec.payload_bytes(option.mechanism.channel)
        assert option.bytes_per_report == len(option.mechanism.randomize(0)) - codec.ID_BYTES


@pytest.mark.parametrize(("size", "epsilon"), GRID)
def test_reasons_are_true(size: int, epsilon: float) -> None:
    made = plan(size, epsilon)
    least = min(option.std_error for option in made.options)
    for option in made.options:
        ratio = option.std_error / least
        if "no method has a smaller error" in option.reason:
            assert ratio == 1
        elif found := re.search(r"within ([\d.]+) % of the smallest", option.reason):
            assert 1 < ratio <= 1 + float(found[1]) / 100 + 1e-12
            assert ratio > 1 + (float(found[1]) - 0.1) / 100 - 1e-12, "the percentage is no larger than it must be"
        else:
            found = re.search(r"([\d.e+]+) times the smallest error", option.reason)
            assert found is not None and ratio > CLOSE
            assert float(found[1]) == pytest.approx(ratio, rel=0.006)
        sizes = re.search(r"reports ([\d.e+-]+) times the size", option.reason)
        times = option.bytes_per_report / made.best.bytes_per_report
        assert float(sizes[1] if sizes else 1) == pytest.approx(times, rel=0.006)
        assert option.reason.endswith(".")
    assert "times the size" not in made.best.reason


def test_shares_change_the_ranking_and_the_errors() -> None:
    shares = np.array([0.9, 0.1, 0, 0])
    for option in plan(4, 1.0, prior=shares).options:
        assert option.std_error == pytest.approx(math.sqrt(option.mechanism.variance(shares, N).mean()), rel=1e-12)


def test_methods_are_chosen_by_name() -> None:
    made = plan(16, 1.0, methods=["oue", "grr"])
    assert {option.mechanism.name for option in made.options} == {"oue", "grr"}
    assert [option.mechanism.name for option in plan(16, 1.0, methods=("k-rr",)).options] == ["grr"]


def test_twice_the_error_for_a_quarter_of_the_participants() -> None:
    few, many = (sv.plan(sv.Frequency(sv.Integers(0, 9)), epsilon=1, participants=n) for n in (1000, 4000))
    assert few.best.std_error == pytest.approx(2 * many.best.std_error, rel=1e-12)
    assert [option.mechanism for option in few.options] == [option.mechanism for option in many.options]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (5, 0.5), (16, 1.0), (64, 3.0), (100, 1.0), (300, 4.0)])
def test_the_predicted_error_of_the_best_is_measured(size: int, epsilon: float, seed: int) -> None:
    """Root mean square over all values, of people drawn from a population with these shares: within 5 %.

    4000 tallies of 2 values or more: the standard error of the measured one is below 1.2 %, four times in 5 %.
    """
    shares = np.random.default_rng(seed).dirichlet(np.ones(size))
    made = plan(size, epsilon, prior=shares)
    best = made.best.mechanism
    rng = np.random.default_rng(seed + 1)
    people, each = 40, 100
    square = 0.0
    for crowd in range(people):
        held = rng.multinomial(N, shares)
        joint = not best.channel.publics and (best.statistic == "outputs" or size <= 16)
        cells = simulate_cells(best, held, runs=each, seed=seed + crowd, joint=joint)
        values = np.array([from_cells(best, N, row).values() for row in cells])
        square += float(((values - held / N) ** 2).mean()) / people
    # The privacy noise is measured, given who is asked; who is asked adds the variance of a multinomial.
    measured = math.sqrt(square + float((shares * (1 - shares)).mean()) / N)
    assert measured == pytest.approx(made.best.std_error, rel=0.05)


def test_a_plan_can_be_read_and_tabulated() -> None:
    made = plan(100, 1.0)
    text = made.explain()
    assert text == str(made)
    first, *lines, advice, trusted = text.splitlines()
    assert trusted.startswith("A trusted server that knew all answers would add noise of standard error 0.00014 ")
    assert first.startswith("Shares of 100 categories at epsilon 1.0, 20,000 participants;")
    assert first.endswith("a share, root mean square over all shares:")
    assert advice == made.advice and advice.startswith(f"Take {made.best.method}: with 20,000 participants")
    assert len(lines) == len(made.options)
    for place, (line, option) in enumerate(zip(lines, made.options, strict=True), 1):
        assert line.startswith(f"{place}. {option.mechanism.name}: standard error {option.std_error:.4g},")
        assert option.reason in line
    frame = made.to_frame()
    assert list(frame.columns) == ["method", "decoder", "std_error", "half_width", "bytes", "reason"]
    assert set(frame["decoder"]) == {"linear"}
    assert frame["method"].tolist() == [option.mechanism.name for option in made.options]
    assert frame["std_error"].tolist() == [option.std_error for option in made.options]


def test_texts_and_views_can_be_planned() -> None:
    ages = Bins.even(sv.Integers(18, 97), 8)
    for domain in (sv.Categories(["lark", "owl"]), ages):
        made = sv.plan(sv.Frequency(domain), epsilon="0.5", participants=100)
        assert made.best.mechanism.domain == domain
        assert made.participants == 100


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": -1}, "The 'epsilon' parameter of plan must be a number in (0, 20]. Got -1."),
        ({"epsilon": float("nan")}, "'epsilon'"),
        ({"epsilon": None}, "two of epsilon"),
        ({"participants": 0}, "'participants'"),
        ({"participants": 10.5}, "'participants'"),
        ({"domain": sv.Interval(0, 1)}, "finitely many codes"),
        ({"domain": [1, 2, 3]}, "finitely many codes"),
        ({"domain": sv.Integers(0, 1 << 25)}, "2**24"),
        ({"domain": sv.Integers(0, (1 << 32) - 1)}, "2**24"),
        ({"methods": ["grr", "oeu"]}, "no mechanism of this name"),
        ({"methods": []}, "Tried: none."),
        ({"methods": ["grr", "laplace"]}, "names among"),
        ({"mechanism": "grr"}, "'mechanism'"),
        ({"prior": [0.5, 0.5]}, "4 shares that sum to 1"),
        ({"prior": [0.5, 0.6, 0.1, 0.1]}, "'prior'"),
        ({"prior": [1.5, -0.5, 0, 0]}, "'prior'"),
        ({"prior": [float("nan")] * 4}, "'prior'"),
        ({"prior": {"a": 1}}, "'prior'"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_refused_in_one_sentence(change: dict[str, Any], said: str) -> None:
    question = {"domain": sv.Integers(0, 3), "epsilon": 1.0, "participants": 100, **change}
    domain = question.pop("domain")
    with pytest.raises(sv.ParameterError) as caught:
        sv.plan(sv.Frequency(domain), **question)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# --- direct encoding or unary encoding -------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_between_grr_and_oue_a_rare_value_decides_by_the_published_rule(epsilon: float) -> None:
    """k < 3 e**epsilon + 2, by the exact errors of the planner, on both sides of the border and far from it."""
    border = 3 * math.exp(epsilon) + 2
    for size in (3, math.floor(border), math.floor(border) + 1, math.ceil(2 * border)):
        made = plan(size, epsilon, methods=["grr", "oue"], prior="rare", target="sample")
        errors = {option.method: option.std_error for option in made.options}
        assert (errors["grr"] < errors["oue"]) == (size < border)
        assert made.measure == "a share of zero"
        expected = [(math.exp(epsilon) + size - 2), 4 * math.exp(epsilon)]
        scale = math.sqrt(N) * (math.exp(epsilon) - 1)
        assert [errors["grr"] * scale, errors["oue"] * scale] == pytest.approx(np.sqrt(expected), rel=1e-9)


def test_if_all_values_are_equally_common_grr_is_best_less_long() -> None:
    """The rule neglects the share itself, where the reports of holders are noisier than those of all others."""
    errors = [
        {option.method: option.std_error for option in plan(size, 4.0, methods=["grr", "oue"]).options}
        for size in (134, 135, 165)
    ]
    assert [one["grr"] < one["oue"] for one in errors] == [True, False, False]


# --- the inverse -----------------------------------------------------------------------------------------------------
def test_participants_and_epsilon_for_one_point() -> None:
    question = sv.Frequency(sv.Integers(0, 15))
    methods = ["grr", "oue", "subset"]  # whose tallies can be drawn as a whole
    by_people = sv.plan(question, epsilon=1, half_width="0.01", methods=methods)
    by_epsilon = sv.plan(question, participants=by_people.participants, half_width="0.01", methods=methods)
    assert by_people.best.half_width() <= 0.01 and by_epsilon.best.half_width() <= 0.01
    assert by_epsilon.epsilon <= 1
    low, high = by_people.best.mechanism.estimate(
        sv.simulate_counts(by_people.best.mechanism, np.full(16, by_people.participants // 16), seed=1)
    ).ci()
    assert (high - low).mean() / 2 == pytest.approx(0.01, rel=0.03)


@pytest.mark.parametrize(("name", "epsilon", "among"), [("oue", 1.0, 1), ("grr", 3.0, 16), ("hadamard", 1.0, 1)])
def test_the_smallest_share_is_distinguished_from_zero_as_often_as_promised(
    name: str, epsilon: float, among: int
) -> None:
    """By the shipped exact interval: from the law of its counts, or drawn for Hadamard sums."""
    n, power = 20_000, 0.8
    m = sv.mechanism(name, sv.Integers(0, 15), epsilon=epsilon)
    share = smallest_share(m, n, power=power, among=among)
    assert share is not None
    level = 1 - 0.05 / among
    held = np.array([round(share * n), *[(n - round(share * n)) // 15] * 15])
    total = int(held.sum())
    cells = simulate_cells(m, held, runs=600, seed=1)
    told = [
        from_cells(m, total, row).restricted(np.zeros(1, np.int64), (0,)).exact(level, "population").low[0] > 0
        for row in cells
    ]
    assert np.mean(told) == pytest.approx(power, abs=5 * math.sqrt(power * (1 - power) / 600))
    less = smallest_share(m, 4 * n, power=power, among=among)
    assert less == pytest.approx(share / 2, rel=0.05)


def test_no_share_is_distinguished_from_zero_by_one_report_and_the_advice_says_what_can_be() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    assert smallest_share(m, 1) is None
    assert (
        "no share can be distinguished from zero"
        in sv.plan(sv.Frequency(sv.Integers(0, 3)), epsilon=1, participants=2).advice
    )
    made = plan(16, 1.0)
    share = smallest_share(made.best.mechanism, N)
    assert f"A share of {share:.3g} is distinguished from zero with probability 80 %" in made.advice
    for wrong in ({"level": 1.5}, {"power": 0.0}, {"among": 0}):
        with pytest.raises(sv.ParameterError):
            smallest_share(m, 10, **wrong)


def test_close_methods_are_within_five_percent_and_hashing_many_candidates_comes_last() -> None:
    assert pytest.approx(1.05, rel=1e-12) == CLOSE**2
    few, many = (sv.mechanism("olh", sv.Integers(1, size), epsilon=1) for size in (4096, 4097))
    assert not _rank(few, CLOSE, 8)[0] and _rank(few, 1.0001 * CLOSE, 8)[0]
    assert _rank(few, 1.0, 8) < _rank(many, 1.0, 8)
