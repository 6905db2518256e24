"""Specifications of strangers: each is read or refused in a sentence within a second and 100 MB."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, islice, pairwise, product
from random import Random
from typing import Any

import pytest

import sottovoce as sv
from scripts.fuzz import hostile
from scripts.fuzz.channels import check_texts, hostile_text
from scripts.fuzz.reading import TextReading, readings
from sottovoce.client import Client
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    Bits,
    Chain,
    Channel,
    Each,
    Fakes,
    HalfSpace,
    Hints,
    Histogram,
    Keyed,
    Mix,
    Noise,
    PoolMap,
    Public,
    Rounding,
    Signs,
    Subset,
    Table,
    Then,
)
from sottovoce.core.channel.compose.stages import _matrix, _matrix_effort
from sottovoce.core.channel.facets import slots_of
from sottovoce.core.channel.numeric.noise import _magnitudes, _tails
from sottovoce.core.domain import Categories, Sparse
from sottovoce.core.errors import ParameterError, PrivacyError, SpecError
from sottovoce.core.guarantee import PURE, Approximate
from sottovoce.core.question import Frequency
from sottovoce.core.round import Arm
from sottovoce.core.spec_cost import (
    MAX_STEPS,
    MAX_TRIES,
    Budget,
    Effort,
    check_nodes,
    check_work,
    effort,
    summed,
    tries,
)
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.protocols.ask import AskOneOf
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State
from sottovoce.tally.tally import Tally
from sottovoce.testing.codes import partly_filled

BOMBS = {
    "28 nested pools that refuse half of the ids": (hostile.nested_pools, 3_500, "ids drawn until one is accepted"),
    "the extremes of products under a key": (hostile.keyed_products, 1_800, "steps of exact arithmetic"),
    "long noise from short lists": (hostile.long_noise, 90_000, ""),
    "a product whose sensitive codes are few": (hostile.sensitive_products, 600, "steps of exact arithmetic"),
    "a tall tree of products": (hostile.tall_trees, 95_000, "steps of exact arithmetic"),
    "delta of a table with many rows": (hostile.large_delta, 95_000, "steps of exact arithmetic"),
}

SEEDS = (0, 1, 5)


@pytest.fixture(scope="module")
def bombs() -> dict[str, TextReading]:
    """How each bomb was read; some seeds each, as recipes have variants."""
    texts = {(name, seed): make(Random(seed), size) for name, (make, size, _) in BOMBS.items() for seed in SEEDS}
    found = zip(texts, readings(texts.values()), strict=True)
    return {f"{name} {seed}": reading for (name, seed), reading in found}


@pytest.mark.slow  # the next test has a few seeds of each recipe
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_read_or_refused_in_a_second_and_100_mb(name: str, bombs: dict[str, TextReading]) -> None:
    sentence, said = BOMBS[name][2], []
    for seed in SEEDS:
        reading = bombs[f"{name} {seed}"]
        assert reading.problem is None
        said.append(reading.said)
    assert any(sentence in text for text in said), said


def test_hostile_specifications_of_every_kind() -> None:
    """A few seeds of each recipe, of up to 95 kB; `make fuzz` looks at others."""
    assert len(list(check_texts(iter(range(3 * len(hostile.RECIPES)))))) == 3 * len(hostile.RECIPES)


def test_a_reading_that_is_too_slow_too_large_or_too_talkative_is_a_problem() -> None:
    assert TextReading("read", 0.9, 99.0, "").problem is None
    for wrong in (
        TextReading("read", 1.1, 1.0, ""),
        TextReading("refused", 0.1, 101.0, ""),
        TextReading("KeyError", 0.1, 1.0, "x"),
        TextReading("refused", 0.1, 1.0, "x" * 3000),
        TextReading("died", 0.0, 0.0, ""),
    ):
        assert wrong.problem is not None


def test_recipes_keep_to_their_size() -> None:
    assert max(len(hostile_text(seed)) for seed in range(4 * len(hostile.RECIPES))) < 200_000


def test_long_lists_of_tables_are_refused_before_they_are_compared() -> None:
    """7,750 tables in 100 kB: all pairs of them took half a minute."""
    names = [f"{place:x}" for place in range(125)]
    listed = sv.Categories(["y", "n"]).spec()
    spec = sv.mechanism("grr", sv.Categories(["y", "n"]), epsilon=1).spec()
    spec["domain"] = {"kind": "record", "fields": [{"name": name, "domain": listed} for name in names]}
    spec["question"] = {"kind": "joint", "tables": [list(pair) for pair in combinations(names, 2)]}
    text = json.dumps(spec, separators=(",", ":")).encode()
    assert 90_000 < len(text) < 100_000
    (reading,) = readings([text])
    assert reading.problem is None and "at most 512 such tables" in reading.said
    # Parts of a larger table are listed as well, and left out.
    larger = [names[:4], *(list(pair) for pair in combinations(names[:4], 2))]
    record = sv.Record({name: sv.Categories(["y", "n"]) for name in names})
    assert sv.Joint(record, tables=larger).tables == (tuple(names[:4]),)
    for wrong in ([[], ["0", "1"]], [["0", "0"]], [["0", "x"]], []):
        with pytest.raises(ParameterError, match="The 'tables' parameter of joint must be"):
            sv.Joint(record, tables=wrong)


# --- each resource -------------------------------------------------------------------------------------------------
def pools(depth: int) -> Public:
    g, digits = 181, 7  # 181**7 is above 2**52
    channel: Any = Subset(g, 1, UNIT // 4 * 3)
    for _ in range(depth):
        channel = Public(PoolMap(g, g, digits), channel)
    return channel


def afford(channel: Channel) -> None:
    """Refuse a channel whose pure guarantee takes more than the budget of an empty text."""
    check_work(channel, PURE.effort(channel), Budget(0))


def test_tries_are_those_of_independent_maps() -> None:
    share = Fraction(181**7, 1 << 53)
    assert Fraction(1, 2) < share < Fraction(3, 4)
    for depth in (0, 1, 2, 5):
        channel = pools(depth) if depth else Subset(3, 1, UNIT // 2)
        assert tries(channel) == (1 / share) ** depth
    rng = Random(1)
    accepted = sum(pools(3).accepts((rng.getrandbits(64), rng.getrandbits(64))) for _ in range(4000))
    # Binomial with mean 4000 share**3 and a standard deviation below 30: five of them are a false alarm in a million.
    assert abs(accepted - 4000 * share**3) < 150


def test_the_limit_of_tries_is_kept() -> None:
    depth = next(depth for depth in range(1, 30) if tries(pools(depth)) > MAX_TRIES)
    afford(pools(depth - 1))
    with pytest.raises(SpecError, match=f"ids drawn until one is accepted, on average, where {MAX_TRIES} are allowed"):
        afford(pools(depth))


def test_a_wide_node_is_built_from_few_numbers() -> None:
    tracemalloc.start()
    Bits(1 << 24, UNIT // 4 * 3, UNIT // 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_words_bits_and_nodes_are_limited() -> None:
    wide = Bits(1 << 24, UNIT // 4 * 3, UNIT // 2)
    afford(wide)
    with pytest.raises(SpecError, match="bits for a report"):
        afford(Each((wide, wide)))
    with pytest.raises(SpecError, match="random words"):
        afford(Each((Subset(1 << 20, 1 << 19, UNIT // 4 * 3),) * 9))
    with pytest.raises(SpecError, match="at most 4096 nodes"):
        check_nodes([{"node": "subset"}] * 4097)
    with pytest.raises(SpecError, match="one channel for vectors"):
        check_nodes([{"node": "place"}, {"node": "signs"}])
    check_nodes({"node": "projected", "inner": {"node": "cap"}})


def uneven(outputs: int, seed: int) -> tuple[int, ...]:
    """Different weights that sum to 2**53."""
    chance = Random(seed)
    later = [UNIT // (2 * outputs) + chance.randrange(UNIT >> 20) for _ in range(outputs - 1)]
    return (UNIT - sum(later), *later)


def grr(size: int) -> Subset:
    return Subset(size, 1, UNIT // 2 + 1)


COUNTED = {
    "keyed": Keyed(grr(5), Table([uneven(40, row) for row in range(3)]), uneven(40, 9)),
    "then": Then(grr(15), grr(15)),
    "then after a table": Then(Table([uneven(15, row) for row in range(12)]), grr(15)),
    "chain": Chain(grr(12), Table([uneven(12, row) for row in range(12)])),
    "three stages": Then(grr(8), Then(grr(8), grr(8))),
}


@contextmanager
def operations(patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every sum, product, quotient and power of fractions, counted."""
    counted: list[int] = []

    def noting(plain: Any) -> Any:
        def noted(one: Fraction, other: Any) -> Any:
            counted.append(1)
            return plain(one, other)

        return noted

    with patch.context() as patched:
        for operation in ("add", "sub", "mul", "truediv", "pow"):
            for method in (f"__{operation}__", f"__r{operation}__"):
                patched.setattr(Fraction, method, noting(getattr(Fraction, method)))
        yield counted


@pytest.mark.parametrize("name", COUNTED)
def test_the_effort_of_a_ratio_is_at_least_the_operations_that_it_takes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel: Channel = COUNTED[name]
    expected = channel.ratio()
    with operations(monkeypatch) as counted:
        assert channel.ratio() == expected
    assert 50 < len(counted) <= effort(channel).ratio


def rates(k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Different rates of each of so many bits."""
    chance = Random(k)
    high = tuple(chance.randrange(UNIT // 2, UNIT) for _ in range(k))
    return high, tuple(chance.randrange(UNIT // 8, UNIT // 3) for _ in range(k))


ALONE = {
    "bits": Bits(9, UNIT // 2, UNIT // 4),
    "optional bits": Bits(9, UNIT // 2, UNIT // 4, "optional"),
    "masks": Bits(9, UNIT // 2, UNIT // 4, "mask", 4),
    "any masks": Bits(9, UNIT // 2, UNIT // 4, "mask", 0),
    "uneven bits": Bits(40, *rates(40)),
    "uneven optional bits": Bits(40, *rates(40), "optional"),
    "uneven masks": Bits(12, *rates(12), "mask", 6),
    "any uneven masks": Bits(12, *rates(12), "mask", 0),
    "half-space of one": HalfSpace((Rounding(0, 1, 1),), UNIT // 2),
    "half-space": HalfSpace((Rounding(0, 1, 1),) * 40, UNIT // 2),
    "fakes": Fakes(tuple(Subset(2, 1, UNIT - place) for place in range(1, 41))),
    "histogram": Histogram(3, Table([uneven(40, row) for row in range(2)])),
    "signs of one": Signs(Sparse(2, 1), 1, UNIT - 5),
    "signs": Signs(Sparse(50, 12), 6, UNIT - 5),
    "hints of one": Hints.of_ratio(Sparse(2, 1), UNIT // 8, Fraction(3)),
    "hints": Hints.of_ratio(Sparse(50, 12), UNIT // 8, Fraction(3)),
}


@pytest.mark.parametrize("name", ALONE)
def test_the_effort_of_a_node_is_at_least_the_operations_that_it_takes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel: Channel = ALONE[name]
    slots = slots_of(channel)
    codes = [*islice(channel.codes(), 3), *(partly_filled(slots) if slots else ())]
    channel.ratio()  # what is kept for later is counted as well, but not here
    with operations(monkeypatch) as counted:
        channel.ratio()
    assert 0 < len(counted) <= effort(channel).ratio
    for code in codes:
        with operations(monkeypatch) as counted:
            channel.likelihood(1, code)
        # The likelihood of bits is one fraction of two long products.
        assert -isinstance(channel, Bits) < len(counted) <= effort(channel).likelihood


def test_the_effort_of_a_matrix_is_at_least_the_operations_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for channel in (COUNTED["then"], COUNTED["three stages"]):
        with operations(monkeypatch) as counted:
            _matrix(channel)
        assert 300 < len(counted) <= _matrix_effort(channel)[0]


def test_closed_forms_that_refuse_at_once_cost_one_step() -> None:
    cost = summed(Public(PoolMap(4, 2, 2), Subset(2, 1, UNIT // 4 * 3)), Effort(extremes=99, delta=99))
    assert cost == Effort(extremes=1, delta=1)


def test_the_bits_of_a_likelihood_are_counted() -> None:
    for channel in ALONE.values():
        found = channel.likelihood(1, next(iter(channel.codes())))
        assert found.numerator.bit_length() + found.denominator.bit_length() <= effort(channel).bits


def test_the_bits_of_a_likelihood_behind_a_coin_are_those_of_its_branch_and_of_the_coin() -> None:
    branch = Subset(7, 1, UNIT // 3)
    found = Mix((UNIT // 5, UNIT - UNIT // 5), (branch, branch)).likelihood(1, 1)
    bits = found.numerator.bit_length() + found.denominator.bit_length()
    assert 64 < bits <= effort(Mix((UNIT // 5, UNIT - UNIT // 5), (branch, branch))).bits


def test_a_budget_is_for_all_specifications_of_a_text() -> None:
    budget = Budget(400)
    budget.spend(MAX_STEPS)
    budget.spend(100)
    with pytest.raises(SpecError, match=r"needs 1 steps of exact arithmetic .* where 0 are allowed"):
        budget.spend(1)


def costly(rows: int = 256) -> sv.Mechanism:
    """A small text whose delta takes about a quarter of the budget."""
    table = [[UNIT - 2, 1, 1, 0, 0] if row % 2 else [UNIT - 1, 1, 0, 0, 0] for row in range(rows)]
    loose = Approximate(Decimal("0.5"))
    return sv.Mechanism(
        "x", Frequency(sv.Integers(0, rows - 1)), Table(table), Decimal(1), CountOutputs(), guarantee=loose
    )


def test_files_of_many_specifications_share_a_budget() -> None:
    one = costly()
    steps = effort(one.channel).delta
    assert MAX_STEPS / 8 < steps < MAX_STEPS / 2
    assert sv.Mechanism.from_spec(one.spec()) == one
    tally = Tally.empty(one)
    quick = AskOneOf((Arm("a", sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)),))
    many = State(quick, ((tally,) * 12,), {})
    with pytest.raises(SpecError, match="steps of exact arithmetic"):
        resume(checkpoint(many))
    asked, often = (AskOneOf(tuple(Arm(f"{place}", one) for place in range(count))) for count in (2, 12))
    assert protocol_from_spec(protocol_spec(asked)) == asked
    with pytest.raises(SpecError, match="steps of exact arithmetic"):
        protocol_from_spec(protocol_spec(often))


# --- before anything is computed -------------------------------------------------------------------------------------
def test_a_client_that_takes_pure_guarantees_computes_no_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = costly().spec()

    def computed(*_: object) -> Fraction:
        raise AssertionError("A delta was computed.")

    monkeypatch.setattr(Table, "delta", computed)
    for given in (spec, json.dumps(spec)):
        with pytest.raises(PrivacyError, match="pure guarantees only"):
            Client.from_spec(given)
    with pytest.raises(AssertionError, match="A delta was computed"):
        Client.from_spec(spec, accept=("approximate",))


def test_a_delta_has_as_many_digits_as_other_numbers() -> None:
    spec = costly(2).spec()
    sv.Mechanism.from_spec({**spec, "guarantee": f"approximate(0.{'9' * 100})"})
    with pytest.raises(SpecError, match="A guarantee is one of"):
        sv.Mechanism.from_spec({**spec, "guarantee": f"approximate(0.{'9' * 1000})"})


def test_long_texts_of_categories_are_refused() -> None:
    assert Categories(["a" * 1000, "b"]).size == 2
    with pytest.raises(ParameterError, match="at most 1000 characters"):
        Categories(["a" + "\u0301\u0327" * 500, "b"])


def test_large_bits_need_no_list_of_their_rates() -> None:
    """A tuple of 2**24 equal numbers would have 128 MB."""
    channel = Bits(1 << 24, UNIT // 2, UNIT // 4)
    tracemalloc.start()
    assert channel.rates((1 << 24) - 1) == (Fraction(1, 2), Fraction(1, 4))
    assert channel.rates(1 << 24) is None and channel.pair() == (Fraction(1, 8), Fraction(1, 16))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


# --- the same numbers as before ------------------------------------------------------------------------------------
def noise_by_magnitude(channel: Noise) -> Fraction:
    """The ratio from the weight of every magnitude."""
    magnitudes, tails = _magnitudes(channel), _tails(channel)
    end = len(magnitudes)
    pairs = [(m, m + channel.steps) for m in range(end - channel.steps)]
    worst = max(Fraction(magnitudes[near], magnitudes[far]) for near, far in pairs)
    return max(worst, Fraction(tails[end - channel.steps], tails[end]))


def test_the_ratio_of_noise_needs_no_list_of_magnitudes() -> None:
    rng, made = Random(3), 0
    for _ in range(400):
        steps = rng.randrange(1, 5)
        cuts = [
            sorted(rng.sample(range(1, UNIT), count))
            for count in (rng.randrange(steps), steps - 1, rng.randrange(2, 6))
        ]
        first, cycle, bands = (
            tuple(sorted((b - a for a, b in pairwise([0, *cut, UNIT])), reverse=True)) for cut in cuts
        )
        weights = [bands[0] * w for w in first] + [band * w for band, w in product(bands[1:-1], cycle)]
        falls = all(a >= b for a, b in pairwise(weights))
        if not falls:
            with pytest.raises(ParameterError, match="likelier"):
                Noise(steps, first, cycle, bands)
            continue
        made += 1
        channel = Noise(steps, first, cycle, bands)
        assert channel.ratio() == noise_by_magnitude(channel)
    assert made > 20


def test_the_branch_of_a_report_of_a_mix() -> None:
    parts = (Subset(3, 1, UNIT // 2), Table([[UNIT // 2] * 2] * 3), Subset(3, 1, UNIT // 2 + 1))
    channel = Mix((UNIT - 2, 1, 1), parts)
    assert channel.starts() == (0, 3, 5, 8)
    assert [channel._branch(report) for report in range(8)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    assert [channel.contains(report) for report in (-1, 0, 7, 8)] == [False, True, True, False]


def test_reports_of_millions_of_bits_are_no_codes() -> None:
    wide = Bits(1 << 24, UNIT // 4 * 3, UNIT // 2)
    with pytest.raises(ParameterError, match="too long to be codes"):
        Then(Each((wide,) * 1000), Subset(2, 1, UNIT // 4 * 3))


# --- everything that is registered is still read --------------------------------------------------------------------
LARGEST = [
    *(
        (name, sv.Integers(0, (1 << 20) - 1), 1)
        for name in ("grr", "oue", "sue", "olh", "slh", "hrr", "hadamard", "subset")
    ),
    ("blh", sv.Integers(0, (1 << 20) - 1), 1),
    ("duchi-linf", sv.Box(-1, 1, 1 << 16), 1),
    ("sparse", sv.Sparse(1 << 20, 48), 8),
    ("priv-unit", sv.Ball(1, 10_000), 4),
    ("proj-unit", sv.Ball(1, 1 << 14), 4),
    ("group-laplace", sv.Pair(sv.Integers(0, 99), sv.Interval(0, 1)), 20),
    ("group-nprr", sv.Pair(sv.Integers(0, 99), sv.Interval(0, 1)), 20),
    ("group-piecewise", sv.Pair(sv.Integers(0, 1), sv.Interval(0, 1)), 8),
    ("laplace", sv.Interval(0, 1), "0.01"),
    ("staircase", sv.Interval(0, 1), 20),
]


@pytest.mark.parametrize(("name", "domain", "epsilon"), LARGEST, ids=[str(row[0]) for row in LARGEST])
def test_the_largest_registered_mechanisms_stay_far_below_the_budget(name: str, domain: Any, epsilon: Any) -> None:
    try:
        m = sv.mechanism(name, domain, epsilon=epsilon)
    except ParameterError:
        pytest.skip("too large for its builder")
    assert effort(m.channel).ratio <= MAX_STEPS // 2
    assert tries(m.channel) < Fraction(1001, 1000)
    assert sv.Mechanism.from_spec(m.spec()) == m
