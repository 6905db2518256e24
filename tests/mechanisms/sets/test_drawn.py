"""One drawn item: laws, itemsets as views, and the protocols SVIM, SVSM and LDPMiner."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import DrawnItem, Public, Subset
from sottovoce.core.channel.compose.drawn_item import response
from sottovoce.core.channel.finite.hitting import hit_units
from sottovoce.core.domain import HeldCount, Itemsets, domain_from_spec
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.items import CountItems
from sottovoce.protocols.sets.drawn import drawn_item, single
from sottovoce.protocols.sets.ldp_miner import LdpMiner
from sottovoce.protocols.sets.svim import FrequentItems, FrequentItemsets, guesses, slots_of
from sottovoce.testing import check_mechanism

WAYS = sv.Sets(["bus", "car", "bike", "train"], 3)


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 2])
def test_the_contract_holds(slots: int) -> None:
    channel = DrawnItem(4, slots, slots, response(4 + slots, slots, odds(Decimal(1))))
    check_mechanism(Mechanism("drawn", sv.SetShares(sv.Sets(range(4), slots)), channel, Decimal(1), CountItems()))


@pytest.mark.parametrize(("items", "most", "slots"), [(3, 2, 1), (3, 3, 2), (3, 2, 2), (4, 3, 1)])
def test_the_ratio_is_that_of_the_enumerated_law(items: int, most: int, slots: int) -> None:
    """Also where people hold more items than there are slots."""
    channel = DrawnItem(items, most, slots, response(items + slots, slots, odds(Decimal(1))))
    worst = Fraction(1)
    for report in range(channel.inner.inputs):
        chances = [channel.likelihood(report, code) for code in channel.codes()]
        assert min(chances) > 0
        worst = max(worst, max(chances) / min(chances))
    assert worst == channel.ratio() and math.e - 1e-12 < worst <= odds(Decimal(1))


def test_with_as_many_slots_as_items_the_law_is_that_of_padding_and_sampling() -> None:
    drawn = drawn_item(sv.Sets(range(6), 3), Decimal(1), 3)
    padded = sv.mechanism("padding-sampling", sv.Sets(range(6), 3), epsilon=1)
    for code in (0, 5, 7):
        for report in range(9):
            assert float(drawn.channel.likelihood(report, code)) == pytest.approx(
                float(padded.channel.likelihood(report, code)), rel=1e-9
            )
    assert padded.channel.hit == hit_units(9, 3, 1, odds(Decimal(1)))  # type: ignore[attr-defined]


def test_the_published_rule_chooses_randomized_response_or_hashing() -> None:
    """For at least L (4 L - 1) e**epsilon + 1 items local hashing has the smaller error."""
    limit = 2 * 7 * math.e + 1  # 39.06
    few, many = (drawn_item(sv.Sets(range(size), 5), Decimal(1), 2).channel for size in (39, 40))
    assert isinstance(few.parts[0], Subset) and isinstance(many.parts[0], Public) and 39 < limit < 40
    assert [single(sv.Integers(0, last), Decimal(1)).name for last in (8, 9)] == ["grr", "olh"]
    plain = drawn_item(sv.Sets(range(6), 5), Decimal(1), 2, amplified=False).channel.parts[0]
    assert isinstance(plain, Subset) and float(plain.ratio()) == pytest.approx(math.e)


def test_shares_of_pairs_are_shares_of_itemsets() -> None:
    pairs = Itemsets(WAYS, [*combinations(WAYS.items, 2), ("bus",)])
    assert pairs.most == 4  # three pairs of three items, and one item
    assert pairs.encode(["car", "bus", "bike"]) == 0b1001011 and domain_from_spec(pairs.spec()) == pairs
    draw = np.random.default_rng(2)
    people = [[way for way, held in zip(WAYS.items, row, strict=True) if held] for row in draw.random((4000, 4)) < 0.4]
    people = [one if len(one) < 4 else one[:3] for one in people]
    codes = [pairs.encode(one) for one in people]
    truth = np.array([np.mean([code >> place & 1 for code in codes]) for place in range(7)])
    best = sv.plan(sv.SetShares(pairs), epsilon=2, participants=4000).best.mechanism
    found = best.estimate(best.tally(best.privatize(people, seed=1)))
    low, high = found.ci(0.999)
    assert found.labels[0] == "bus and car" and ((low <= truth) & (truth <= high)).all()
    numbers = sv.mechanism("grr", HeldCount(pairs), epsilon=8)
    told = numbers.estimate(numbers.tally(numbers.privatize(people, seed=1)))
    sizes = [code.bit_count() for code in codes]
    assert told.values == pytest.approx([sizes.count(size) / 4000 for size in range(5)], abs=0.01)


@pytest.mark.parametrize("itemsets", [[["bus"]], [["bus"], ["bus"]], [["bus", "bus"], ["car"]], [["taxi"], ["bus"]]])
def test_other_itemsets_are_refused(itemsets: Any) -> None:
    with pytest.raises((ParameterError, sv.DomainError)):
        Itemsets(WAYS, itemsets)


def test_slots_cover_nine_in_ten_people_and_shares_are_scaled_up_for_the_others() -> None:
    slots, factor = slots_of(np.array([0.2, 0.3, 0.3, 0.15, 0.05, 0.0]))
    assert slots == 3 and factor == pytest.approx((0.3 + 0.6 + 0.45 + 0.2) / (0.3 + 0.6 + 0.45 + 0.15))


def test_itemsets_are_guessed_by_the_product_of_shrunk_shares() -> None:
    shares = [0.5, 0.4, 0.3, 0.2, 0.1]
    relative = [0.9 * one / 0.5 for one in shares]
    every = [one for size in (1, 2, 3, 4) for one in combinations(range(5), size)]
    right = sorted(every, key=lambda one: -math.prod(relative[place] for place in one))[:8]
    assert {*guesses(shares, 8)} == {*right}


@pytest.mark.parametrize("kind", ["svim", "svsm", "ldp-miner"])
def test_protocols_find_the_frequent_items(kind: str) -> None:
    draw = np.random.default_rng(1)
    truth = np.minimum(0.5, 0.8 / np.arange(1, 41))
    held = draw.random((12_000, 40)) < truth
    held[held.sum(axis=1) > 8] = False
    people = [np.flatnonzero(row).tolist() for row in held]
    domain = sv.Sets(range(40), 8)
    protocol: Any = {
        "svim": FrequentItems(domain, 4, 5, 12_000),
        "svsm": FrequentItemsets(domain, 4, 5, 12_000),
        "ldp-miner": LdpMiner(domain, 4, 5, 3, 12_000),
    }[kind]
    found: Any = sv.simulate(protocol, people, seed=1)
    items = found["items"]
    order = [items.labels[place] for place in np.argsort(-items.values)[:5]]
    assert {*order} == {"0", "1", "2", "3", "4"}
    if kind != "ldp-miner":
        low, high = items.ci(0.999)
        right = held.mean(axis=0)[[int(label) for label in items.labels]]
        assert ((low <= right) & (right <= high)).all() and "scaled up" in items.notes[0] and items.doubt()
    if kind == "svsm":
        sets = found["itemsets"]
        assert "0 and 1" in [sets.labels[place] for place in np.argsort(-sets.values)[:6]]
    assert protocol.epsilon == 4 and protocol.answers == (2 if kind == "ldp-miner" else 1)
