"""The search of an unknown range: everyone answers once, the range is a good one, and what clamping cost is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above, Clamp
from sottovoce.core.round import Arm, Round
from sottovoce.estimate.mean.clamped import StatedSquare
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State, play
from sottovoce.protocols.ranges.bits import ThresholdBits, short, spread
from sottovoce.protocols.ranges.far import far_distances
from sottovoce.protocols.ranges.mean import RangeSearchMean
from sottovoce.protocols.ranges.results import range_estimates
from sottovoce.protocols.ranges.tails import Tail, best_distances
from sottovoce.protocols.simulate import play_round
from sottovoce.tally.tally import Tally
from sottovoce.testing.statistics import ALPHA
from sottovoce_experiments.coverage.ranges import (
    coverages,
    draw_round,
    oracle_error,
    run_search,
    searches,
    squared_error,
)
from tests.each import for_each

WIDE = sv.Interval("-1e6", "1e6")


def bits_of(domain: Any, shares: dict[str, float], asked: int, epsilon: float = 2.0) -> ThresholdBits:
    """Answers that are exactly what is expected."""
    tallies = []
    for threshold, share in shares.items():
        mechanism = sv.mechanism("rr", Above(domain, threshold), epsilon=epsilon)
        rates: Any = mechanism.channel.rates()
        yes = round(asked * float(rates.other + (rates.own - rates.other) * Fraction(share)))
        tallies.append(Tally(mechanism, asked, np.array([asked - yes, yes])))
    return ThresholdBits.of(tallies)


# --- answers about thresholds ------------------------------------------------------------------------------------
def test_answers_about_one_threshold_are_put_together() -> None:
    mechanism = sv.mechanism("rr", Above(WIDE, 3), epsilon=1)
    bits = ThresholdBits.of([Tally(mechanism, 10, np.array([4, 6])), Tally(mechanism, 20, np.array([5, 15]))])
    assert (bits.thresholds.tolist(), bits.asked.tolist(), bits.yes.tolist()) == ([3.0], [30.0], [21.0])


def test_shares_and_crossings_are_those_of_the_answers() -> None:
    shares = {"-5": 0.98, "0": 0.8, "2": 0.6, "3": 0.4, "9": 0.1, "1000": 0.0}
    bits = bits_of(WIDE, shares, 100_000)
    assert bits.shares == pytest.approx(list(shares.values()), abs=2e-5)
    assert [bits.crossing(level) for level in (0.99, 0.75, 0.5, 0.25, 0.05)] == [0, 2, 3, 4, 5]


def test_what_is_certain_is_below_the_share_and_close_to_it() -> None:
    shares = {"0": 0.8, "2": 0.5, "3": 0.3, "9": 0.3, "1000": 0.3}
    certain = bits_of(WIDE, shares, 100_000).certain()
    assert (certain < list(shares.values())).all()
    assert certain == pytest.approx(list(shares.values()), abs=0.02)
    assert not bits_of(WIDE, {"0": 0.1, "5": 0.1}, 20).certain().any()


def test_sides_are_told_by_distance() -> None:
    bits = bits_of(WIDE, {"-5": 0.9, "0": 0.8, "2": 0.25}, 100_000)
    below, above = bits.side(1.0, above=False), bits.side(1.0, above=True)
    assert (below.thresholds.tolist(), above.thresholds.tolist()) == ([1.0, 6.0], [1.0])
    assert below.shares == pytest.approx([0.2, 0.1], abs=2e-5)
    assert above.shares == pytest.approx([0.25], abs=2e-5)


@pytest.mark.parametrize(
    ("number", "step", "toward", "text"),
    [
        (3.14159, 0.02, "nearest", "3.14"),
        (3.14159, 0.06, "down", "3.1"),
        (3.14159, 0.06, "up", "3.15"),
        (-7.3, 1, "down", "-8"),
        (86399.0, 250, "up", "86400"),
        (1e-7, 3e-8, "nearest", "1E-7"),
    ],
)
def test_public_numbers_have_few_digits(number: float, step: float, toward: str, text: str) -> None:
    assert short(number, step, toward=toward) == Decimal(text)


@pytest.mark.parametrize(
    "domain",
    [WIDE, sv.Interval(0, 86400), sv.Interval(5, 6), sv.Interval("-1e100", -1), sv.Integers(0, 1), sv.Integers(-9, 99)],
    ids=str,
)
def test_thresholds_split_the_domain_at_every_magnitude(domain: Any) -> None:
    places = spread(domain, float(domain.low), float(domain.high), 32)
    assert places == sorted(set(places))
    assert all(domain.low < place <= domain.high for place in places)
    if domain == WIDE:
        assert any(0 < place < 100 for place in places) and any(place > 500_000 for place in places)
        assert all(len(place.normalize().as_tuple().digits) <= 3 for place in places)


# --- the tails ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("shape", "name"), [(1.0, "exponential"), (1.7, "lighter"), (0.7, "heavier")])
def test_the_best_distance_is_near_the_one_of_the_true_law(shape: float, name: str) -> None:
    """With very many answers the choice is that of someone who knows the law, to within a few percent of the error."""
    scale, noise, reach = 10.0, 0.003, 1e4
    places = np.geomspace(2, 100, 12)
    shares = {f"{place:.3f}": 0.5 * float(np.exp(-((place / scale) ** shape))) for place in places}
    tail = Tail(bits_of(WIDE, shares, 10**7), reach)
    _, best = best_distances(None, tail, noise)
    grid = np.linspace(0, 1000, 200_001)
    survival = 0.5 * np.exp(-((grid / scale) ** shape))
    excess = np.cumsum(survival[::-1])[::-1] * (grid[1] - grid[0])
    error = np.sqrt(excess**2 + (noise * grid) ** 2)
    assert np.interp(best, grid, error) < 1.05 * error.min(), name


def test_far_answers_that_are_certain_widen_the_range() -> None:
    near = {"1": 0.3, "2": 0.2, "3": 0.13, "5": 0.12}
    far = {"100": 0.12, "900": 0.12, "1100": 0.0}
    reach = 1e5
    _, without = best_distances(None, Tail(bits_of(WIDE, {**near, "100": 0.0}, 10**6), reach), 0.003)
    _, best = best_distances(None, Tail(bits_of(WIDE, {**near, **far}, 10**6), reach), 0.003)
    assert without < 100 < 800 < best


# --- far places --------------------------------------------------------------------------------------------------
NEAR = {"1": 0.3, "2": 0.2, "3": 0.13, "5": 0.05, "8": 0.01}


def far_tail(far: dict[str, float], asked: int = 100_000) -> Tail:
    return Tail(bits_of(WIDE, {**NEAR, **far}, asked), 1e4)


def test_the_first_round_about_far_places_reaches_from_the_end_to_the_domain() -> None:
    first = far_distances(far_tail({}), 10.0, 0)
    assert first[0] == pytest.approx(13) and len(first) == 6 and 1000 < first[-1] < 1e4
    assert np.diff(np.log(first)) == pytest.approx(np.diff(np.log(first))[0])
    assert not far_distances(Tail(bits_of(WIDE, NEAR, 1000), 15.0), 10.0, 0), "the domain ends there"


def test_quiet_far_thresholds_end_the_search() -> None:
    """A share that the tail explains, or none, asks nobody else."""
    quiet = {"20": 0.0, "200": 0.0, "2000": 0.0}
    assert not far_distances(far_tail(quiet), 10.0, 1)


def test_a_doubtful_far_place_is_asked_about_again() -> None:
    """2 % beyond 200 are 2.6 standard errors with so few answers: neither certain nor to be forgotten."""
    tail = far_tail({"20": 0.02, "200": 0.02, "2000": 0.0}, asked=2500)
    assert not tail.bits.certain()[-3:].any()
    assert far_distances(tail, 10.0, 1) == [20.0, 200.0]


def test_a_certain_far_place_is_narrowed_down_and_included() -> None:
    far = {"20": 0.05, "200": 0.05, "400": 0.05, "800": 0.0, "2000": 0.0}
    tail = far_tail(far)
    assert tail.outermost[:2] == (400.0, 800.0) and tail.outermost.share == pytest.approx(0.05, abs=1e-3)
    between = far_distances(tail, 10.0, 2)
    assert len(between) == 3 and min(between) > 400 and max(between) < 800
    narrow = {**far, "720": 0.05}
    assert not far_distances(far_tail(narrow), 10.0, 3), "close enough"
    _, best = best_distances(None, Tail(bits_of(WIDE, {**NEAR, **narrow}, 100_000), 1e4, 13.0), 0.002)
    assert 720 < best < 1000


@pytest.mark.slow
def test_a_far_place_is_found(seed: int) -> None:
    """5 % of the answers at 700, in a domain up to 10,000: at epsilon 4 nearly every search includes them."""
    rng = np.random.default_rng(seed)
    population = np.sort(np.where(rng.random(20_000) < 0.95, rng.gamma(4, 10, 20_000), 700.0))
    history, last = run_search(RangeSearchMean(sv.Interval(0, 10_000), 4, 100_000, method="bernoulli"), population, rng)
    ends = last.arms[0].mechanism.domain.numbers
    assert ends is not None and 690 <= ends.high < 1500
    assert sum(tally.n for tallies in history for tally in tallies) <= 0.46 * 100_000


# --- rounds ------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_everyone_answers_once_and_no_round_costs_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    protocol = RangeSearchMean(sv.Interval(0, 10_000), 1, 20_000, method="bernoulli")
    answers = rng.exponential(20, 20_000)
    asked = 0

    def ask(stage: Round, number: int) -> Any:
        nonlocal asked
        assert stage.epsilon <= 1
        n = len(answers) - asked if stage.quota is None else stage.quota
        asked += n
        return play_round(stage, answers[asked - n : asked], seed=seed + number)

    last = play(protocol, ask)
    history, stage = last.history, last.estimates
    assert asked == len(answers)
    assert 3 <= len(history) <= protocol.rounds + 7
    search = history[:-1]
    assert all(isinstance(tally.mechanism.domain, Above) for tallies in search for tally in tallies)
    assert all(tally.mechanism.cells == 2 for tallies in search for tally in tallies), "one bit each"
    assert sum(tally.n for tallies in search for tally in tallies) == stage["range"].evidence.searchers
    assert sum(tally.n for tally in history[-1]) == stage["clamped"].n + stage["clipping"].n + stage["range"].n
    assert stage["corrected"].n == stage["clamped"].n + stage["clipping"].n


@pytest.mark.slow
@pytest.mark.parametrize("domain", [sv.Interval(0, 1000), sv.Integers(0, 1000)], ids=str)
def test_stop_save_load_and_go_on_gives_the_same(domain: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.geometric(0.1, 8000)
    protocol = RangeSearchMean(domain, 2, 8000, method="bernoulli")
    state, left = State.first(protocol), answers
    while state.round.quota is not None:
        after = state.after(play_round(state.round, left[: state.round.quota], seed=seed))
        left = left[state.round.quota :]
        state = resume(checkpoint(after))
        assert state.protocol == protocol and state.history == after.history and state.round == after.round
    one, other = (sv.simulate(one.protocol, left, seed=1, state=one) for one in (after, state))
    assert list(one) == ["mean", "clamped", "clipping", "corrected", "range"]
    warnings.simplefilter("ignore", sv.PoorIntervalWarning)
    for name in one:
        assert one[name].values.tolist() == other[name].values.tolist()
        assert np.array_equal(one[name].ci(), other[name].ci())
    assert protocol_from_spec(protocol_spec(protocol)) == protocol


def test_batches_and_laws_give_the_same_search(seed: int) -> None:
    """The tallies that are drawn from laws in the measurements are those of participants: the same shares."""
    population = np.sort(np.random.default_rng(seed).exponential(20, 4000))
    protocol = RangeSearchMean(sv.Interval(0, 1000), 3, 40_000, method="bernoulli")
    rng = np.random.default_rng(seed)
    drawn, stage = run_search(protocol, population, rng)
    played = play_round(protocol.start(), rng.choice(population, 4000), seed=seed)
    one, other = ThresholdBits.of(played), ThresholdBits.of(drawn[0])
    error = np.sqrt(0.25 / (one.own - one.other) ** 2 * (1 / one.asked + 1 / other.asked))
    assert (np.abs(one.shares - other.shares) < 6 * error).all(), f"alarm with probability below {ALPHA}"
    last = draw_round(stage, population, 400_000, rng)
    ends = stage.arms[0].mechanism.domain.numbers
    assert ends is not None
    truth = np.clip(population, float(ends.low), float(ends.high)).mean()
    low, high = range_estimates(protocol.domain, last, 0)["clamped"].ci(1 - ALPHA)
    assert low[0] < truth < high[0]


# --- results -----------------------------------------------------------------------------------------------------
def known_last(domain: Any, low: Any, high: Any, answers: Any, seed: int, *, epsilon: float = 4) -> dict[str, Any]:
    """The results of a last round with many participants in every arm."""
    arms = [Arm("number", sv.mechanism("bernoulli", Clamp(domain, low, high), epsilon=epsilon))]
    for start, end, at in ((domain.low, low, low), (high, domain.high, high)):
        if start < end:
            arms.append(Arm(f"share {at}", sv.mechanism("rr", Above(domain, at), epsilon=epsilon)))
            arms.append(Arm(f"rest {at}", sv.mechanism("bernoulli", Clamp(domain, start, end), epsilon=epsilon)))
    return dict(range_estimates(domain, play_round(Round(tuple(arms)), answers, seed=seed), 7))


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (-2, 3), (-1, 10), (-2, 10)])
def test_clamped_plus_what_was_cut_is_the_mean(low: int, high: int, seed: int) -> None:
    domain = sv.Interval(-2, 10)
    answers = np.tile([-2.0, -1.5, 0.0, 1.0, 2.5, 4.0, 10.0, 8.0], 25_000)
    result = known_last(domain, low, high, answers, seed)
    clamped = np.clip(answers, low, high).mean()
    level = 1 - ALPHA
    for name, truth in (("clamped", clamped), ("clipping", clamped - answers.mean()), ("corrected", answers.mean())):
        left, right = result[name].ci(level)
        assert left[0] <= truth <= right[0], f"{name}: alarm with probability {ALPHA}"
        assert right[0] - left[0] < 0.5
    assert result["corrected"].value == pytest.approx(result["clamped"].value - result["clipping"].value, abs=1e-9)
    assert result["mean"].value == result["clamped"].value
    left, right = result["mean"].ci()
    assert left[0] <= result["clamped"].ci(0.975).low[0] and right[0] >= result["clamped"].ci(0.975).high[0]
    assert left[0] <= answers.mean() <= right[0]
    beyond = result["range"]
    assert (beyond.evidence.low, beyond.evidence.high) == (low, high)
    truth = [(answers < low).mean()] * (low > -2) + [(answers >= high).mean()] * (high < 10)
    bounds = beyond.ci(level, simultaneous=True) if truth else ((), ())
    assert all(a <= share <= b for a, share, b in zip(bounds[0], truth, bounds[1], strict=True))
    assert len(beyond.labels) == len(truth)
    if not truth:
        assert result["clipping"].value == 0 and result["clipping"].std_errors[0] == 0
        assert "Nothing lies beyond" in beyond.explain()
    else:
        assert "7 participants were asked" in beyond.explain() and "interval" in beyond.explain()
    assert all("interval" in result[name].explain() for name in ("mean", "clipping", "corrected", "clamped"))


def test_an_arm_without_reports_is_one_sentence() -> None:
    domain = sv.Interval(0, 10)
    mechanism = sv.mechanism("bernoulli", Clamp(domain, 0, 5), epsilon=1)
    with pytest.raises(sv.ParameterError, match="at least one report"):
        range_estimates(domain, [Tally.empty(mechanism)], 0)


# --- where data lie ----------------------------------------------------------------------------------------------
def places(rng: np.random.Generator) -> dict[str, tuple[Any, Any, float, float]]:
    """Answers, domain, and between which ends a sensible range lies."""
    n = 20_000
    both = np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(1000, 1, n))
    return {
        "narrow": (rng.normal(1000, 1, n), WIDE, 950, 1050),
        "constant": (np.full(n, 5.0), sv.Interval(0, 10), 4.9, 5.1),
        "constant integers": (np.full(n, 7), sv.Integers(0, 1000), 5, 9),
        "at the low end": (rng.exponential(1, n), sv.Interval(0, "1e6"), 0, 60),
        "at the high end": (100 - rng.exponential(1, n), sv.Interval(-100, 100), 80, 100),
        "two clusters": (both, WIDE, -8000, 9000),
        "two values": (rng.integers(0, 2, n), sv.Integers(0, 1), 0, 1),
        "fills its range": (rng.uniform(0, 1, n), sv.Interval(0, 1), 0, 1),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", places(np.random.default_rng(0)))
def test_the_range_lies_where_the_answers_do(name: str, seed: int) -> None:
    """The ends that must hold are far wider than what is found in nearly all runs; the seed is fixed."""
    answers, domain, low, high = places(np.random.default_rng(seed))[name]
    result = sv.simulate(RangeSearchMean(domain, 2, len(answers), method="bernoulli"), answers, seed=seed)
    ends = result["range"].evidence
    assert low <= ends.low < ends.high <= high
    clamped = np.clip(answers, float(ends.low), float(ends.high)).mean()
    left, right = result["clamped"].ci(1 - ALPHA)
    assert left[0] <= clamped <= right[0]
    assert float(ends.low) <= np.median(answers) <= float(ends.high)


@pytest.mark.slow
def test_a_thousand_participants_are_enough_for_a_rough_range(seed: int) -> None:
    answers = np.random.default_rng(seed).normal(50, 5, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.PoorIntervalWarning)
        result = sv.simulate(RangeSearchMean(sv.Interval(0, 1000), 2, 1000, method="bernoulli"), answers, seed=seed)
        low, high = result["mean"].ci()
    assert 0 <= result["range"].evidence.low < 50 < result["range"].evidence.high < 400
    assert low[0] < 50 < high[0]


# --- what is refused ---------------------------------------------------------------------------------------------
@for_each(
    "change,message",
    [
        ({"domain": sv.Categories(["a", "b"])}, "'domain' parameter of a range search must be an Interval or Integers"),
        ({"domain": sv.Interval("0.1", "0.10000000000000000001")}, "numbers between its ends"),
        ({"epsilon": 0}, "'epsilon'"),
        ({"participants": 900}, "At epsilon 1 a range search needs at least 937 participants"),
        ({"participants": 1.5}, "'participants'"),
        ({"method": "grr"}, "'method' parameter of a range search must be one of"),
        ({"search": 0}, "'search'"),
        ({"search": "0.95"}, "'search'"),
        ({"tails": 0}, "'tails'"),
        ({"rounds": 1}, "'rounds'"),
    ],
)
def test_bad_parameters_are_one_sentence(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"domain": WIDE, "epsilon": 1, "participants": 10_000, **change}
    with pytest.raises(sv.ParameterError, match=message):
        RangeSearchMean(**given)


def test_too_few_participants_for_a_round_are_one_sentence(seed: int) -> None:
    with pytest.raises(sv.ParameterError, match="waits for"):
        sv.simulate(RangeSearchMean(WIDE, 1, 100_000, method="bernoulli"), np.zeros(2000), seed=seed)


def test_answers_outside_the_wide_domain_are_refused() -> None:
    with pytest.raises(sv.DomainError):
        sv.simulate(RangeSearchMean(sv.Interval(0, 10), 2, 1000, method="bernoulli"), np.full(1000, 11.0), seed=1)


# --- how good ----------------------------------------------------------------------------------------------------
DATA = {
    "taxi": ("nyc_green_taxi_january.parquet", "duration_s", sv.Interval(0, 86_400)),
    "medications": ("diabetes_130_hospitals.parquet", "num_medications", sv.Integers(0, 1000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 2])
@pytest.mark.parametrize("name", DATA)
def test_nearly_as_good_as_an_oracle_on_real_answers(
    name: str, epsilon: int, shared_data: Callable[[str], Path], seed: int
) -> None:
    """Within 1.3 times the error of one who knew the quantiles; the measured ratio has a standard error of 3 %."""
    file, column, domain = DATA[name]
    answers = pq.read_table(shared_data(file), columns=[column])[column].to_numpy().astype(float)
    n = 100_000
    runs = list(searches(RangeSearchMean(domain, epsilon, n), answers, 10, seed))
    oracle = oracle_error(answers, n, method="designed", epsilon=epsilon)
    ratio = np.sqrt(np.mean([run.squared_error for run in runs]) / oracle)
    assert ratio < 1.3
    assert all(0.15 * n <= run.searchers <= 0.45 * n and run.rounds <= 12 for run in runs)


@pytest.mark.slow
def test_a_whole_simulation_has_the_error_that_is_expected(shared_data: Callable[[str], Path], seed: int) -> None:
    """Participants, reports and tallies: the error is within 5 of the standard errors that the formula says."""
    file, column, domain = DATA["medications"]
    answers = pq.read_table(shared_data(file), columns=[column])[column].to_numpy()[:100_000]
    result = sv.simulate(RangeSearchMean(domain, 2, len(answers)), answers, seed=seed)
    ends = float(result["range"].evidence.low), float(result["range"].evidence.high)
    expected = squared_error(answers.astype(float), *ends, result["clamped"].n, method="designed", epsilon=2)
    bias = np.clip(answers, *ends).mean() - answers.mean()
    assert abs(result["mean"].value - answers.mean()) < 5 * np.sqrt(expected)
    assert result["clamped"].std_errors[0] == pytest.approx(np.sqrt(expected - bias**2), rel=0.02)
    low, high = result["mean"].ci(1 - ALPHA)
    assert low[0] < answers.mean() < high[0]


@pytest.mark.slow
def test_intervals_cover(seed: int) -> None:
    """1,600 draws: a right interval lies outside these bounds with probability below 1e-3."""
    population = np.minimum(np.random.default_rng(seed).lognormal(2, 0.7, 20_000), 10_000)
    rows = coverages(sv.Interval(0, 10_000), population, 20_000, 2, runs=8, draws=200, seed=seed)
    found = {row.of: row.coverage or 0.0 for row in rows}
    assert 0.93 <= found["clamped"] <= 0.97
    assert 0.93 <= found["corrected"] <= 0.97
    assert found["mean"] >= 0.95


# --- a stated mean square ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("end", [-3.0, 0.5, 4.0, 40.0])
def test_a_stated_mean_square_bounds_what_lies_beyond_an_end(shape: float, end: float) -> None:
    """Numbers with that mean square, and everyone's answer known: the bound holds, and two points reach it."""
    numbers = np.random.default_rng(3).gamma(shape, 4, 100_000)
    beyond = np.array([0, (numbers >= end).sum()])
    stated = StatedSquare(float((numbers**2).mean()), beyond, np.full(2, len(numbers)), 1.0, 0.0)
    assert stated.most(1, end, 0.95) >= np.maximum(numbers - end, 0).mean()
    if end > 0:  # a share p of all at twice the end, the rest at zero
        two = StatedSquare(4 * end**2 * 0.1, np.array([0, 10**8]), np.full(2, 10**9), 1.0, 0.0)
        assert two.most(1, end, 0.95) == pytest.approx(0.1 * end, rel=1e-3)


def test_a_stated_mean_square_makes_the_interval_of_a_mean_narrower() -> None:
    numbers = np.minimum(np.random.default_rng(1).lognormal(2, 0.7, 8_000), 1e5).round(2)
    widths = []
    for stated in (None, "400"):
        protocol = RangeSearchMean(sv.Interval(0, 100_000), 3, len(numbers), mean_square=stated)
        mean = sv.simulate(protocol, numbers, seed=1)["mean"]
        (low,), (high,) = mean.ci()
        assert low <= numbers.mean() <= high
        widths.append(high - low)
    assert (numbers**2).mean() < 400 and widths[1] < 10 < 100 < widths[0]
    with pytest.raises(sv.ParameterError, match="'mean_square'"):
        RangeSearchMean(sv.Interval(0, 100), 3, 8_000, mean_square=-1)
