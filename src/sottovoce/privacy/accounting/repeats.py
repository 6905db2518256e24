"""What the reports of a person in a repeated study lose: exactly, by enumeration of small cases.

The collector sees in which waves a device sends, and what. A device sends in the waves that its public number draws,
whatever it has to say. So given these waves, reports are independent, and only answers of these waves matter.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

from sottovoce.core.arithmetic.rational import float_up, loss
from sottovoce.core.errors import TooLargeError
from sottovoce.core.exact import law_of
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer

OWNER = "repeat_loss"
MOST_CASES = 1 << 20
Law = dict[tuple[int | None, ...], Fraction]


def repeat_loss(mechanism: Mechanism, repeat: Repeat, *, span: int | None = None, joined: int = 0) -> float:
    """The exact loss of all reports of a device, over all pairs of histories; rounded up.

    Args:
        mechanism: The mechanism of each report, with few codes and few reports.
        repeat: The schedule.
        span: Histories differ in at most so many waves in a row. Default: in any waves.
        joined: The wave in which the device heard of the study.
    """
    check_integer("span", OWNER, repeat.waves if span is None else span, 1, repeat.waves)
    codes, width = list(mechanism.channel.codes()), repeat.waves if span is None else span
    laws = {code: law_of(partial(mechanism.channel.sample, code)) for code in codes}
    outputs = len({output for law in laws.values() for output in law}) + 1
    if len(codes) ** (repeat.waves + width) * repeat.waves * outputs**repeat.answers > MOST_CASES:
        raise TooLargeError("Histories are enumerated of few waves, codes and reports only.")
    known = {history: _law(history, laws, repeat, joined) for history in product(codes, repeat=repeat.waves)}
    worst = Fraction(1)
    for history, one in known.items():
        for start in range(repeat.waves - width + 1):
            for inside in product(codes, repeat=width):
                other = known[(*history[:start], *inside, *history[start + width :])]
                worst = max(worst, *(one[seen] / other[seen] for seen in one))
    return float_up(loss(worst))


def _law(history: tuple[object, ...], laws: dict[object, dict[int, Fraction]], repeat: Repeat, joined: int) -> Law:
    """The law of what a collector sees of a device: in each wave a report, or none."""
    firsts = range(max(0, joined), min(repeat.waves, max(0, joined) + repeat.window))
    law: Law = {}
    for first in firsts:
        turns = range(first, repeat.waves, repeat.window)
        for reports in product(*(laws[history[wave]].items() for wave in turns)):
            seen: list[int | None] = [None] * repeat.waves
            for wave, (report, _) in zip(turns, reports, strict=True):
                seen[wave] = report
            chance = prod((probability for _, probability in reports), start=Fraction(1, len(firsts)))
            law[tuple(seen)] = law.get(tuple(seen), Fraction(0)) + chance
    return law
