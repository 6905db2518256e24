"""The audit passes what is honest, says how it knows, and is quick."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, within
from sottovoce.core.channel import (
    Bits,
    Block,
    Chain,
    Channel,
    HadamardSets,
    HashMap,
    Public,
    Rounding,
    Subset,
    Table,
    Then,
    Window,
)
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.coins import Coins, SystemCoins
from sottovoce.core.domain import Above, Bins, Domain, Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.registry import fits
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.privacy.audit import audit
from sottovoce.privacy.certificate import Certificate
from sottovoce.privacy.drawn import some_codes
from sottovoce.privacy.forever import closed_ratio
from sottovoce.privacy.problems import BETWEEN, UNPROVEN, WRONG_LAW
from tests.museum.tables import laplace, rounding, table

SECONDS = 30.0  # of processor time: a guard against an enumeration without end, not a benchmark


def timed(subject: Mechanism | Channel, epsilon: object = None) -> Certificate:
    start = time.process_time()
    certificate = audit(subject, epsilon=epsilon)
    assert time.process_time() - start < SECONDS
    return certificate


def built(name: str, k: int, epsilon: object) -> Mechanism:
    return sv.mechanism(name, Integers(0, k - 1), epsilon=epsilon)


# --- the registry -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "k", "epsilon"),
    [
        # The quick contract audits three codes at epsilon 1.
        pytest.param(name, k, epsilon, marks=[] if (k, epsilon) in ((2, "4"), (5, "0.1")) else pytest.mark.slow)
        for name in sv.names(sv.Frequency)
        for k in (2, 5, 256)
        for epsilon in ("0.1", "1", "4")
        if fits(name, Integers(0, k - 1))
    ],
)
def test_registry_holds_with_equality(name: str, k: int, epsilon: str) -> None:
    mechanism = built(name, k, epsilon)
    certificate = timed(mechanism)
    assert certificate.ok, certificate
    assert certificate.ratio == mechanism.ratio
    assert certificate.ratio is not None and within(certificate.ratio, Decimal(epsilon))
    assert certificate.epsilon <= float(epsilon)
    assert (certificate.epsilon < float(epsilon) - 1e-6) == (mechanism.unused is not None)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in sv.names(sv.Frequency) if fits(name, Integers(0, 4095))])
def test_large_is_never_enumerated_for_ages(name: str) -> None:
    certificate = timed(built(name, 4096, 1))
    assert certificate.ok, certificate
    assert certificate.how.startswith("closed form, proven on")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
@pytest.mark.parametrize("name", sv.names(sv.Mean))
def test_means_hold_with_equality(name: str, epsilon: str) -> None:
    mechanism = sv.mechanism(name, sv.Interval(-1, 1), epsilon=epsilon)
    certificate = timed(mechanism)
    assert certificate.ok, certificate
    assert certificate.ratio == mechanism.ratio
    assert float(epsilon) - 1e-6 <= certificate.epsilon <= float(epsilon)


@pytest.mark.parametrize(
    "options", [("olh", {"g": 2}), ("olh", {"g": 64}), ("subset", {"w": 1}), ("subset", {"w": 4})], ids=str
)
def test_options_of_the_registry(options: tuple[str, dict[str, int]]) -> None:
    name, chosen = options
    assert timed(sv.mechanism(name, Integers(0, 8), epsilon=2, **chosen)).ok


@pytest.mark.parametrize(
    "domain",
    [
        sv.Categories(["lark", "owl", "neither"]),
        sv.Categories([3, 1, 4]),
        Bins.even(sv.Interval(0, 1), 3),
        Above(sv.Integers(0, 9), 5),
    ],
    ids=repr,
)
def test_domains_refuse_what_is_foreign(domain: Domain) -> None:
    certificate = timed(sv.mechanism("grr", domain, epsilon=1))
    assert certificate.ok, certificate


# --- the certificate --------------------------------------------------------------------------------------
def test_fields_of_a_certificate() -> None:
    mechanism = sv.mechanism("grr", sv.Categories(["a", "b", "c"]), epsilon="1.5")
    certificate = sv.audit(mechanism)
    assert (certificate.name, certificate.fingerprint) == ("grr", mechanism.fingerprint)
    assert (certificate.claimed, certificate.how, certificate.problems) == (Decimal("1.5"), "enumerated", ())
    assert certificate.ok and certificate.exact
    assert certificate.epsilon == mechanism.epsilon
    assert str(certificate) == f"grr: epsilon {mechanism.epsilon:.9g} of 1.5 claimed, enumerated; holds"
    assert sv.audit(Mechanism.from_spec(mechanism.spec())) == certificate


def test_certificate_of_a_failure() -> None:
    certificate = audit(table([[1, 3], [3, 1]]), epsilon=1)
    assert not certificate.ok and certificate.exact
    assert certificate.epsilon == pytest.approx(math.log(3), abs=1e-12)
    assert "FAILS: The exact epsilon is 1.09861229, more than the 1 claimed." in str(certificate)
    infinite = audit(table([[1, 0], [3, 1]]), epsilon=1)
    assert infinite.ratio is None and not infinite.exact and infinite.epsilon == math.inf and not infinite.ok


@pytest.mark.parametrize("epsilon", [None, 0, -1, 21, "one", float("nan"), True])
def test_bare_channel_needs_a_claim(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        audit(Subset(3, 1, UNIT // 2), epsilon=epsilon)


class Alone(Subset):
    """Offers no small instance."""

    __slots__ = ()

    def miniatures(self) -> tuple[Channel, ...]:
        return ()


# --- closed form and enumeration ----------------------------------------------------------------------------
SMALL: list[Channel] = [
    Subset(5, 1, UNIT // 2),
    Subset(5, 2, UNIT // 2),
    Bits(4, UNIT // 2, UNIT // 5),
    Bits(3, (UNIT // 2, UNIT // 3, UNIT // 4), (UNIT // 5, UNIT // 7, UNIT // 8)),
    Bits(3, UNIT // 2, UNIT // 5, "optional"),
    Bits(3, UNIT // 2, UNIT // 5, "mask", 2),
    Block(HadamardSets(5, 8, 1), 3 * UNIT // 4),
    Block(HadamardSets(6, 4, 2), 3 * UNIT // 4),
    Public(HashMap(3, 3, 4), Subset(3, 1, UNIT // 2)),
    Chain(Bits(2, UNIT // 2, UNIT // 5), Bits(2, UNIT // 2, UNIT // 5, "mask", 0)),
    Then(rounding(3), Subset(3, 1, UNIT // 2)),
    Then(table([[3, 1], [1, 3]]), Subset(2, 1, 3 * UNIT // 4)),
    laplace("1", 5),
]


@pytest.mark.parametrize("channel", SMALL, ids=lambda channel: f"{channel.kind}-{channel.inputs}")
def test_enumerated_ratio_is_the_closed_form(channel: Channel) -> None:
    certificate = timed(channel, 20)
    assert certificate.ok, certificate
    if not channel.publics:
        assert certificate.how == "enumerated"
        assert certificate.ratio == worst_ratio([law(channel, code) for code in channel.codes()])
    assert certificate.ratio == channel.ratio() == closed_ratio(channel)


@pytest.mark.slow
def test_large_tables() -> None:
    for inputs in (16, 60):
        certificate = timed(laplace("1", inputs), 1)
        assert certificate.ok, certificate
        assert certificate.epsilon == pytest.approx(1, abs=1e-6)


def test_a_table_in_which_nothing_is_possible_twice() -> None:
    certificate = audit(Table([[UNIT, 0], [UNIT, 0]]), epsilon=1)
    assert certificate.ok and certificate.epsilon == 0


def test_neither_small_nor_in_closed_form() -> None:
    stage = Subset(600, 1, UNIT // 2)
    certificate = timed(Then(stage, stage), 20)
    assert not certificate.ok and certificate.ratio is None
    assert certificate.how == "neither enumerated nor in closed form"


def test_without_a_proof_there_is_no_certificate() -> None:
    certificate = timed(Alone(4096, 1, UNIT // 2), 20)
    assert certificate.problems == (UNPROVEN,)
    assert certificate.how == "closed form, not proven"


def test_the_memo_is_audited_as_well() -> None:
    rappor = Chain(Bits(4, 3 * UNIT // 4, UNIT // 4), Bits(4, 3 * UNIT // 4, UNIT // 4, "mask", 0))
    mechanism = Mechanism(
        "rappor", Frequency(Integers(0, 3)), rappor, Decimal("1.1"), CountSupports(), claimed_forever=Decimal("2.2")
    )
    certificate = timed(mechanism)
    assert certificate.ok, certificate
    assert (certificate.ratio_forever, certificate.claimed_forever) == (9, Decimal("2.2"))
    assert "all reports of an unchanged answer 2.19722458 of 2.2 claimed" in str(certificate)
    assert certificate.epsilon == pytest.approx(2 * math.log(5 / 3), abs=1e-9)
    assert mechanism.epsilon_forever == pytest.approx(math.log(9), abs=1e-9)


# --- numbers between grid points --------------------------------------------------------------------------------
class Nearest(Rounding):
    """Rounds to the nearest point: right on the grid, and no mixture between."""

    __slots__ = ()

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        return round((code - Fraction(self.low)) / self.step)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        return Fraction(self.sample(code, SystemCoins()) == report)


class Squared(Rounding):
    """Goes up with the wrong probability."""

    __slots__ = ()

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        point, rest = divmod((code - Fraction(self.low)) / self.step, 1)
        return int(point) + coins.flip(int(rest**2 * UNIT))


@pytest.mark.parametrize("steps", [1, 4, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("broken", [Nearest, Squared])
def test_numbers_between_grid_points_are_followed_too(broken: type[Rounding], steps: int) -> None:
    """Enumerated or in closed form: each grid point is as it should be, and the ratio too."""
    inner = Window(steps + 1, 1, steps, 7 * UNIT // 8)
    assert timed(Then(Rounding(0, 1, steps), inner), 20).ok
    certificate = timed(Then(broken(0, 1, steps), inner), 20)
    assert BETWEEN in certificate.problems
    assert (WRONG_LAW in certificate.problems) == (broken is Squared)
    assert certificate.ratio == inner.ratio()


@pytest.mark.parametrize("broken", [Nearest, Squared])
def test_numbers_between_are_followed_where_onlysome_codes_are(broken: type[Rounding]) -> None:
    """A table has no small instance that fits the grid."""
    rows = [[400 - j if y % 2 else 300 + j for y in range(60)] for j in range(71)]
    inner = table(rows)
    honest = timed(Then(Rounding(0, 1, 70), inner), 20)
    assert honest.ok and honest.how == "closed form, proven on 5 enumerated codes"
    assert BETWEEN in timed(Then(broken(0, 1, 70), inner), 20).problems


def test_a_grid_is_looked_at_in_its_middle_and_at_its_ends() -> None:
    channel = Then(Rounding(-1, 1, 1024), Subset(1025, 1, UNIT // 2))
    assert some_codes(channel) == [-1, 0, 1]


# --- refusal before a coin ------------------------------------------------------------------------------------
class CoinsFirst(Mechanism):
    """Draws before it looks at the value."""

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        source = coins if coins is not None else SystemCoins()
        source.begin(1)
        return Mechanism.randomize(self, value, source)


class Careless(Integers):
    """Fails on what is foreign, but by accident."""

    __slots__ = ()

    def encode(self, value: object) -> int:
        return {self.low + code: code for code in range(self.size)}[value]  # type: ignore[index]


class FailsOnOne(Subset):
    """A sampler that breaks on one code."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return 1 // code


def test_refusals_come_first_and_from_the_domain() -> None:
    grr = sv.mechanism("grr", Integers(0, 3), epsilon=1)
    parts = (grr.channel, grr.claimed, grr.statistic)
    assert any("only after coins" in problem for problem in audit(CoinsFirst("grr", grr.question, *parts)).problems)
    careless = audit(Mechanism("grr", Frequency(Careless(0, 3)), *parts))
    assert any("not refused by the domain" in problem for problem in careless.problems)


def test_a_sampler_that_fails_is_not_certified() -> None:
    certificate = audit(FailsOnOne(3, 1, UNIT // 2), epsilon=20)
    assert certificate.problems == (
        "The sampler cannot be followed: ZeroDivisionError: integer division or modulo by zero",
    )
