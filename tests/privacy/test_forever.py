"""Both budgets of a memo are audited: one report, and all reports of an unchanged value, with the cohort they share."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Chain, Cohorts, PoolMap, Subset
from sottovoce.core.channel.base import Words
from sottovoce.core.coins import Coins
from sottovoce.core.exact import law_of, public_words, worst_ratio
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.privacy.audit import audit
from sottovoce.privacy.drawn import WRONG_ID
from sottovoce.privacy.follow import SPAN, MessageCoins
from sottovoce.privacy.forever import MORE_TOGETHER, WRONG_COHORT, WRONG_MEMO, _some
from sottovoce.testing import check_mechanism
from tests.client.toys import in_cohorts, unary

NINE = Fraction(9)  # (3/4 / 1/4)**2: two bits of a memo differ


def hashed(k: int = 10, g: int = 4, digits: int = 2, bits: int = 64, kind: type[Mechanism] = Mechanism) -> Mechanism:
    """Randomized response in two stages under cohorts."""
    stage = Subset(g, 1, 7 * UNIT // 8)
    channel = Cohorts(PoolMap(k, g, digits, bits), Chain(stage, stage))
    question = sv.Frequency(sv.Integers(0, k - 1))
    return kind("toy", question, channel, Decimal(4), CountSeeds(), claimed_forever=Decimal(4))


HONEST = {
    "unary, k = 2": unary(2),
    "unary, k = 64": unary(64),
    "short words": in_cohorts(4, 2, 2, 2),
    "16 cohorts": in_cohorts(),
    "short hashes": hashed(4, 2, 2, 2),
    "16 cohorts of hashes": hashed(),
    "1024 cohorts of hashes": hashed(100, 2, 10),
}
SLOW = ("16 cohorts", "1024 cohorts of hashes")
every_honest = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in HONEST]
)


@pytest.mark.slow
# --- honest devices ------------------------------------------------------------------------------------------------
@every_honest
def test_both_budgets_are_certified(name: str) -> None:
    mechanism = HONEST[name]
    certificate = audit(mechanism)
    assert certificate.ok, certificate
    assert certificate.exact
    assert (certificate.ratio, certificate.ratio_forever) == (mechanism.ratio, mechanism.ratio_forever)
    assert certificate.claimed_forever == mechanism.claimed_forever
    assert certificate.epsilon < certificate.epsilon_forever == mechanism.epsilon_forever
    together = f"{certificate.epsilon_forever:.9g} of {certificate.claimed_forever} claimed"
    assert f", all reports of an unchanged answer {together}" in str(certificate)
    assert "no loss over sequences of answers is certified" in certificate.explain()


def test_the_toys_have_the_two_budgets_of_erratum_12() -> None:
    for mechanism in (unary(), in_cohorts()):
        assert mechanism.epsilon == pytest.approx(2 * math.log(5 / 3))
        assert mechanism.epsilon_forever == pytest.approx(2 * math.log(3))


def test_without_a_memo_a_certificate_has_one_budget() -> None:
    certificate = audit(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1))
    assert certificate.ratio_forever is None and certificate.epsilon_forever == math.inf
    assert "unchanged" not in str(certificate)


def test_a_claim_for_ever_that_is_too_small_is_found() -> None:
    mechanism = copy.copy(unary(2))
    object.__setattr__(mechanism, "claimed_forever", Decimal("2.1"))
    certificate = audit(mechanism)
    assert certificate.problems == (
        "The exact epsilon of all reports of an unchanged value is 2.19722458, more than the 2.1 claimed.",
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [unary(4), in_cohorts()], ids=["unary", "in cohorts"])
@pytest.mark.filterwarnings("ignore::sottovoce.core.errors.BatchWarning")
def test_the_contract_holds(mechanism: Mechanism) -> None:
    check_mechanism(mechanism)


# --- several reports together, exactly -----------------------------------------------------------------------------
def together(mechanism: Mechanism, code: int, ids: Sequence[Words], cohort: int) -> dict[tuple[bytes, ...], Fraction]:
    """The law of messages with these ids from one memo: what ships, enumerated."""
    first, second = mechanism.channel.stages  # type: ignore[attr-defined]

    def draw(tree: Coins) -> tuple[bytes, ...]:
        words = [word for pair in ids for word in pair]
        spans = [first.words, *[second.words + 2] * len(ids)]
        coins = MessageCoins(tree, words, spans, problems)  # type: ignore[arg-type]
        memo = mechanism.remember(code, coins, cohort=cohort)
        return tuple(mechanism.answer_from(memo, coins, cohort=cohort) for _ in ids)

    problems: list[str] = []
    law = law_of(draw)
    assert not problems
    return law


def formula(mechanism: Mechanism, code: int, reports: Sequence[int], cohort: int) -> Fraction:
    """The same from the likelihoods of both stages."""
    first, second = mechanism.channel.stages  # type: ignore[attr-defined]
    held = mechanism.channel.mapped_in(cohort, code)  # type: ignore[attr-defined]
    memos = range(1 << first.payload_bits)
    return sum(
        (math.prod((second.likelihood(r, m) for r in reports), start=first.likelihood(m, held)) for m in memos),
        Fraction(0),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unary, k = 2", "short words"])
def test_two_reports_of_a_value_lose_less_than_the_memo(name: str) -> None:
    mechanism = HONEST[name]
    channel, worst = mechanism.channel, Fraction(1)
    for cohort in range(mechanism.cohorts):
        ids = [words for words in public_words(channel) if channel.cohort(words) == cohort]  # type: ignore[attr-defined]
        pairs = [(ids[0], ids[-1])] if len(ids) > 1 else [(ids[0], ids[0])]
        for pair in pairs:
            laws = [together(mechanism, code, pair, cohort) for code in channel.codes()]
            for code, law in enumerate(laws):
                for messages, probability in law.items():
                    reports = [codec.split(channel, message)[1] for message in messages]
                    assert [message[:16] for message in messages] == [id_bytes(words) for words in pair]
                    assert probability == formula(mechanism, code, reports, cohort)
            ratio = worst_ratio(laws)
            assert ratio is not None
            worst = max(worst, ratio)
    assert mechanism.ratio < worst == Fraction(49, 9) < NINE == mechanism.ratio_forever


def test_any_number_of_reports_comes_near_the_memo_and_never_beyond() -> None:
    """The worst reports all show one bit of the one value and not that of the other."""
    mechanism, before = unary(2), Fraction(1)
    for times in (1, 2, 3, 4, 20, 200):
        found = formula(mechanism, 0, [1] * times, 0) / formula(mechanism, 1, [1] * times, 0)
        if times <= 3:
            columns = (
                [formula(mechanism, code, reports, 0) for code in (0, 1)] for reports in product(range(4), repeat=times)
            )
            assert found == max(max(column) / min(column) for column in columns)
        assert before < found < NINE
        before = found
    assert NINE - before < Fraction(1, 10**6)


def test_a_cohort_for_each_report_spends_the_memo_again_in_each() -> None:
    """Each cohort has a memo of its own: with two of them four reports lose more than any number in one."""
    mechanism = in_cohorts(4, 2, 2, 2)
    mapped = mechanism.channel.mapped_in  # type: ignore[attr-defined]
    apart = [cohort for cohort in range(mechanism.cohorts) if mapped(cohort, 1) != mapped(cohort, 2)]
    assert len(apart) == 2

    def worst(times: int, cohort: int) -> Fraction:
        laws = [[formula(mechanism, code, [report] * times, cohort) for report in range(4)] for code in (1, 2)]
        return max(one / other for one, other in zip(*laws, strict=True))

    assert math.prod(worst(2, cohort) for cohort in apart) == Fraction(49, 9) ** 2 > NINE
    assert max(worst(4, cohort) for cohort in apart) < NINE


# --- broken devices ------------------------------------------------------------------------------------------------
class CohortOfEachId(Mechanism):
    """The device keeps the value, and takes the cohort of each new id, with a memo for each."""

    def remember(self, value: object, coins: Coins | None = None, *, cohort: int = 0) -> int:
        return int(self.domain.encode(value))

    def answer_from(self, memo: int, coins: Coins | None = None, *, cohort: int = 0) -> bytes:
        assert coins is not None
        coins.begin(self.channel.words + 2)
        public = self._public(coins)
        return id_bytes(public) + self.payload(memo, coins, public)


class IgnoresItsCohort(Mechanism):
    """One memo, sent with ids of any cohort."""

    def _public(self, coins: Coins, cohort: int | None = None, report_id: bytes | None = None) -> Words:
        return Mechanism._public(self, coins, report_id=report_id)


class ForgetsTheCohort(Mechanism):
    """All memos are drawn in the first cohort."""

    def remember(self, value: object, coins: Coins | None = None, *, cohort: int = 0) -> int:
        return Mechanism.remember(self, value, coins)


class UnevenCohorts(Mechanism):
    """The first cohort comes twice as often, the last one never."""

    def draw_cohort(self, coins: Coins | None = None) -> int:
        return Mechanism.draw_cohort(self, coins) % (self.cohorts - 1)


class KeepsTheValueAside(Mechanism):
    """An honest memo, which is not used: the value is kept as well, and the memo drawn again."""

    aside: ClassVar[dict[str, Any]] = {}

    def remember(self, value: object, coins: Coins | None = None, *, cohort: int = 0) -> int:
        self.aside["value"] = value
        return Mechanism.remember(self, value, coins, cohort=cohort)

    def answer_from(self, memo: int, coins: Coins | None = None, *, cohort: int = 0) -> bytes:
        assert coins is not None
        coins.begin(self.channel.words + 2)
        public = self._public(coins, cohort)
        return id_bytes(public) + self.payload(self.aside["value"], coins, public)


BROKEN = [
    (CohortOfEachId, {WRONG_MEMO, WRONG_ID}),
    (IgnoresItsCohort, {WRONG_ID}),
    (ForgetsTheCohort, {WRONG_MEMO}),
    (UnevenCohorts, {WRONG_COHORT}),
    (KeepsTheValueAside, {SPAN, MORE_TOGETHER}),
]


@pytest.mark.parametrize(("kind", "problems"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
@pytest.mark.parametrize(
    "size", [pytest.param((4, 2, 2, 2), id="small"), pytest.param((10, 2, 4, 64), id="large", marks=pytest.mark.slow)]
)
def test_broken_devices_are_caught(kind: type[Mechanism], problems: set[str], size: tuple[int, int, int, int]) -> None:
    assert audit(hashed(*size)).ok
    certificate = audit(hashed(*size, kind=kind))
    assert problems <= set(certificate.problems), certificate


def test_of_many_cohorts_some_are_enumerated_with_both_ends() -> None:
    assert _some(range(4), 5) == [0, 1, 2, 3] == _some(range(4), 4)
    assert _some(range(101), 5) == [0, 25, 50, 75, 100]
    assert _some(range(10, 17), 3) == [10, 13, 16]
