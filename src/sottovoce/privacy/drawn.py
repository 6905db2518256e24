"""Messages drawn from known words: what the audit sees of an instance of any size.

The words are watched: each is read once, in rising order and within the span that its channel declares, by the whole
message and by every node that the channel is built from.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import count, islice
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.hashing import id_bytes, id_words
from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words, nested
from sottovoce.core.channel.facets import Masked, Supporting, facet, outputs_of, stages_of
from sottovoce.core.channel.listing import listed
from sottovoce.core.channel.shapes import contrast_of, support_rates
from sottovoce.core.coins import Coins, SeededCoins
from sottovoce.core.errors import ReportError, TooLargeError
from sottovoce.core.exact import walk
from sottovoce.core.exchange import codec
from sottovoce.core.guarantee import PURE, Guarantee
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.spec_cost import effort, steps
from sottovoce.privacy.follow import MessageCoins, WatchedCoins, message_spans

DRAWS = 250  # seeded messages of one code
FEW_DRAWS = 60  # of them at least, however long they are: fewer could not detect a support that is always there
DRAWN_WORDS = 1 << 19  # that these may take
REPEATED = 32  # of them are drawn again
MAX_OUTPUTS = 1 << 8  # of a channel whose reports are counted one by one
MAX_NODES = 16  # different ones of a composition that are watched by themselves
NODE_DRAWS = 16  # seeded reports of one code of a node
NODE_PATHS = 1 << 8  # enumerated ones
NODE_WORDS = 16  # of a node that may have so few outcomes
SPOTS = 3  # codes drawn from the fingerprint, besides the first, the middle and the last
MANY = 64  # further codes, of which few messages are drawn each
MAX_BITS = 1 << 16  # of a mask whose bits are counted one by one
COMPARED_STEPS = 1 << 15  # of exact arithmetic, of about five microseconds each, for likelihoods at full size
FEW_COMPARED = 8  # reports, where that takes up to MOST_COMPARED_STEPS; fewer, or none, where it takes longer
MOST_COMPARED_STEPS = 1 << 22  # for masks a coarse bound: they take a second
# False alarms of each comparison of frequencies (supports of some codes, own supports of many codes, reports, bits),
# whatever the number of its tests; the seed is fixed, so an audit always says the same.
ALPHA = 1e-6
SOME_ID: Words = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # arbitrary public numbers: golden ratio, a prime of xxHash

UNREADABLE = "A message is not what the codec of the specification writes."
WRONG_ID = "The id of a message is not the two words that were drawn for it."
WRONG_SUPPORT = "Messages do not support codes as often as the closed form says."
WRONG_BITS = "Messages do not set the bits of their masks as often as the closed form says."
LARGER_RATIO = "The closed form of the likelihood, of drawn messages, spreads more than that of the ratio allows."
WRONG_DRAWS = "Messages that are drawn from words do not have the law of the enumerated ones."
NOT_REPEATABLE = "The same coins give different messages: they depend on other state, or on a draw that does not count."


def send(device: Mechanism, code: Any, coins: Coins, cohort: int = 0) -> bytes:
    """One message of a new device."""
    if stages_of(device.channel):
        return device.answer_from(device.remember(code, coins, cohort=cohort), coins, cohort=cohort)
    return device.randomize(code, coins)


def some_codes(channel: Channel, fingerprint: str | None = None) -> list[Any]:
    """The first, the middle and the last code, and some that a fingerprint draws; the first of unlisted ones."""
    codes = listed(channel)
    if codes is None:
        return list(islice(channel.codes(), 3))
    places = [0, codes.total // 2, codes.total - 1]
    if fingerprint is not None:
        places += _places(codes.total, fingerprint, SPOTS)
    return [codes[place] for place in dict.fromkeys(places)]


def many_codes(channel: Channel, fingerprint: str) -> list[Any]:
    """Many codes that a fingerprint draws; none of an unlisted order."""
    codes = listed(channel)
    return [] if codes is None else [codes[place] for place in _places(codes.total, fingerprint, SPOTS + MANY)[SPOTS:]]


def _places(total: int, fingerprint: str, count: int) -> list[int]:
    """Numbers below the total that a fingerprint draws: what a sampler would have to know to spare just these."""
    width = total.bit_length() // 8 + 8
    raw = hashlib.shake_256(f"sottovoce audit 1|{fingerprint}".encode()).digest(width * count)
    return [int.from_bytes(raw[at : at + width], "little") % total for at in range(0, len(raw), width)]


def some_id(channel: Channel) -> Words:
    """Public words that a device may use."""
    return next(id for shift in count() if channel.accepts(id := (SOME_ID[0] >> shift, SOME_ID[1])))


# --- the nodes of a composition -------------------------------------------------------------------------------
def watch_nodes(channel: Channel, problems: list[str]) -> None:
    """Whether every node keeps to the words that it declares, so that none reads those of its neighbours."""
    for node in islice(dict.fromkeys((channel, *nested(channel))), MAX_NODES):
        words = some_id(node)
        for code in some_codes(node):
            for number in range(NODE_DRAWS):
                coins = WatchedCoins(SeededCoins(0, first_report=number), [node.words], problems)
                coins.begin(node.words)
                node.sample(code, coins, words)
                coins.close()
            if node.exact and node.words <= NODE_WORDS:
                _enumerate_node(node, code, words, problems)


def _enumerate_node(node: Channel, code: Any, words: Words, problems: list[str]) -> None:
    """All outcomes of one code, or the first of them."""

    def draw(tree: Coins) -> None:
        coins = MessageCoins(tree, (), [node.words], problems)  # type: ignore[arg-type]
        coins.begin(node.words)
        node.sample(code, coins, words)
        coins.close()

    try:
        for _ in walk(draw, NODE_PATHS):
            pass
    except TooLargeError:
        return


# --- messages ---------------------------------------------------------------------------------------------------
class Drawn(NamedTuple):
    """A seeded message of a code, read: its report and its public words."""

    code: Any
    report: int
    public: Words


def watch_messages(device: Mechanism, codes: list[Any], others: list[Any], problems: list[str]) -> list[Drawn]:
    """Messages from known words: their id, whether they can be read, how often they come and set a bit.

    Many messages of each of `codes`, and as many as of one of them for all `others` together, so that a sampler that
    fails for some codes, or sends them as they are, is found.
    """
    channel = device.channel
    draws = max(FEW_DRAWS, min(DRAWS, DRAWN_WORDS // (channel.words + 2 * device.cohorts)))
    plan = [(code, number) for code in codes for number in range(draws)]
    plan += [(others[number % len(others)], number) for number in range(draws) if others]
    drawn: list[Drawn] = []
    for code, number in plan:
        message = _message(device, code, number, number < min(REPEATED, draws // 8), problems)
        if message is None:
            return drawn
        drawn.append(message)
    many, few = drawn[: draws * len(codes)], drawn[draws * len(codes) :]
    problems += _own_problems(channel, few)
    problems += _bit_problems(channel, many)
    supporting, supported = facet(channel, Supporting), Counter[tuple[Any, Any]]()
    if supporting is not None:
        for code, report, public in many:
            supported.update({(code, other): supporting.supports(report, other, public) for other in codes})
    problems += _support_problems(channel, supported, draws)
    with suppress(TooLargeError):  # if the law takes too long to compute, only supports and bits are compared
        problems += _report_problems(channel, Counter((code, report) for code, report, _ in many), draws)
    return drawn


def _message(device: Mechanism, code: Any, number: int, again: bool, problems: list[str]) -> Drawn | None:
    """One message from watched words, drawn again from unwatched ones; None if it cannot be read."""
    spans = message_spans(device.channel)
    first = number * len(spans)  # no two messages share words
    coins = WatchedCoins(SeededCoins(0, first_report=first), spans, problems)
    cohort = device.draw_cohort(SeededCoins(1, first_report=number))
    message = send(device, code, coins, cohort)
    coins.close()
    if again and send(device, code, SeededCoins(0, first_report=first), cohort) != message:
        problems.append(NOT_REPEATABLE)
    expected = SeededCoins(0, first_report=first + len(spans) - 1)  # a memo takes its own words before
    expected.begin(2)
    if message[: codec.ID_BYTES] != id_bytes(Mechanism._public(device, expected, cohort)):
        problems.append(WRONG_ID)
        return None
    try:
        report_id, report = codec.split(device.channel, message)
    except ReportError:
        problems.append(UNREADABLE)
        return None
    return Drawn(code, report, id_words(report_id))


# --- frequencies: each of the four comparisons raises a false alarm with a probability of at most ALPHA --------------
def _own_problems(channel: Channel, drawn: list[Drawn]) -> Iterator[str]:
    """Whether messages of many codes support their own code as often as the closed form says (Chernoff)."""
    supporting = facet(channel, Supporting)
    if supporting is None:
        return
    known = [(one, rates) for one in drawn if (rates := support_rates(channel, one.code)) is not None]
    if not known:
        return
    hits = sum(supporting.supports(one.report, one.code, one.public) for one, _ in known)
    expected = sum(float(rates.own) for _, rates in known) / len(known)
    if len(known) * _divergence(hits / len(known), expected) > log(2 / ALPHA):
        yield WRONG_SUPPORT


def _bit_problems(channel: Channel, drawn: list[Drawn]) -> Iterator[str]:
    """Whether every bit of a mask is set as often as the closed form says, by Chernoff's bound.

    Bits of one report need not be independent, and their rates may vary with the public words: the bound holds for the
    mean rate.
    """
    masked, size = facet(channel, Masked), channel.payload_bits
    if masked is None or size > MAX_BITS:
        return
    rates = np.array([masked.bit_rate(place) for place in range(size)], float)
    codes = dict.fromkeys(one.code for one in drawn)
    for code in codes:
        some = [one for one in drawn if one.code == code]
        own = _bits([masked.mask(code, one.public) for one in some], size)
        expected = rates[:, 1] + (rates[:, 0] - rates[:, 1]) * own
        shares = _bits([one.report for one in some], size)
        if len(some) * _divergence(shares, expected).max() > log(2 * size * len(codes) / ALPHA):
            yield WRONG_BITS


def _bits(masks: list[int], size: int) -> NDArray[np.float64]:
    """The share of the masks in which each bit is set."""
    width = -(-size // 8)
    total = np.zeros(8 * width)
    for mask in masks:
        total += np.unpackbits(np.frombuffer(mask.to_bytes(width, "little"), np.uint8), bitorder="little")
    return np.asarray(total[:size] / len(masks))


def _support_problems(channel: Channel, supported: Mapping[tuple[Any, Any], int], draws: int) -> Iterator[str]:
    """Whether counts of supports stay within Hoeffding's bound."""
    for (code, other), hits in supported.items():
        rates, contrast = support_rates(channel, other), contrast_of(channel, other)
        if rates is not None:
            expected = rates.own if code == other else rates.other
        elif contrast is not None and code == other:
            expected = contrast.plus_own
        else:
            continue
        if abs(hits / draws - expected) > sqrt(log(2 * len(supported) / ALPHA) / (2 * draws)):
            yield WRONG_SUPPORT


def _report_problems(channel: Channel, reported: Mapping[tuple[Any, int], int], draws: int) -> Iterator[str]:
    """Whether counts of reports stay within Chernoff's bound.

    The law is the closed form, which the enumeration has proven. So a sampler that recognises an
    enumeration, and has another law when it reads words, is found.
    """
    outputs = outputs_of(channel)
    if outputs is None or outputs > MAX_OUTPUTS or channel.publics or not channel.exact:
        return
    codes = dict.fromkeys(code for code, _ in reported)
    reports = [report for report in range(outputs) if channel.contains(report)]
    tests = 2 * len(codes) * len(reports)
    for code in codes:
        shares = np.array([reported.get((code, report), 0) / draws for report in reports])
        expected = np.array([channel.likelihood(report, code) for report in reports], float)
        if draws * _divergence(shares, expected).max() > log(tests / ALPHA):
            yield WRONG_DRAWS


def _divergence(share: Any, expected: Any) -> Any:
    """The relative entropy of two coins; infinite if the second rules out what the first showed."""
    total: Any = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for p, q in ((share, expected), (np.subtract(1, share), np.subtract(1, expected))):
            total = total + np.where(np.greater(p, 0), p * np.log(np.divide(p, np.maximum(q, 0))), 0)
    return total


# --- the ratio at full size ----------------------------------------------------------------------------------------
def ratio_problems(
    channel: Channel, ratio: Fraction, drawn: list[Drawn], codes: list[Any], guarantee: Guarantee = PURE
) -> Iterator[str]:
    """Whether the closed form `likelihood` of a drawn report, over some codes, spreads more than `ratio` allows.

    Of all drawn reports as many as can be computed quickly, among those that the guarantee protects.
    """
    known = effort(channel)
    column_steps = known.likelihood * steps(known.bits) * len(codes)
    count = min(len(drawn), max(COMPARED_STEPS // column_steps, min(FEW_COMPARED, MOST_COMPARED_STEPS // column_steps)))
    if not count:
        return
    chosen = drawn[:: -(-len(drawn) // count)]
    # Of one report once, where public words cannot change its likelihood.
    different = {(report, channel.publics and public): (report, public) for _, report, public in chosen}.values()
    columns = ([channel.likelihood(report, code, public) for code in codes] for report, public in different)
    worst = guarantee.among(codes).worst_ratio(columns)
    if worst is None or worst > ratio:
        yield LARGER_RATIO


def memo_ratio_problems(memo: Channel, ratio: Fraction, fingerprint: str) -> Iterator[str]:
    """Whether the likelihood of a drawn memo spreads more than the closed form of its ratio allows."""
    codes, drawn = some_codes(memo, fingerprint), []
    for code in codes:
        for number in range(NODE_DRAWS):
            coins = SeededCoins(0, first_report=number)
            coins.begin(memo.words)
            drawn.append(Drawn(code, memo.sample(code, coins), SOME_ID))
    yield from ratio_problems(memo, ratio, drawn, codes)
