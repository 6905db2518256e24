"""Devices that answer again and again, as published: the exact law of all that one device sends, on small cases.

A device is a function from a history of answers to the law of its messages. Everything is enumerated: histories, coins
that are kept, and messages. What is public, such as a hash or a level of a tree, is part of the message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from math import exp, inf, log
from typing import Any

History = tuple[int, ...]
Law = dict[Any, float]
Device = Callable[[History], Law]


def respond(bit: int, epsilon: float) -> dict[int, float]:
    """Randomized response: the law of a bit."""
    keep = 1.0 if epsilon == inf else exp(epsilon) / (exp(epsilon) + 1)
    return {bit: keep, 1 - bit: 1 - keep} if keep < 1 else {bit: 1.0}


def choose(value: int, values: int, epsilon: float) -> dict[int, float]:
    """Randomized response over several values."""
    total = exp(epsilon) + values - 1
    return {one: (exp(epsilon) if one == value else 1) / total for one in range(values)}


def sent(parts: Iterator[dict[Any, float]], weight: float = 1.0, public: tuple[Any, ...] = ()) -> Law:
    """The law of independent messages in a row."""
    law: Law = {}
    for messages in product(*(part.items() for part in parts)):
        chance = weight
        for _, probability in messages:
            chance *= probability
        law[(*public, *(message for message, _ in messages))] = chance
    return law


def mixed(laws: Iterator[Law]) -> Law:
    """The sum of laws that have weights already."""
    total: Law = defaultdict(float)
    for law in laws:
        for message, chance in law.items():
            total[message] += chance
    return dict(total)


# --- fresh noise ------------------------------------------------------------------------------------------------------
def fresh(epsilon: float) -> Device:
    """A new noisy answer in every wave."""
    return lambda history: sent(respond(answer, epsilon) for answer in history)


def scheduled(epsilon: float, window: int) -> Device:
    """One answer in any window of waves, in turns that were drawn beforehand; other waves are silent."""

    def device(history: History) -> Law:
        turns = min(window, len(history))
        return mixed(
            sent(
                (respond(one, epsilon) if wave % window == first else {None: 1.0} for wave, one in enumerate(history)),
                1 / turns,
            )
            for first in range(turns)
        )

    return device


# --- memos ------------------------------------------------------------------------------------------------------------
def memo(kept: float, again: float) -> Device:
    """A noisy copy of each answer is kept; reports add fresh noise to it (RAPPOR). `again` may be infinite."""

    def device(history: History) -> Law:
        pairs = product(respond(0, kept).items(), respond(1, kept).items())
        return mixed(
            sent((respond((zero, one)[answer], again) for answer in history), chance * other)
            for (zero, chance), (one, other) in pairs
        )

    return device


def hashed_memo(values: int, g: int, kept: float, again: float) -> Device:
    """LOLOHA: a hash to g values that the device keeps and shows, a memo of each hashed value, fresh noise."""
    hashes = list(product(range(g), repeat=values))

    def device(history: History) -> Law:
        memos = list(product(*(choose(value, g, kept).items() for value in range(g))))
        return mixed(
            sent(
                (choose(drawn[chosen[answer]][0], g, again) for answer in history),
                _chance(drawn) / len(hashes),
                (chosen,),
            )
            for chosen in hashes
            for drawn in memos
        )

    return device


def rounded_memo(levels: int, kept: float, again: float) -> Device:
    """1BitMean: answers from 0 to `levels` - 1, rounded at a secret point that is kept; a memo of each end; flips."""

    def device(history: History) -> Law:
        ends = product(respond(0, kept).items(), respond(1, kept).items())
        return mixed(
            sent(
                (respond((low, high)[answer > point], again) for answer in history),
                chance * other / (levels - 1),
            )
            for (low, chance), (high, other) in ends
            for point in range(levels - 1)
        )

    return device


def bits_memo(values: int, d: int, kept: float, again: float) -> Device:
    """d-bit flip: d public buckets; for each a memo of "here" and of "elsewhere"; reports flip these bits."""
    places = [tuple(one) for one in product(range(values), repeat=d) if sorted(set(one)) == list(one)]

    def device(history: History) -> Law:
        memos = list(product(*([*respond(0, kept).items()] for _ in range(d)), *([*respond(1, kept).items()],) * d))
        return mixed(
            sent(
                (
                    respond(drawn[place + d * (answer == bucket)][0], again)
                    for answer in history
                    for place, bucket in enumerate(chosen)
                ),
                _chance(drawn) / len(places),
                (chosen,),
            )
            for chosen in places
            for drawn in memos
        )

    return device


def _chance(drawn: tuple[tuple[int, float], ...]) -> float:
    chance = 1.0
    for _, probability in drawn:
        chance *= probability
    return chance


# --- changes ----------------------------------------------------------------------------------------------------------
def votes(vote: float, estimate: float, most: int) -> Device:
    """Thresh: a vote on whether the answer changed, then the new answer where the device is heard, `most` times.

    The device votes yes while it has votes left, and answers truthfully as often. Afterwards it sends noise. Here every
    vote of yes that arrives is heard, which reveals most.
    """

    def device(history: History) -> Law:
        law: Law = {}

        def step(wave: int, known: int, voted: int, heard: int, seen: tuple[int, ...], chance: float) -> None:
            if wave == len(history):
                law[seen] = law.get(seen, 0.0) + chance
                return
            changed = int(history[wave] != known and voted < most)
            for said, probability in respond(changed, vote).items():
                if not said:
                    step(wave + 1, known, voted + changed, heard, (*seen, 0), chance * probability)
                    continue
                truly = history[wave] if heard < most else 0
                for answer, other in respond(truly, estimate).items():
                    new = (*seen, 1, answer)
                    step(wave + 1, history[wave], voted + changed, heard + 1, new, chance * probability * other)

        step(0, 0, 0, 0, (), 1.0)
        return law

    return device


def tree(epsilon: float, changes: int) -> Device:
    """The online tree of changes (Erlingsson et al. 2019): a level of intervals, one of the changes, a sign with noise.

    A device draws a public level and the number of a change. Of each interval of that level it sends the sign of its
    change, randomized with half of epsilon, and a fair sign of all other intervals.
    """

    def device(history: History) -> Law:
        waves = len(history)
        moved = [wave for wave in range(waves) if history[wave] != (history[wave - 1] if wave else 0)][:changes]
        lengths = [1 << level for level in range(waves.bit_length()) if waves % (1 << level) == 0]
        laws = []
        for length in lengths:
            for number in range(changes):
                place = moved[number] // length if number < len(moved) else None
                sign = history[moved[number]] if number < len(moved) else 0
                parts = (
                    respond(sign, epsilon / 2) if interval == place else {0: 0.5, 1: 0.5}
                    for interval in range(waves // length)
                )
                laws.append(sent(parts, 1 / len(lengths) / changes, (length,)))
        return mixed(iter(laws))

    return device


# --- losses -----------------------------------------------------------------------------------------------------------
def loss(device: Device, values: int, waves: int, span: int | None = None, *, constant: bool = False) -> float:
    """The largest loss over all pairs of histories: of all, of those that differ within a span, or of constant ones."""
    histories = list(product(range(values), repeat=waves))
    if constant:
        histories = [history for history in histories if len(set(history)) == 1]
    laws = {history: device(history) for history in histories}
    width = waves if span is None else span
    worst = 0.0
    for first, one in laws.items():
        for second, other in laws.items():
            places = [wave for wave in range(waves) if first[wave] != second[wave]]
            if not places or places[-1] - places[0] >= width:
                continue
            for message, chance in one.items():
                if chance > 0:
                    beside = other.get(message, 0.0)
                    worst = max(worst, inf if beside <= 0 else log(chance / beside))
    return worst
