"""Duration: samplers do the same work for every answer and coin, clients return at a tick, and leaks are measured."""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.cli.durations import show, verdict
from sottovoce.client import Untimed
from sottovoce.client.tick import SHORTEST, SPIN, STEPS, Tick, public_tick
from sottovoce.core.arithmetic.field import is_order, multiply, polynomial
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Rounding
from sottovoce.core.coins import Coins, SeededCoins, SystemCoins
from sottovoce.core.domain import Bins
from sottovoce.core.exact import TreeCoins, law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import names
from sottovoce.privacy.duration import (
    CAUTION,
    CLASSES,
    CONTROL_NAME,
    LONG,
    DurationRow,
    DurationWindow,
    Timed,
    _best_window,
    _thresholds,
    bound,
    leaky_grr,
    measure,
    pure_names,
    subject,
    timed,
)
from sottovoce.privacy.events import scores

COINS = 60  # different coins that each answer is drawn with
BALLS = {"duchi-l2", "priv-unit", "priv-unit-g", "proj-unit"}  # whose guarantee is not pure
MEMOS = ("basic-rappor", "rappor", "bernoulli-memo", "d-bit-flip-memo", "loloha")  # whose duration is that of a file
PURE = [name for name in names() if name not in (*BALLS, *MEMOS)]  # proven below; `pure_names` builds all of them
# By searches; tables and blocks, as those of other mechanisms.
DESIGNED = {"designed", "group-designed", "n-output", "coded-wave", "mixed-wave", "designed-distribution"}
built_once = pytest.mark.xdist_group("subjects of durations")


# --- the same work -----------------------------------------------------------------------------------------------
def calls(work: Callable[[], object]) -> int:
    """How many functions are called, of Python and of C."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # what other tests left to be collected would be called here
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def call_counts(mechanism: Mechanism, value: object) -> set[int]:
    """The numbers of calls that one answer takes, over many coins."""
    mechanism.randomize(value)  # what is made once is made now
    found = set()
    for seed in range(COINS):
        coins = SeededCoins(seed)
        found.add(calls(lambda coins=coins: mechanism.randomize(value, coins)))  # type: ignore[misc]
    return found


def answers(mechanism: Mechanism, pairs: Any) -> Iterator[object]:
    """The inputs of the measurement, and a few between."""
    for _, first, second in pairs:
        yield from (first, second)
    domain = mechanism.domain
    if isinstance(domain, sv.Sparse):
        yield {3: 0.25}
        yield {0: -1.0, domain.dimensions - 1: 0.123456789} if domain.most > 1 else {7: 0.0}
    elif isinstance(domain, sv.Pair):
        yield from ((1, 0.1), (2, -0.30000000000000004))
    elif isinstance(domain, sv.Interval):
        yield from (-1.0, 0.1, -0.30000000000000004)
    elif isinstance(domain, sv.Integers) and domain.high > 1:
        yield from (1, 7, 8)


def sparse_case(kind: str) -> tuple[Mechanism, Any]:
    """A domain whose best channel is of this kind; the measurement's own has signs."""
    size, epsilon = {"hints": (1000, 2), "then": (40, 3)}[kind]
    mechanism = sv.mechanism("sparse", sv.Sparse(size, 3), epsilon=epsilon)
    assert mechanism.channel.kind == kind
    return mechanism, [("", {}, dict.fromkeys((0, 7, size - 1), LONG))]


@built_once
@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=pytest.mark.slow if name in DESIGNED else []) for name in PURE), "hints", "then"],
)
def test_every_answer_and_coin_takes_the_same_calls(name: str) -> None:
    """Deterministic: a branch that is entered by a coin or by an answer calls something else, or more often."""
    mechanism, pairs = sparse_case(name) if name in ("hints", "then") else subject(name)
    counts = {repr(value)[:60]: call_counts(mechanism, value) for value in answers(mechanism, pairs)}
    assert len(set.union(*counts.values())) == 1, counts


def test_a_branch_on_a_coin_is_seen_in_the_calls() -> None:
    """The power of the test above: the sampler that leaks has the exact law of the other one, and other calls."""
    leaky, sound = leaky_grr(), sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    for code in range(4):
        assert law(leaky.channel, code) == law(sound.channel, code)
    assert len(call_counts(leaky, 0)) == 2
    assert len(call_counts(sound, 0)) == 1


@pytest.mark.slow
@built_once
def test_the_pure_mechanisms_are_all_measured() -> None:
    assert set(pure_names()) == set(PURE)
    assert all(subject(name)[0].guarantee.is_pure for name in PURE)
    for name in BALLS:
        with pytest.raises(sv.ParameterError, match="pure"):
            subject(name)


@pytest.mark.parametrize("encoding", ["optional", "mask"])
def test_bits_draw_a_word_for_each_one_that_might_be_set(encoding: str) -> None:
    channel = Bits(6, UNIT // 2, UNIT // 8 + 1, encoding, 1 if encoding == "optional" else 0)
    drawn = {code: draws(lambda coins, code=code: channel.sample(code, coins), channel.words) for code in range(7)}  # type: ignore[misc]
    assert len(set(drawn.values())) == 1, drawn


class Counting(SeededCoins):
    """Coins that count the words that are read."""

    __slots__ = ("read",)

    def begin(self, words: int) -> None:
        super().begin(words)
        self.read = 0

    def _take(self, words: int) -> int:
        self.read += words
        return super()._take(words)


def draws(sample: Callable[[Coins], object], words: int) -> int:
    coins = Counting(1)
    coins.begin(words)
    sample(coins)
    return coins.read


def test_undecided_lanes_take_no_time_of_their_own() -> None:
    """How many of the lanes are undecided goes with the bits that are sent: all words of the reserve are read."""
    num = UNIT // 3
    read = set()
    for seed in range(200):
        coins = Counting(seed)
        coins.begin(400)
        coins.flips(256, num)
        read.add(coins.read)
    assert len(read) == 1


def test_a_draw_that_does_not_count_shifts_no_other() -> None:
    """At 8 bits half of these draws are rejected and read the overflow range, unless they do not count."""
    for seed in range(200):
        plain, padded = SeededCoins(seed, bits=8), SeededCoins(seed, bits=8)
        for coins in (plain, padded):
            coins.begin(4)
        padded.when(False, lambda coins: coins.below(129))
        padded.when(False, lambda coins: coins.until(lambda c: c.below(129), lambda value: value > 100))
        plain.seek(2)
        assert [plain.below(129), plain.below(129)] == [padded.below(129), padded.when(True, lambda c: c.below(129))]


class Scripted(SystemCoins):
    """Coins of a device whose words are known: of the span, and of the overflow range, which counts its words."""

    __slots__ = ("extras", "span")

    def __init__(self, span: list[int]) -> None:
        super().__init__()
        self.span, self.extras = span, 0

    def _load(self, words: int) -> bytes:
        return b"".join(word.to_bytes(8, "little") for word in self.span)

    def extra(self) -> int:
        self.extras += 1
        return (0b01, 0b10, 0b00)[min(self.extras, 3) - 1]


def test_tied_signs_are_drawn_again_as_often_where_that_does_not_count() -> None:
    """Two numbers are tied in all eight tries once in 256 draws. Only an answer's own side needs another one; were it
    drawn only then, a long duration would tell that the message speaks for the answer."""
    channel = sv.mechanism("duchi-linf", sv.Box(-1, 1, 2), epsilon=1).channel
    again = {}
    for inside, word in ((True, 0), (False, 2**64 - 1)):
        coins = Scripted([0, 0, word, *[0b01] * 8])
        coins.begin(channel.words)
        channel.sample((Fraction(1), Fraction(1)), coins)
        again[inside] = coins.extras
    assert again == {True: 3, False: 3}


@pytest.mark.parametrize("name", ["hybrid", "group-bernoulli", "group-nprr", "one-sparse", "sparse"])
def test_what_does_not_count_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law is the same whatever a draw gives that does not count."""
    small = [channel for channel in subject(name)[0].channel.miniatures() if channel.inputs < 40][:2]
    assert small
    laws = [[law(channel, code) for code in channel.codes()] for channel in small]
    skipped = []

    def other(coins: TreeCoins, counts: bool, draw: Callable[[Coins], int]) -> int:
        skipped.append(counts)
        value = Coins.when(coins, counts, draw)
        return value if counts else 1

    monkeypatch.setattr(TreeCoins, "when", other)
    assert [[law(channel, code) for code in channel.codes()] for channel in small] == laws
    assert False in skipped


# --- what was rewritten for that gives the same numbers ------------------------------------------------------------
numbers = st.fractions(-5, 5, max_denominator=10**18)


@given(numbers, st.sampled_from([(-1, 1, 1), ("-0.3", "0.7", 7), (0, 100, 1 << 20), ("-1e-9", "1e9", 3)]))
def test_positions_are_those_of_exact_fractions(number: Fraction, ends: tuple[Any, Any, int]) -> None:
    grid = Rounding(*ends)
    low, high = Fraction(grid.low), Fraction(grid.high)
    assert grid.position(number) == round((number - low) / ((high - low) / grid.steps) * 2**32)


def test_positions_between_two_go_to_the_even_one() -> None:
    grid = Rounding(0, 1, 1)
    for position in (0, 1, 2, 3, 2**31 - 1):
        half = Fraction(2 * position + 1, 2**33)
        assert grid.position(half) == position + position % 2


@given(st.lists(st.decimals(-9, 9, places=3), min_size=1, max_size=40, unique=True), st.floats(-10, 10))
def test_bins_are_those_of_a_bisection(edges: list[Decimal], number: float) -> None:
    inner = sorted(edges)
    bins = Bins(sv.Interval(-10, 10), inner)
    assert bins.encode(number) == bisect_right([Fraction(edge) for edge in inner], Fraction(repr(number)))
    assert bins.encode(inner[0]) == 1


@pytest.mark.parametrize("g", [g for g in range(2, 65) if is_order(g) and polynomial(g)])
def test_products_in_a_field_are_those_of_polynomials(g: int) -> None:
    for a in range(g):
        for b in range(g):
            product = 0
            for place in range(b.bit_length()):
                product ^= (a << place) * (b >> place & 1)
            while product.bit_length() >= polynomial(g).bit_length():
                product ^= polynomial(g) << (product.bit_length() - polynomial(g).bit_length())
            assert multiply(a, b, g) == product


def test_sparse_answers_have_the_same_code_with_and_without_padding() -> None:
    domain = sv.Sparse(100, 5, "0.5")
    for value in ({}, {7: 0.1}, [(9, -0.5), (3, 0)], dict.fromkeys(range(5), 0.25)):
        assert domain.encode(value) == domain.encode_fast(value)
    for bound_ in ("1e119", "1e-119"):
        assert sv.Sparse(100, 5, bound_).encode({1: 0}) == ()
    for value in ({100: 0.1}, {0: 0.6}, dict.fromkeys(range(6), 0.25), [(1, 0.1), (1, 0.1)], None):
        for encode in (domain.encode, domain.encode_fast):
            with pytest.raises(sv.DomainError):
                encode(value)


# --- the tick ----------------------------------------------------------------------------------------------------
class Clock:
    """A clock that goes on by a step each time it is read, and by as much as is slept or worked."""

    def __init__(self, step: int = 10, overslept: int = 0) -> None:
        self.now, self.step, self.overslept = 5, step, overslept
        self.slept: list[float] = []

    def read(self) -> int:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * 1e9) + self.overslept

    def duration(self, tick: Tick, nanoseconds: int) -> int:
        """How long a piece of work takes that is released by a tick."""
        began = self.now

        def work() -> None:
            self.now += nanoseconds

        tick.after(work)
        return self.now - began


def ticking(seconds: float, **options: int) -> tuple[Clock, Tick]:
    clock = Clock(**options)
    return clock, Tick(seconds, clock.read, clock.sleep)


@pytest.mark.parametrize("overslept", [0, SPIN // 2])
def test_work_is_released_at_the_tick_whatever_it_takes(overslept: int) -> None:
    clock, tick = ticking(0.004, overslept=overslept)
    durations = [clock.duration(tick, work) for work in (0, 1, 999, 1_000_000, 3_900_000, 3_999_000)]
    assert all(4_000_000 <= duration <= 4_000_000 + 3 * clock.step for duration in durations)
    assert len(clock.slept) == 4  # what is left after the two longest is less than it takes to wake up
    assert clock.slept[0] == pytest.approx(0.004 - SPIN / 1e9, abs=1e-7)


def test_work_that_takes_longer_is_released_at_a_multiple() -> None:
    clock, tick = ticking(0.004)
    for work, ticks in ((4_000_001, 2), (7_000_000, 2), (8_100_000, 3), (39_000_000, 10)):
        assert 0 <= clock.duration(tick, work) - 4_000_000 * ticks <= 3 * clock.step


def test_an_overslept_tick_returns_when_it_wakes() -> None:
    clock, tick = ticking(0.004, overslept=50_000_000)
    slept = [clock.duration(tick, work) for work in (0, 1_000_000, 3_000_000)]
    assert max(slept) - min(slept) <= 3 * clock.step  # how late it is says nothing of the work either


def test_a_client_answers_and_refuses_at_the_tick() -> None:
    clock, tick = ticking(0.01)
    client = sv.Client(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), tick=tick)
    for report in (lambda: client.report(2), lambda: client.report_text("2")):
        began = clock.now
        assert len(report()) == 17
        assert clock.now - began == pytest.approx(10_000_000, abs=5 * clock.step)
    for report in (lambda: client.report(9), lambda: client.report_text("nine")):
        began = clock.now
        with pytest.raises(sv.DomainError):
            report()
        assert clock.now - began == pytest.approx(10_000_000, abs=5 * clock.step)


def test_a_client_has_a_tick_unless_a_simulation_turns_it_off_by_name() -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    client = sv.Client(mechanism)
    assert client.tick == Tick(SHORTEST) == sv.Client.from_spec(mechanism.spec()).tick
    began = time.perf_counter()
    client.report(1)
    assert time.perf_counter() - began >= SHORTEST
    assert sv.Client(mechanism, tick=Untimed()).report(1, coins=SeededCoins(1)) == client.report(
        1, coins=SeededCoins(1)
    )
    assert sv.Client.from_spec(mechanism.spec(), tick=Untimed()).tick == Untimed()


def test_the_tick_grows_with_public_quantities_only() -> None:
    small, large = (sv.mechanism("duchi-linf", sv.Box(-1, 1, d), epsilon=1) for d in (8, 1024))
    sparse = sv.mechanism("sparse", sv.Sparse(4096, 40), epsilon=1)
    assert public_tick(small).seconds == SHORTEST
    assert public_tick(large).seconds >= 8 * SHORTEST
    assert public_tick(sparse).seconds >= SHORTEST


@pytest.mark.parametrize(
    ("words", "coordinates", "most", "steps"),
    [
        (1, None, None, 1),
        (STEPS - 1, None, None, 1),
        (STEPS, None, None, 2),
        (STEPS - 3, (0, 1), None, 1),
        (STEPS - 2, (0, 1), None, 2),
        (STEPS - 4, None, 3, 1),
        (2 * STEPS - 3, None, 3, 3),
    ],
)
def test_the_tick_counts_numbers_and_words(words: int, coordinates: Any, most: Any, steps: int) -> None:
    domain = SimpleNamespace(coordinates=coordinates, **({} if most is None else {"most": most}))
    read: Any = SimpleNamespace(claimed_forever=None, channel=SimpleNamespace(words=words), domain=domain)
    assert public_tick(read).seconds == steps * SHORTEST


@pytest.mark.parametrize("seconds", [0, -1, True, "0.01", None, math.nan, math.inf, 3601])
def test_a_tick_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(sv.ParameterError, match="'seconds' parameter of a tick must be a number in"):
        Tick(seconds)


@pytest.mark.parametrize("tick", [0.01, "none", False])
def test_a_client_takes_a_tick_or_none(tick: Any) -> None:
    with pytest.raises(sv.ParameterError, match="'tick' parameter of a client must be a Tick, or Untimed"):
        sv.Client(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), tick=tick)


# --- the measurement ----------------------------------------------------------------------------------------------
def response(rng: np.random.Generator, reports: int, seconds: Callable[[Any, Any], Any]) -> Timed:
    """Runs of binary randomized response at epsilon 1 whose durations depend on coin and message as told."""
    keep = math.e / (1 + math.e)
    ratios, durations = [], []
    for value in (0, 1):
        kept = rng.random(reports) < keep
        message = np.where(kept, value, 1 - value)
        ratios.append(np.where(message == 0, 1.0, -1.0))
        durations.append(seconds(kept, message))
    return Timed((ratios[0], ratios[1]), (durations[0], durations[1]))


def test_a_planted_leak_is_found_and_its_epsilon_is_not_exceeded() -> None:
    """A slow run has probability 0.9 where the code was kept, else 0.1: epsilon 1 + ln 9 = 3.2 of both together.

    The bound exceeds that with a probability of 1e-6 in each of 40 measurements.
    """
    true = 1 + math.log(9)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        slow = lambda kept, message, rng=rng: 1.0 + (rng.random(len(kept)) < np.where(kept, 0.9, 0.1))  # noqa: E731
        found, event = bound(response(rng, 4000, slow))
        assert event is not None
        assert 2 < found <= true


def test_a_leak_of_the_value_alone_is_found() -> None:
    rng = np.random.default_rng(1)
    runs = response(rng, 4000, lambda kept, message: rng.normal(size=len(kept)))
    shifted = Timed(runs.ratios, (runs.durations[0], runs.durations[1] + 3))
    assert bound(runs)[0] <= 1
    assert bound(shifted)[0] > 3


def test_without_a_leak_nothing_beyond_the_claim_is_found() -> None:
    """Durations that depend on the message only, or on nothing: 1e-6 for each of 80 measurements to fail."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        noise = lambda kept, message, rng=rng: rng.exponential(size=len(kept))  # noqa: E731
        assert 0.5 < bound(response(rng, 4000, noise))[0] <= 1
        assert bound(response(rng, 4000, lambda kept, message, noise=noise: noise(kept, message) + message))[0] <= 1


def test_an_event_includes_both_ends_of_its_window() -> None:
    durations = np.array([1.0, 2.0, 3.0, 4.0, 2.5, 2.5])
    ratios = np.array([0.5, 0.5, 0.5, 0.5, 0.4, -0.5])
    runs = Timed((ratios, -ratios), (durations, durations))
    assert DurationWindow(0, 0.5, 2.0, 3.0).count(runs, 0) == DurationWindow(1, 0.5, 2.0, 3.0).count(runs, 1) == 2
    assert DurationWindow(1, 0.5, 2.0, 3.0).count(runs, 0) == DurationWindow(0, 0.5, 2.0, 3.0).count(runs, 1) == 1


def test_the_best_window_is_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    own, other = rng.integers(0, 9, 400).astype(float), rng.integers(2, 14, 400).astype(float)
    edges = np.arange(0.0, 14, 2)
    score, low, high = _best_window(own, other, edges, 400)
    counts = {
        (a, b): [int(((values >= edges[a]) & (values <= edges[b])).sum()) for values in (own, other)]
        for a in range(7)
        for b in range(a, 7)
    }
    each = {window: float(scores(x, y, 400, 400, CAUTION)) for window, (x, y) in counts.items()}
    assert (low, high) == max(each, key=lambda window: each[window]) and score == pytest.approx(each[low, high])
    assert _best_window(own, other, np.zeros(0), 400) == (0, 0, 0)


def test_runs_alternate_and_are_timed_without_a_collector() -> None:
    mechanism, _ = subject("grr")
    clock, order = Clock(step=0), []

    def draw(value: Any) -> bytes:
        assert gc.isenabled() == (len(order) < 200)  # the first ones warm up
        order.append(value)
        clock.now += 1000 * (1 + value)
        return mechanism.randomize(value)

    runs = timed(mechanism, draw, (0, 15), reports=1000, seed=1, clock=clock.read)
    assert gc.isenabled()
    assert {*runs.durations[0]} == {1000.0}
    assert {*runs.durations[1]} == {16_000.0}
    kinds = order[200:]
    assert kinds.count(0) == kinds.count(15) == 1000
    changes = sum(a != b for a, b in pairwise(kinds))
    assert 800 < changes < 1200
    share = float((runs.ratios[0] == 1.0).mean())  # the messages that speak for the first input: e / (e + 15)
    assert share == pytest.approx(math.e / (math.e + 15), abs=0.08)
    assert bound(runs)[0] > 3


@pytest.mark.slow
@built_once
def test_the_page_shows_every_mechanism() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results/timing.md").read_text("utf-8")
    with_tick, without = page.split("Without the tick")
    for name in PURE:
        assert with_tick.count(f"| `{name}` |") == 1
        assert without.count(f"| `{name}` |") == len(subject(name)[1])


def row(name: str, found: float, tick: float | None = 0.004) -> DurationRow:
    return DurationRow(name, "this, that", 1.0, found, 0.9, (4000.0, 4000.0), 20_000, tick, 0.5)


def test_the_verdict_needs_a_control_that_leaks(capsys: pytest.CaptureFixture[str]) -> None:
    control = row(CONTROL_NAME, 5.5, None)
    assert verdict([control, row("grr", 1.05)], tick=True) == 0
    assert capsys.readouterr().err == ""
    assert verdict([control, row("grr", 1.2)], tick=True) == 1
    assert "exceed the claim by more than 0.1: grr" in capsys.readouterr().err
    assert verdict([control, row("grr", 6.0, None)], tick=False) == 0
    assert verdict([row(CONTROL_NAME, 3.9, None), row("grr", 0.9)], tick=True) == 1
    assert "too noisy" in capsys.readouterr().err
    show([control, row("grr", 1.05)])
    assert "4 ms" in capsys.readouterr().out


def test_a_row_is_measured_through_the_client() -> None:
    found = measure("rr", reports=100, seed=3)
    assert found.tick == SHORTEST
    assert min(found.microseconds) >= 1e6 * SHORTEST
    at_once = measure("sparse", reports=100, tick=False)
    assert at_once.tick is None
    assert json.loads(json.dumps(at_once.to_dict()))["name"] == "sparse"
    with pytest.raises(sv.ParameterError, match="'reports'"):
        measure("grr", reports=10)


def test_thresholds_are_all_ratios_where_they_are_few() -> None:
    few = np.repeat(np.linspace(-1, 1, CLASSES), 5)
    assert np.array_equal(_thresholds(few), np.linspace(-1, 1, CLASSES))
    many = _thresholds(np.linspace(-1, 1, CLASSES + 1))
    assert len(many) == CLASSES and many[0] == -1 and many[-1] == 1
