"""What reports from memos lose over sequences of answers: exactly on small cases, and a bound for all.

A device draws one memo for each value that it is asked about, and keeps it. All reports of an *unchanged* value
together lose at most `epsilon_forever`. Where answers change, reports also tell when they changed: the answers 0, 0 are
reported from one memo, the answers 0, 1 from two. Without fresh noise on top of the memo that loss is infinite. With
fresh noise it grows with every wave, and k waves may lose more than k times `epsilon`.

What holds for every two sequences: given all memos, reports are independent, and each loses at most what its fresh
stage loses (`fresh_loss`). What holds for sequences of m different values that change at the same times: together m
times `epsilon_forever`. No account of values is a bound for sequences that change at other times.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations_with_replacement, product
from math import comb, inf
from operator import mul

from sottovoce.core.arithmetic.rational import float_up, loss
from sottovoce.core.channel.facets import Memoised, facet
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.exact import law_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.privacy.forever import closed_ratio

OWNER = "sequence_loss"
MOST_WAVES = 1000
MOST_CASES = 1 << 18  # multisets of an answer and its report, over all waves
Counts = tuple[int, ...]


def sequence_loss(mechanism: Mechanism, waves: int, *, unchanged: bool = False, cohort: int = 0) -> float:
    """The exact loss of one report in each of `waves` waves, over all pairs of sequences of answers; rounded up.

    With `unchanged`, only sequences of one answer are compared: the result is at most `epsilon_forever`. It is infinite
    where some sequence can be excluded. For small cases only: answers and reports are enumerated, in one cohort.
    """
    check_integer("waves", OWNER, waves, 1, MOST_WAVES)
    ratio = MemoLaws(mechanism, cohort).ratio(waves, unchanged=unchanged)
    return inf if ratio is None else float_up(loss(ratio))


def fresh_loss(mechanism: Mechanism) -> Decimal | None:
    """The loss of one report given all memos: k reports lose at most k times as much, for any answers.

    None where it is infinite. It is not small: the memos of two values may differ in all of their bits.
    """
    ratio = closed_ratio(_memoised(mechanism).stages[1])
    return None if ratio is None else loss(ratio)


class MemoLaws:
    """The laws of the memo of each code and of the report from each memo, enumerated from the samplers."""

    def __init__(self, mechanism: Mechanism, cohort: int = 0) -> None:
        memoised = _memoised(mechanism)
        self._first, self._second = memoised.stages
        if mechanism.channel.inputs > MOST_CASES:
            raise TooLargeError("Sequences are enumerated of small domains only.")
        # Codes with one value in this cohort share a memo. Numbers between two grid points mix histories of these.
        self._codes = list(dict.fromkeys(memoised.mapped_in(cohort, code) for code in mechanism.channel.codes()))
        self._known: dict[tuple[int, Counts], Fraction] = {}

    @cached_property
    def memos(self) -> list[dict[int, Fraction]]:
        """The probability of each memo, for each code."""
        return [law_of(lambda coins, code=code: self._first.sample(code, coins)) for code in self._codes]  # type: ignore[misc]

    @cached_property
    def reports(self) -> list[dict[int, Fraction]]:
        """The probability of each report given each memo."""
        kept = {memo for law in self.memos for memo in law}
        laws = {memo: law_of(lambda coins, memo=memo: self._second.sample(memo, coins)) for memo in kept}  # type: ignore[misc]
        seen = sorted({report for law in laws.values() for report in law})
        return [{memo: law.get(report, Fraction(0)) for memo, law in laws.items()} for report in seen]

    def chance(self, code: int, counts: Counts) -> Fraction:
        """The probability of these reports, in one order, of all waves in which a code was the answer."""
        if (code, counts) in self._known:
            return self._known[code, counts]
        total = Fraction(0)
        for memo, probability in self.memos[code].items():
            powers = (self.reports[report][memo] ** count for report, count in enumerate(counts) if count)
            total += reduce(mul, powers, probability)
        self._known[code, counts] = total
        return total

    def ratio(self, waves: int, *, unchanged: bool = False) -> Fraction | None:
        """The largest ratio of the probabilities of all reports under two sequences; None if it is infinite.

        The order of waves does not matter: reports are sorted, and of equal reports it is counted how many are of each
        code.
        """
        kinds = len(self.reports)
        pairs = kinds * (1 if unchanged else len(self.memos))
        if comb(waves + pairs - 1, pairs - 1) > MOST_CASES:
            raise TooLargeError(
                f"{waves} waves of {len(self.memos)} answers and {kinds} reports are too many to enumerate."
            )
        worst = Fraction(1)
        for drawn in combinations_with_replacement(range(kinds), waves):
            counts = tuple(drawn.count(report) for report in range(kinds))
            chances = list(self._constant(counts) if unchanged else self._changing(counts))
            if not max(chances):
                continue
            if not min(chances):
                return None
            worst = max(worst, max(chances) / min(chances))
        return worst

    def _constant(self, counts: Counts) -> Iterator[Fraction]:
        """The probability of these reports under each answer that never changes."""
        return (self.chance(code, counts) for code in range(len(self.memos)))

    def _changing(self, counts: Counts) -> Iterator[Fraction]:
        """The probability of these reports under every sequence of answers."""
        codes = range(len(self.memos))
        rows = [[tuple(x.count(c) for c in codes) for x in combinations_with_replacement(codes, n)] for n in counts]
        for table in product(*rows):
            yield reduce(mul, (self.chance(code, column) for code, column in enumerate(zip(*table, strict=True))))


def _memoised(mechanism: Mechanism) -> Memoised:
    memoised = facet(mechanism.channel, Memoised)
    if memoised is None:
        raise ParameterError("This mechanism keeps no memo: reports of several waves lose the sum of their epsilons.")
    return memoised
