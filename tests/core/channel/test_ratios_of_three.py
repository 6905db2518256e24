"""Closed forms of ratios with three of everything, against all pairs of codes: two of each hide a cap at two."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

import pytest

from scripts.fuzz.brute import check_by_law
from sottovoce.core.arithmetic.rational import UNIT, odds, units
from sottovoce.core.channel import Bits, Channel, Each, Rounding, SampledCoordinates, Subset, Then
from sottovoce.core.channel.listing import combination, listed
from sottovoce.core.channel.vector.place import Place, signed_rows
from sottovoce.core.domain import Sparse

P = tuple(UNIT * share // 100 for share in (90, 75, 80, 60, 70, 85, 65, 55))
Q = tuple(UNIT * share // 100 for share in (20, 30, 10, 40, 15, 25, 35, 45))


@pytest.mark.parametrize(("k", "ones"), [(6, 3), (7, 3), (7, 4), (8, 4), (8, 2), (8, 7)])
def test_masks_whose_rates_vary(k: int, ones: int) -> None:
    """Each bit that differs is worst by itself, and any two masks with as many ones are codes."""
    channel = Bits(k, P[:k], Q[:k], "mask", ones)
    rise = [max(units(p) / units(q), units(UNIT - p) / units(UNIT - q)) for p, q in zip(P, Q, strict=True)]
    fall = [max(units(q) / units(p), units(UNIT - q) / units(UNIT - p)) for p, q in zip(P, Q, strict=True)]
    sets = [set(chosen) for chosen in combinations(range(k), ones)]
    assert channel.ratio() == max(
        prod((rise[place] for place in one - other), start=Fraction(1)) * prod(fall[place] for place in other - one)
        for one in sets
        for other in sets
    )


COIN = Subset(2, 1, 3 * UNIT // 4)
SMALL = {
    "masks": Bits(6, P[:6], Q[:6], "mask", 3),
    "blocks": Bits(6, 3 * UNIT // 4, UNIT // 4, "blocks", 3),
    "three entries, one group": Then(Place(Sparse(3, 3)), signed_rows(3, 1, odds(2))),
    "three entries, two groups": Then(Place(Sparse(4, 3)), signed_rows(4, 2, odds(2))),
    "three entries, three groups": Then(Place(Sparse(3, 3)), signed_rows(3, 3, odds(2))),
    "three entries, sets of three": Then(Place(Sparse(3, 3)), Subset(6, 3, 7 * UNIT // 8)),
    "three coordinates": SampledCoordinates((Rounding(-1, 1, 1),) * 3, COIN, 3),
    "sets of four": Subset(7, 4, 7 * UNIT // 8),
    "three channels": Each((COIN, Subset(3, 1, UNIT // 2), COIN)),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_whole_law_of_three(name: str) -> None:
    check_by_law(SMALL[name])


LARGE: list[tuple[Channel, type[Channel]]] = [
    (Bits(32, P[:1] * 32, Q[:1] * 32, "mask", 5), Bits),
    (Bits(32, 3 * UNIT // 4, UNIT // 4, "blocks", 4), Bits),
    (Subset(64, 8, UNIT // 2), Subset),
]


def test_small_instances_have_three_of_what_the_channel_has_more_of() -> None:
    ones = [max(getattr(small, "ones", 0) for small in channel.miniatures()) for channel, _ in LARGE[:2]]
    assert ones == [3, 3] and max(getattr(small, "w", 0) for small in LARGE[2][0].miniatures()) == 4
    placed = Then(Place(Sparse(16, 5)), signed_rows(16, 2, odds(2))).miniatures()
    assert max(small.first.most for small in placed if isinstance(small, Then)) == 3  # type: ignore[attr-defined]
    sampled = SampledCoordinates((Rounding(-1, 1, 1),) * 8, COIN, 5).miniatures()
    assert max(small.count for small in sampled if isinstance(small, SampledCoordinates)) == 3
    assert max(len(small.parts) for small in Each((COIN,) * 5).miniatures()) == 3


# --- codes by their place -------------------------------------------------------------------------------------------
def test_codes_by_their_place() -> None:
    for size, chosen in ((6, 3), (5, 0), (5, 5), (7, 1)):
        sets = sorted(sorted(one, reverse=True) for one in combinations(range(size), chosen))
        assert [combination(size, chosen, place) for place in range(len(sets))] == sets
    codes = listed(Bits(4096, 3 * UNIT // 4, UNIT // 4, "mask", 2))
    assert codes is not None and codes[0] == 3 and codes[codes.total - 1] == 3 << 4094
    each = Each((Bits(3, P[0], Q[0], "mask", 2), Subset(3, 1, UNIT // 2))).codes()
    assert list(each) == [(mask, code) for mask in (3, 5, 6) for code in range(3)]
    assert each[-1] == (6, 2) and each[1:3] == [(3, 1), (3, 2)] and len(each) == 9  # type: ignore[index, arg-type]
