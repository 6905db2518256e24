"""The audit of a device's memory: its cohort, its memo, and two reports of an unchanged value together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import float_up, loss, within
from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import Memoised, facet
from sottovoce.core.coins import Coins
from sottovoce.core.errors import PrivacyError, TooLargeError
from sottovoce.core.exact import law_of, walk, worst_ratio
from sottovoce.core.guarantee import PURE, Guarantee
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.follow import MessageCoins

MAX_ENUMERATED = 16  # cohorts whose memos are enumerated: all of a small instance
JOINT_RUNS = 1 << 12  # of the device, for two reports of one code
JOINT_COHORTS = 2

WRONG_MEMO = "The closed form of the memo's ratio differs from the enumerated memo."
WRONG_COHORT = "A device does not draw its cohort uniformly."
EXCESS_FOREVER = "The exact epsilon of all reports of an unchanged value is"  # how the sentence begins
MORE_TOGETHER = "Two reports of an unchanged value lose more together than its memo does: something is drawn again."


def closed_ratio(channel: Channel, guarantee: Guarantee = PURE) -> Fraction | None:
    """The closed form of the ratio that a guarantee bounds; None if it is infinite."""
    try:
        return guarantee.ratio(channel)
    except (PrivacyError, ZeroDivisionError):
        return None


def cohort_of(channel: Channel, words: Words) -> int:
    """The cohort of an id; 0 if there are none."""
    memoised = facet(channel, Memoised)
    return 0 if memoised is None else memoised.cohort(words)


def memo_problems(device: Mechanism, codes: list[Any], ids: Sequence[Words], problems: list[str]) -> Iterator[str]:
    """Whether the memo has the claimed ratio, and bounds the loss of two reports together.

    The ratio is compared in each cohort, since the cohort of a report is public. Over all codes and cohorts it must be
    that of the closed form, otherwise at most as large.
    """
    memoised = facet(device.channel, Memoised)
    if memoised is None:
        return
    if law_of(device.draw_cohort) != {cohort: Fraction(1, device.cohorts) for cohort in range(device.cohorts)}:
        yield WRONG_COHORT
    closed = closed_ratio(memoised.stages[0])
    cohorts = _some(range(device.cohorts), MAX_ENUMERATED)
    enumerated = _largest(_memo_ratio(device, codes, cohort) for cohort in cohorts)
    exhaustive = len(codes) == device.channel.inputs and len(cohorts) == device.cohorts
    if enumerated != closed and (exhaustive or closed is None or enumerated is None or enumerated > closed):
        yield WRONG_MEMO
    with suppress(TooLargeError):  # the memo bounds them, and it has been checked
        together = _largest(_ratio_together(device, codes, pair, problems) for pair in _pairs(memoised, ids))
        if closed is not None and (together is None or together > closed):
            yield MORE_TOGETHER


def forever_problems(forever: Fraction | None, claimed: Decimal | None) -> Iterator[str]:
    """Whether the second budget is kept as well."""
    if forever is not None and claimed is not None and not within(forever, claimed):
        yield f"{EXCESS_FOREVER} {float_up(loss(forever)):.9g}, more than the {claimed} claimed."


def _memo_ratio(device: Mechanism, codes: list[Any], cohort: int) -> Fraction | None:
    """Likelihood ratio of the memos of one cohort, by enumeration."""

    def law(code: Any) -> dict[int, Fraction]:
        return law_of(lambda coins: device.remember(code, coins, cohort=cohort))

    return worst_ratio([law(code) for code in codes])


def _ratio_together(
    device: Mechanism, codes: list[Any], ids: tuple[Words, Words], problems: list[str]
) -> Fraction | None:
    """The ratio of two messages with these ids, made of one memo."""
    memoised = facet(device.channel, Memoised)
    if memoised is None:
        raise TypeError("Only reports from a memo can be enumerated together.")
    cohort, (first, second) = memoised.cohort(ids[0]), memoised.stages
    kept = memoised.mapped_in(cohort, codes[0])
    memos = list(walk(lambda coins: first.sample(kept, coins), JOINT_RUNS))
    fresh = sum(1 for _ in walk(lambda coins: second.sample(memos[-1][0], coins, ids[0]), JOINT_RUNS))
    if len(memos) * fresh**2 > JOINT_RUNS:
        raise TooLargeError("Two reports together have too many outcomes to enumerate.")
    spans = [first.words, second.words + 2, second.words + 2]

    def law(code: Any) -> dict[tuple[bytes, bytes], Fraction]:
        def draw(tree: Coins) -> tuple[bytes, bytes]:
            coins = MessageCoins(tree, (*ids[0], *ids[1]), spans, problems)  # type: ignore[arg-type]
            memo = device.remember(code, coins, cohort=cohort)
            messages = tuple(device.answer_from(memo, coins, cohort=cohort) for _ in range(2))
            coins.close()
            return messages[0], messages[1]

        return law_of(draw, JOINT_RUNS)

    return worst_ratio([law(code) for code in codes])


def _pairs(memoised: Memoised, ids: Sequence[Words]) -> Iterator[tuple[Words, Words]]:
    """Two ids of one cohort, of a few cohorts: the first and the last, which need not be different."""
    by_cohort: dict[int, list[Words]] = {}
    for words in ids:
        by_cohort.setdefault(memoised.cohort(words), []).append(words)
    # The last cohorts: the first of a pool maps all codes to the same.
    for cohort in sorted(by_cohort)[-JOINT_COHORTS:]:
        yield by_cohort[cohort][0], by_cohort[cohort][-1]


def _largest(ratios: Iterator[Fraction | None]) -> Fraction | None:
    """The largest of several ratios; None if one is infinite."""
    worst = Fraction(1)
    for ratio in ratios:
        if ratio is None:
            return None
        worst = max(worst, ratio)
    return worst


def _some(numbers: range, most: int) -> list[int]:
    """At most `most` of the numbers, evenly spaced."""
    return (
        [*numbers]
        if len(numbers) <= most
        else [numbers[place * (len(numbers) - 1) // (most - 1)] for place in range(most)]
    )
