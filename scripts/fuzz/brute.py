"""A channel against brute force: its whole law, enumerated coin by coin, and all its closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from itertools import cycle
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Channel, Each, Keyed, Mix
from sottovoce.core.channel.base import Words, channel_from_spec
from sottovoce.core.channel.closed_forms import delta, excess, extremes
from sottovoce.core.channel.facets import Coordinates, Masked, Supporting, facet, rounding_of, slots_of, stages_of
from sottovoce.core.channel.shapes import support_rates
from sottovoce.core.coins import TapeCoins
from sottovoce.core.domain import Domain, Integers, Interval, Pair, Record
from sottovoce.core.errors import PrivacyError, SottovoceError, TooLargeError
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.guarantee import Approximate
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Frequency, GroupMean, Mean, Question, VectorMean
from sottovoce.core.statistic import STATISTICS, statistic_from_spec
from sottovoce.fast.batch import draw
from sottovoce.fast.numbers import scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import batch_of_codes, codes_of, require
from sottovoce.testing.vector_mean import box_of

SHORT = 8  # bits of a coin with which draws are rejected
ODDS = (Fraction(1), Fraction(3, 2), Fraction(20))
Laws = dict[Any, dict[tuple[Words, int], Fraction]]


def check_by_law(channel: Channel) -> None:
    """Closed forms against the enumerated law."""
    laws: Laws = {code: law(channel, code) for code in codes_of(channel)}
    ids = len({words for one in laws.values() for words, _ in one})
    outcomes = sorted(set().union(*laws.values()))
    for code, one in laws.items():
        require(sum(one.values()) == 1, f"The law of code {code} does not sum to one.")
        for words, report in outcomes:
            require(channel.contains(report), "A drawn report is not in the alphabet.")
            likelihood = channel.likelihood(report, code, words)
            require(
                likelihood == ids * one.get((words, report), Fraction(0)),
                f"The likelihood of {report} differs from the law.",
            )
    _check_ratio(channel, laws)
    _check_extremes(channel, laws)
    _check_delta(channel, laws)
    _check_rates(channel, laws)
    require(channel_from_spec(channel.spec()) == channel, "A channel differs after a round trip through plain data.")


def _check_ratio(channel: Channel, laws: Laws) -> None:
    brute = worst_ratio(list(laws.values()))
    try:
        claimed = channel.ratio()
    except PrivacyError:
        require(brute is None or _is_bound(channel), f"The ratio is {brute}, but the closed form is infinite.")
        return
    except TooLargeError:
        return
    require(brute is not None and brute <= claimed, f"The ratio is {brute}, more than the claimed {claimed}.")
    require(brute == claimed or _is_bound(channel), f"The ratio is {brute}, less than the claimed {claimed}.")


@singledispatch
def _is_bound(channel: Channel) -> bool:
    """Whether closed forms are bounds: a map with few codes may send no two of them to the worst pair of inner
    codes."""
    return channel.publics > 0 or any(map(_is_bound, channel.parts))


@_is_bound.register
def _(channel: Mix) -> bool:
    """The whole numbers of a mix need not meet the points of a grid."""
    return any(rounding_of(branch) is not None or _is_bound(branch) for branch in channel.channels)


@_is_bound.register
def _(channel: Keyed) -> bool:
    return _is_bound(channel.inner)


def _check_extremes(channel: Channel, laws: Laws) -> None:
    try:
        most, least = extremes(channel)
    except TooLargeError:
        return
    points = [laws[code] for code in laws]
    for report, (high, low) in enumerate(zip(most, least, strict=True)):
        column = [one.get(((0, 0), report), Fraction(0)) for one in points]
        require(low <= min(column) and max(column) <= high, f"The extremes of output {report} do not bound its law.")
        equal = (high, low) == (max(column), min(column))
        require(equal or _is_bound(channel), f"The extremes of output {report} differ from the law.")


def _check_delta(channel: Channel, laws: Laws) -> None:
    outcomes = sorted(set().union(*laws.values()))
    rows = [[one.get(outcome, Fraction(0)) for outcome in outcomes] for one in laws.values()]
    if len(rows) ** 2 * len(outcomes) > 5000:
        return
    for odds in ODDS:
        try:
            claimed = delta(channel, odds)
        except TooLargeError:
            return
        brute = max(excess(one, other, odds) for one in rows for other in rows)
        require(claimed == brute, f"The delta at odds {odds} is {brute}, not the claimed {claimed}.")


def _check_rates(channel: Channel, laws: Laws) -> None:
    known = facet(channel, Supporting) if channel.codes_are_indices else None
    if known is None or support_rates(channel) is None:
        return
    for code in laws:
        claimed = support_rates(channel, code)
        if claimed is None:
            continue
        for other, law_of_other in laws.items():
            rate = sum(
                (weight for (words, report), weight in law_of_other.items() if known.supports(report, code, words)),
                Fraction(0),
            )
            expected = claimed.own if other == code else claimed.other
            exact = code == other or not _short_hash(channel)
            require(rate == expected or not exact, f"Code {code} is supported with {rate}, not with {expected}.")


def _short_hash(channel: Channel) -> bool:
    """Nested maps read words derived by a cipher, which is not uniform on short words."""
    return channel.publics > 1


# --- kernels -----------------------------------------------------------------------------------------------------
def check_kernels(channel: Channel, seed: int, count: int = 24) -> None:
    """Batches against the scalar sampler, with long coins and short ones; tallies against their definition."""
    for bits in (FINE, SHORT):
        check_draws(channel, seed, count, bits)
    for mechanism in mechanisms_of(channel):
        _check_tally(mechanism, seed, count)


@dataclass(frozen=True)
class Bare:
    """A channel that is drawn from like a mechanism, without a domain or a claim."""

    channel: Channel
    words = Mechanism.words
    draw = Mechanism.draw
    _public = Mechanism._public
    _takes = Mechanism._takes


def check_draws(channel: Channel, seed: int, count: int, bits: int) -> None:
    """A batch from coins of `bits` bits against the scalar sampler, report by report."""
    mechanism: Any = Bare(channel)
    codes, stream = batch_codes_of(mechanism.channel, seed, count), WordStream.seeded(mechanism.words, seed)
    try:
        batch = draw(mechanism, codes, stream, threads=1, chunk_bytes=8 * mechanism.words * 7, bits=bits)
    except ValueError as problem:
        if bits == SHORT and "outcomes" in str(problem):
            return  # a coin with too few outcomes
        raise
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place), bits=bits)
        words, expected = mechanism.draw(scalar_code(mechanism.channel, codes[place]), coins)
        require(report == expected, f"With coins of {bits} bits report {place} differs from the scalar sampler.")
        if batch.public is not None:
            require(tuple(int(word) for word in batch.public[place]) == words, "The public words of a batch differ.")


def _check_tally(mechanism: Mechanism, seed: int, count: int) -> None:
    codes = batch_codes_of(mechanism.channel, seed, count)
    batch = draw(mechanism, codes, WordStream.seeded(mechanism.words, seed), threads=1)
    counted, cells = mechanism.tally(batch, threads=1).cells, np.zeros(mechanism.cells, np.int64)
    for place, report in enumerate(batch):
        words = (0, 0) if batch.public is None else (int(batch.public[place, 0]), int(batch.public[place, 1]))
        cells += report_cells(mechanism, report, words)
    require(bool((cells == counted).all()), f"The counts of {mechanism.statistic.kind} differ from their definition.")


def batch_codes_of(channel: Channel, seed: int, count: int) -> Any:
    """Codes as a batch holds them."""
    if facet(channel, Masked) is not None and not channel.codes_are_indices:
        masks = [code for code, _ in zip(cycle(channel.codes()), range(count), strict=False)]
        return np.array(masks, np.uint64).reshape(-1, 1)
    return batch_of_codes(channel, seed, count)


def mechanisms_of(channel: Channel) -> Iterator[Mechanism]:
    """A mechanism for each statistic that the channel has, without a claim."""
    question, most = question_of(domain_of(channel)), Decimal(MAX_EPSILON)
    forever = None if stages_of(channel) is None else most
    for kind in STATISTICS:
        statistic = statistic_from_spec({"kind": kind})
        try:
            yield Mechanism("x", question, channel, most, statistic, guarantee=Approximate(), claimed_forever=forever)
        except SottovoceError:
            continue


def question_of(domain: Domain) -> Question:
    """A question about a domain."""
    if isinstance(domain, Pair):
        return GroupMean(domain.group, domain.value) if domain.value.numbers is not None else Frequency(domain)
    if domain.coordinates is not None or (domain.size is None and domain.numbers is None):
        return VectorMean(domain)
    return Frequency(domain) if domain.size is not None else Mean(domain)


@singledispatch
def domain_of(channel: Channel) -> Domain:
    """A domain for a channel."""
    slots = slots_of(channel)
    if slots is not None:
        return slots.vectors
    coordinates = facet(channel, Coordinates)
    if coordinates is not None:
        ends = coordinates.roundings
        if len({(grid.low, grid.high) for grid in ends}) > 1:
            return Record([(str(place), Interval(grid.low, grid.high)) for place, grid in enumerate(ends)])
        return box_of(channel)
    rounding = rounding_of(channel)
    return Integers(0, channel.inputs - 1) if rounding is None else Interval(rounding.low, rounding.high)


@domain_of.register
def _(channel: Each) -> Domain:
    return Record([(str(place), domain_of(part)) for place, part in enumerate(channel.channels)])


@domain_of.register
def _(channel: Keyed) -> Domain:
    return Pair(domain_of(channel.key), domain_of(channel.inner))
