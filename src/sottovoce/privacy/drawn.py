"""Messages drawn from known words: what the audit sees of an instance of any size.

The words are watched: each is read once, in rising order and within the span that its channel declares, by the whole
message and by every node that the channel is built from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from math import log, sqrt
from typing import Any

from sottovoce.core.arithmetic.hashing import id_bytes, id_words
from sottovoce.core.channel import Channel, Contrast, Rates
from sottovoce.core.channel.base import Words, nested
from sottovoce.core.channel.facets import Supporting, facet, outputs_of, rates_of, stages_of
from sottovoce.core.coins import Coins, SeededCoins
from sottovoce.core.errors import ReportError, TooLargeError
from sottovoce.core.exact import walk
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
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
ALPHA = 1e-6  # false alarms of the comparison of frequencies; the seed is fixed, so an audit always says the same
SOME_ID: Words = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # arbitrary public numbers: golden ratio, a prime of xxHash

UNREADABLE = "A message is not what the codec of the specification writes."
WRONG_ID = "The id of a message is not the two words that were drawn for it."
WRONG_SUPPORT = "Messages do not support codes as often as the closed form says."
WRONG_DRAWS = "Messages that are drawn from words do not have the law of the enumerated ones."
NOT_REPEATABLE = "The same coins give different messages: they depend on other state, or on a draw that does not count."


def send(device: Mechanism, code: Any, coins: Coins, cohort: int = 0) -> bytes:
    """One message of a new device."""
    if stages_of(device.channel):
        return device.answer_from(device.remember(code, coins, cohort=cohort), coins, cohort=cohort)
    return device.randomize(code, coins)


def some_codes(channel: Channel) -> list[Any]:
    """The first, the last and the middle code, or the first few where they are not simply numbered."""
    codes = channel.codes()
    if isinstance(codes, Sequence):
        places = (0, channel.inputs // 2, channel.inputs - 1)
        return [codes[place] for place in dict.fromkeys(places)]
    return list(islice(codes, 3))


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
def watch_messages(device: Mechanism, problems: list[str]) -> None:
    """Messages from known words: their id, whether they can be read, how often they come and support a code."""
    channel, codes = device.channel, some_codes(device.channel)
    draws = max(FEW_DRAWS, min(DRAWS, DRAWN_WORDS // (channel.words + 2 * device.cohorts)))
    supporting = facet(channel, Supporting)
    supported: dict[tuple[Any, Any], int] = {}
    reported: dict[tuple[Any, int], int] = {}
    spans = message_spans(channel)
    for code in codes:
        for number in range(draws):
            coins = WatchedCoins(SeededCoins(0, first_report=number), spans, problems)
            cohort = device.draw_cohort(SeededCoins(1, first_report=number))
            message = send(device, code, coins, cohort)
            coins.close()
            again = number < min(REPEATED, draws // 8)
            if again and send(device, code, SeededCoins(0, first_report=number), cohort) != message:
                problems.append(NOT_REPEATABLE)
            if message[: codec.ID_BYTES] != id_bytes(_drawn_id(device, number, cohort)):
                problems.append(WRONG_ID)
                return
            try:
                report_id, report = codec.split(channel, message)
            except ReportError:
                problems.append(UNREADABLE)
                return
            reported[code, report] = reported.get((code, report), 0) + 1
            if supporting is not None:
                for other in codes:
                    hit = supporting.supports(report, other, id_words(report_id))
                    supported[code, other] = supported.get((code, other), 0) + hit
    problems += _support_problems(channel, supported, draws)
    with suppress(TooLargeError):  # if the law takes too long to compute, only supports are compared
        problems += _report_problems(channel, reported, draws)


def _drawn_id(device: Mechanism, number: int, cohort: int) -> Words:
    """The id that the seeded words of this number give; a memo takes its own words before."""
    coins = SeededCoins(0, first_report=number + 1 if stages_of(device.channel) else number)
    coins.begin(2)
    return Mechanism._public(device, coins, cohort)


def _support_problems(channel: Channel, supported: dict[tuple[Any, Any], int], draws: int) -> Iterator[str]:
    """Whether counts of supports stay within Hoeffding's bound; the false-alarm rate is at most ALPHA."""
    for (code, other), hits in supported.items():
        rates = rates_of(channel, other)
        if isinstance(rates, Rates):
            expected = rates.own if code == other else rates.other
        elif isinstance(rates, Contrast) and code == other:
            expected = rates.plus_own
        else:
            continue
        if abs(hits / draws - expected) > sqrt(log(2 * len(supported) / ALPHA) / (2 * draws)):
            yield WRONG_SUPPORT


def _report_problems(channel: Channel, reported: dict[tuple[Any, int], int], draws: int) -> Iterator[str]:
    """Whether counts of reports stay within Chernoff's bound; the false-alarm rate is at most ALPHA.

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
        for report in reports:
            expected = float(channel.likelihood(report, code))
            if draws * _divergence(reported.get((code, report), 0) / draws, expected) > log(tests / ALPHA):
                yield WRONG_DRAWS


def _divergence(share: float, expected: float) -> float:
    """The relative entropy of two coins; infinite if the second rules out what the first showed."""
    total = 0.0
    for p, q in ((share, expected), (1 - share, 1 - expected)):
        if p > 0:
            total += p * log(p / q) if q > 0 else float("inf")
    return total
