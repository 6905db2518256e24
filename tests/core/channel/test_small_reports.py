"""Rates of items, and bounds of what one report adds to a tally, for every small channel of `test_small_laws.py`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce.core.channel import AskedOptions, Channel, Hitting, Spread
from sottovoce.core.channel.finite.hitting import held_elements
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exact import law
from sottovoce.core.statistic import STATISTICS, statistic_from_spec
from sottovoce.tally.limits import check_limits
from tests.core.channel.test_small_laws import NODES, instances

WITHOUT_STATISTIC: tuple[str, ...] = ()
Law = dict[Any, Fraction]


def is_asked(channel: Channel, words: Any, elements: tuple[int, ...]) -> bool:
    """Whether a report with this id has a bit for each of the elements."""
    if not isinstance(channel, AskedOptions):
        return True
    window = channel.window
    return all((one - window.choice.of(words)) % channel.items < window.asked for one in elements)


def rate(channel: AskedOptions | Hitting | Spread, one: Law, *elements: int) -> Fraction | None:
    """How often a report contains all of the elements, if it may; None if none has a bit for all of them."""
    may = [(key, chance) for key, chance in one.items() if is_asked(channel, key[0], elements)]
    whole = sum((chance for _, chance in may), Fraction(0))
    both = (chance for key, chance in may if all(channel.holds(key[1], element, key[0]) for element in elements))
    return sum(both, Fraction(0)) / whole if whole else None


@pytest.mark.parametrize("kind", ["hitting", "spread", "options"])
def test_rates_of_items_are_those_of_the_enumerated_sampler(kind: str) -> None:
    """Of one element and of two, held or not; of options among the reports that have a bit for them."""
    for channel in instances(kind):
        assert isinstance(channel, (AskedOptions, Hitting, Spread))
        rates, pairs = channel.item_rates(), channel.pair_rates()
        asked = isinstance(channel, AskedOptions)
        count = channel.items if asked else channel.elements
        for code in channel.codes():
            one = law(channel, code)
            places = {place for place in range(count) if code >> place & 1}
            held = places if asked else set(held_elements(code, channel.items, channel.most))
            for first in range(count):
                assert rate(channel, one, first) == pytest.approx(rates[first not in held], 1e-11)
                for second in range(first):
                    expected = pairs[2 - (first in held) - (second in held)]
                    both = rate(channel, one, first, second)
                    assert both is None or both == pytest.approx(expected, 1e-11)


@pytest.mark.parametrize("kind", NODES)
def test_what_one_report_adds_is_just_within_the_limits_of_its_statistic(kind: str) -> None:
    """Every limit holds for every report, and some report reaches it."""
    fitting: list[Channel] = []
    for channel in instances(kind):
        for name in STATISTICS:
            try:
                statistic = statistic_from_spec({"kind": name})
                statistic.check(channel)
            except SottovoceError:  # not of this channel, or with parameters of its own
                continue
            fitting.append(channel)
            check_limits_of(statistic, channel)
        if len(fitting) >= 5:
            break
    assert fitting or kind in WITHOUT_STATISTIC


def check_limits_of(statistic: Any, channel: Channel) -> None:
    """The limits hold for each report, and are reached by some."""
    limits, size = statistic.limits(channel), statistic.cells(channel)
    tallies = []
    for words, report in {key for code in channel.codes() for key in law(channel, code)}:
        cells = np.zeros(size, np.int64)
        for place, more in statistic.add(channel, report, words):
            cells[place] += more
        check_limits(limits, 1, cells)
        assert not statistic.impossible(channel, cells.tolist(), 1)
        tallies.append(cells)
    most = np.max(tallies, axis=0)
    assert (most <= limits.most).all() and (isinstance(limits.most, int) or (most == limits.most).all())
    assert most.max() == np.max(limits.most)
    for part, *ends in limits.sums:
        sums = [int(cells[part].sum()) for cells in tallies]
        assert [min(sums), max(sums)] == ends
