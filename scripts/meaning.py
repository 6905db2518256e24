"""Meaning of a report in the participant's words: the answers under which it is most likely, or the items it names.

A report that names no item has the empty text, which stands for "none of these". A report about a ranking names pairs
of items, the better one first.

The meaning follows from the report alone, so it tells nobody more than the report does. No mechanism has words of its
own: possible answers are tried one after the other, and the law of the channel says which of them fit best. The
browser computes the same (`clients/web/src/device/meaning.ts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from itertools import combinations, product
from typing import Any, NamedTuple

from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.asked import Asked
from sottovoce.core.channel import AskedKey, Channel, KeyEnds, SampledKey
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.channel.facets import Supporting, facet
from sottovoce.core.channel.shapes import Naming
from sottovoce.core.domain import Domain
from sottovoce.core.exchange.codec import ID_BYTES
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.core.statistic.ends import item_channels

MOST_TRIED = 1000
MOST_POINTS = 150  # of a number without a step
POINTS_BY_CELL = 3  # where a mechanism tells more cells of a number apart than these: each cell has a point
FINE = Fraction(1, 1_000_000)


class Said(NamedTuple):
    """An answer, or an unbroken range of numbers: then `low` and `high` differ. Without groups the group is empty.

    The answers to several attributes are a `cell`.
    """

    group: str
    low: str
    high: str
    cell: tuple[str, ...] = ()


class Meaning(NamedTuple):
    """Meaning of a report. It has no answers where too many would have to be tried.

    Attributes:
        answers: those under which the report is most likely.
        tried: how many answers were tried.
        any: whether the report is as likely under all of them.
    """

    answers: tuple[Said, ...]
    tried: int
    any: bool


class _Tried(NamedTuple):
    value: Any
    group: str
    text: str
    follows: bool  # the number after the one before it
    cell: tuple[str, ...] = ()  # its value is a code already


def meaning(asked: Asked, mechanism: Mechanism, message: bytes) -> Meaning:
    """Meaning of a message of a mechanism, for the answer to a question."""
    channel, domain = mechanism.channel, mechanism.domain
    report = int.from_bytes(message[ID_BYTES:], "little")
    public = id_words(message[:ID_BYTES]) if channel.publics else NO_WORDS
    naming = facet(channel, Naming)
    if domain.keyed is not None:
        return _of_keys(mechanism, report, public)
    if naming is not None and domain.ranked is not None:
        pairs = enumerate(combinations(map(str, domain.ranked.labels()), 2))
        said = []
        for place, (first, second) in pairs:
            if naming.holds(report, place, public):
                said.append((first, second))
            elif naming.denies(report, place, public):
                said.append((second, first))
        return Meaning(tuple(Said("", "", "", pair) for pair in said), naming.items, any=False)
    if naming is not None:
        named = [str(item) for place, item in enumerate(domain.labels()) if naming.holds(report, place, public)]
        return Meaning(tuple(Said("", item, item) for item in named or [""]), naming.items, any=False)
    parts = getattr(domain, "parts", ()) if asked.attributes else ()
    tried = list(_cells(domain) if parts else _tried(asked, POINTS_BY_CELL * (domain.size or 0)))
    too_many = not 0 < len(tried) <= 4 * MOST_TRIED or (domain.size is not None and domain.size > len(tried))
    if too_many:
        return Meaning((), 0, any=False)
    supporting = facet(channel, Supporting)
    fits: list[Fraction | bool] = []
    for one in tried:
        code = one.value if one.cell else domain.encode(asked.answer(one.value))
        fits.append(
            channel.likelihood(report, code, public)
            if supporting is None
            else supporting.supports(report, code, public)
        )
    best = max(fits)
    answers: list[Said] = []
    before = False
    for one, fit in zip(tried, fits, strict=True):
        if fit == best and before and one.follows:
            answers[-1] = answers[-1]._replace(high=one.text)
        elif fit == best:
            answers.append(Said(one.group, one.text, one.text, one.cell))
        before = fit == best
    return Meaning(tuple(answers), len(tried), any=all(fit == best for fit in fits))


def _of_keys(mechanism: Mechanism, report: int, public: Words) -> Meaning:
    """The keys that a report names, each with an end of the range where it says one."""
    domain: Any = mechanism.domain
    low, high = (decimal_text(Decimal(str(end))) for end in (domain.value.low, domain.value.high))
    said = []
    for place, upper in _named_keys(mechanism.channel, report, public):
        key, end = str(domain.keys[place]), high if upper else low
        said.append(Said("", key, key) if upper is None else Said(key, end, end))
    return Meaning(tuple(said or [Said("", "", "")]), len(domain.keys), any=False)


@singledispatch
def _named_keys(channel: Channel, report: int, public: Words) -> Iterator[tuple[int, bool | None]]:
    """The places of the keys, with whether the upper end is said; None where a report says no end."""
    raise TypeError(f"Reports of a {channel.kind} channel name no keys.")


@_named_keys.register
def _(channel: KeyEnds, report: int, public: Words) -> Iterator[tuple[int, bool | None]]:
    plain, ends = item_channels(channel)
    if not report & 1:
        yield from ((key, None) for key in range(channel.dimensions) if plain.holds(report >> 1, key, public))
        return
    for end in range(2 * channel.dimensions):
        if ends.holds(report >> 1, end, public):
            yield end // 2, end % 2 == 0


@_named_keys.register
def _(channel: AskedKey, report: int, public: Words) -> Iterator[tuple[int, bool | None]]:
    chances = [channel.inner.likelihood(report, state) for state in range(3)]
    state = chances.index(max(chances))
    if state:
        yield channel.choice.of(public), state == 2


@_named_keys.register
def _(channel: SampledKey, report: int, public: Words) -> Iterator[tuple[int, bool | None]]:
    place, end = divmod(report, channel.keyed.inner_outputs)
    if place < channel.dimensions:
        low, high = (channel.keyed.inner.likelihood(end, Fraction(one)) for one in (-channel.bound, channel.bound))
        yield place, high > low


def _cells(view: Any) -> Iterator[_Tried]:
    """The cells of a table of some attributes, of which there may be too many to try."""
    if (view.size or 0) <= 4 * MOST_TRIED:
        lists = [[str(label) for label in domain.labels()] for _, domain in view.parts]
        for code, cell in enumerate(product(*lists)):
            yield _Tried(code, "", ", ".join(cell), follows=False, cell=cell)


def _tried(asked: Asked, points: int) -> Iterator[_Tried]:
    """Possible answers of a participant, with the reasons for giving none; about so many points of a number."""
    root = asked.question.domain.root
    group, value = getattr(root, "group", None), getattr(root, "value", None)
    if group is None or value is None:
        yield from _answers(root, "", MOST_TRIED, points)
    else:
        groups = list(_answers(group, "", MOST_TRIED, 0))
        for one in groups:
            for number in _answers(value.root, one.text, MOST_TRIED // len(groups), 0):
                yield number._replace(value=(one.value, number.value))
    yield from (_Tried(reason, "", reason, follows=False) for reason in asked.missing)


def _answers(domain: Domain, group: str, most: int, points: int) -> Iterator[_Tried]:
    """The categories of a domain, or numbers of its range; none of other domains."""
    if domain.choices is not None:
        yield from (_Tried(value, group, str(value), follows=False) for value in domain.choices)
    elif domain.scalar is not None:
        for place, number in enumerate(_points(domain.scalar, most, points)):
            text = decimal_text(Decimal(number.numerator) / Decimal(number.denominator))
            yield _Tried(number if domain.whole is None else int(number), group, text, follows=place > 0)


def _points(domain: Any, most: int, points: int) -> Iterator[Fraction]:
    """All numbers where they have a step and are few, otherwise in wider steps: 2, 5, 10, ... times as wide."""
    low, high = Fraction(domain.low), Fraction(domain.high)
    step = Fraction(domain.spacing or FINE)
    limit, widened = most if domain.spacing else max(min(most, MOST_POINTS), min(points, 4 * MOST_TRIED - 100)), 0
    while (high - low) / step > limit:
        step *= Fraction(5, 2) if widened % 3 == 1 else 2
        widened += 1
    place = low
    while place < high:
        yield place
        place += step
    if not domain.circular:
        yield high
