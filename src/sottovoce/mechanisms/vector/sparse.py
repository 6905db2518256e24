"""Means of long vectors with few entries: signs of all places or of some, or of one place, by least variance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Channel, Hints, Place, Signs, Then
from sottovoce.core.channel.facets import Summed, dimensions_of, facet
from sottovoce.core.channel.vector.place import signed_rows
from sottovoce.core.channel.vector.signs import MAX_SLOTS, score
from sottovoce.core.domain import Domain, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.sums import Sums

ORACLES = ("signs", "hints", "hadamard", "grr")
SHORTER = Fraction(21, 20)  # allowed variance relative to the least, for reports of a few bytes


def build(domain: Domain, *, epsilon: Any, oracle: str | None = None) -> Mechanism:
    """Sparse vectors of d numbers, at most s of them not zero, by the oracle of least variance unless one is named.

    Law: each entry is rounded to a sign. "signs": s slots, of which the entries have one each, agree or not; patterns
        with at least a agreements have weight e**epsilon, all others 1. The report is a sign for each place, that of
        an entry where its slot agrees, the opposite where not, and fair elsewhere. "hints": of each place the report
        says + or -, each with probability q, or nothing; reports that agree with some entry have weight e**epsilon
        beside that. "hadamard": one of the s slots is chosen; an empty one becomes a place without an entry with a fair
        sign. Places lie in B groups of Hadamard rows; the report is an output y, with weight R where y agrees with
        place and sign, 1 elsewhere. "grr" is B = d.
    Privacy: e**epsilon. With t = ceil(d/B) places in a group, min(s, t) of s slots agree with y at most, so
        R = 1 + (e**epsilon - 1) s / min(s, t): R makes use of the private choice of the slot.
    Estimator: the share of reports that say + of a place less those that say -, times bound / (2 k - 1) for "signs",
        where a slot agrees with probability k; times bound (1 + m (e**epsilon - 1)) / ((e**epsilon - 1) q
        (1 - q)**(s - 1)) with m = 1 - (1 - q)**s for "hints"; times s bound (R + 2 B - 1) / (R - 1) for "hadamard".
    Cost: "signs" has d bits and variance near bound**2 s (pi/2) ((e**epsilon + 1) / (e**epsilon - 1))**2 for small
        epsilon, "hints" 2 d bits and near bound**2 8 s / (e**epsilon - 1) for large; "hadamard" about log2(2 d) bits
        and bound**2 s**2 (R + 2 B - 1)**2 / (B (R - 1)**2) on average. It is taken up to 5 % above the least.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018, whose
        one-sparse and l_inf mechanisms "signs" contains (s = 1; s = d, a = floor(d/2) + 1); Acharya, Sun, Zhang,
        "Hadamard response", AISTATS 2019. A total error of order d s / (n epsilon**2) is the least possible by Wang et
        al., "Differentially private numerical vector analyses in the local and shuffle model", 2023; see also Zhou,
        Wang, Chan, Fanti, Shi, "Locally differentially private sparse vector aggregation", IEEE S&P 2022. Both hash to
        few buckets, which is not done here.
    """
    budget = check_epsilon("sparse", epsilon)
    if not isinstance(domain, Sparse):
        raise ParameterError(
            "The 'domain' parameter of sparse must be vectors with few entries, such as Sparse(1000, most=3)."
        )
    if oracle is not None and oracle not in ORACLES:
        raise reject("oracle", "sparse", f"one of {', '.join(ORACLES)}", oracle)
    if oracle in ("signs", "hints") and domain.most > MAX_SLOTS:
        raise reject("oracle", "sparse", f"hadamard or grr where vectors have more than {MAX_SLOTS} entries", oracle)
    ratio = odds(budget)
    if oracle == "grr":
        channel: Channel = rows(domain, domain.dimensions, ratio)
    else:
        candidates: list[Channel] = []
        if oracle in (None, "hadamard"):
            candidates.append(best_rows(domain, ratio))
        if oracle in (None, "signs") and domain.most <= MAX_SLOTS:
            candidates.append(best_signs(domain, ratio))
        if oracle in (None, "hints") and domain.most <= MAX_SLOTS:
            candidates.append(best_hints(domain, ratio))
        least = min(map(square, candidates))
        channel = next(one for one in candidates if square(one) <= SHORTER * least)  # rows come first
    return Mechanism(
        "sparse", VectorMean(domain), channel, budget, CountOutputs() if facet(channel, Summed) is None else Sums()
    )


def best_signs(domain: Sparse, ratio: Fraction) -> Signs:
    """The least number of agreements for which a slot agrees most often."""
    channels = [Signs.of_ratio(domain, least, ratio) for least in range(1, domain.most + 1)]
    return max(channels, key=lambda channel: channel.keep)


def best_hints(domain: Sparse, ratio: Fraction) -> Hints:
    """The best probability of speaking among those of five leading bits; near (s (R - 1))**-1 where that is small."""
    odd, most = float(ratio) - 1, domain.most

    def noise(speak: Fraction) -> float:
        rate = float(speak)
        somewhere = 1 - (1 - rate) ** most
        return (1 + somewhere * odd) ** 2 / (rate * (1 - rate) ** (2 * most - 2))

    candidates = [Fraction(16 + step, 1 << (power + 5)) for power in range(1, 40) for step in range(16)]
    return Hints.of_ratio(domain, floor_unit(min(candidates, key=noise)), ratio)


def best_rows(domain: Sparse, ratio: Fraction) -> Then:
    """The number of groups of least variance.

    With R fixed it is convex in B and least near (R - 1) / 2; where groups have fewer than s places it falls with B.
    """
    size, middle = domain.dimensions, int((ratio - 1) / 2)
    full = max(1, size // domain.most)  # the most groups that can have s places each
    candidates = {1, *(min(max(1, count), full) for count in (middle, middle + 1)), full, size}
    return min((rows(domain, groups, ratio) for groups in sorted(candidates)), key=square)


def rows(domain: Sparse, groups: int, ratio: Fraction) -> Then:
    """One place with its sign, through rows of Hadamard matrices in `groups` groups."""
    together = min(domain.most, -(-domain.dimensions // groups))
    second = signed_rows(domain.dimensions, groups, 1 + (ratio - 1) * Fraction(domain.most, together))
    return Then(Place(domain), second)


def square(channel: Channel) -> Fraction:
    """The mean square of a report's reading of a place: noise, and the answer's own square, which is small."""
    return score(channel).average_square(dimensions_of(channel) or 0)
