"""What a device accepts: limits by exact comparison, memos that last, and each guarantee by its own definition."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from decimal import ROUND_UP, Context, Decimal, FloatOperation, Inexact, Rounded, localcontext
from fractions import Fraction
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, loss, odds, within
from sottovoce.core.channel import (
    Bits,
    Chain,
    Channel,
    Cohorts,
    Each,
    HadamardSets,
    HashMap,
    Keyed,
    Mix,
    PoolMap,
    Public,
    Rounding,
    SampledCoordinates,
    Subset,
    Table,
    Then,
)
from sottovoce.core.channel.base import channel_from_spec
from sottovoce.core.channel.finite.block import Block
from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import Guarantee, UtilityOptimised
from sottovoce.core.question import Frequency, HalfSets
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from tests.each import for_each
from tests.museum.channels import Diary

BUDGETS = [Decimal(text) for text in ("0.05", "0.3", "0.7", "1.15", "1.3", "2.45", "3.1", "4.6", "5.35", "7.7")]
VECTORS: dict[str, Domain] = {
    **dict.fromkeys(("duchi-linf", "sampled", "split-n", "split-epsilon"), sv.Box(-1, 1, 2)),
    **{"one-sparse": sv.Sparse(5, 1), "sparse": sv.Sparse(5, 2)},
    **dict.fromkeys(("duchi-l2", "priv-unit", "priv-unit-g", "proj-unit"), sv.Ball(1, 3)),
}
LINES: dict[str, Domain] = {
    **dict.fromkeys(sv.names(sv.Frequency), sv.Integers(0, 6)),
    **{"rr": sv.Integers(0, 1)},
    **dict.fromkeys(sv.names(sv.Mean), sv.Interval(-1, 1)),
    **dict.fromkeys(sv.names(sv.GroupMean), sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1))),
    **VECTORS,
    **dict.fromkeys(sv.names(sv.Distribution), sv.Interval(0, 1)),
    **dict.fromkeys(sv.names(sv.Attributes), sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 1)})),
    **dict.fromkeys(sv.names(HalfSets), sv.Integers(0, 8)),
    **dict.fromkeys(sv.names(sv.SetShares), sv.Sets(range(5), 2)),
    **dict.fromkeys(sv.names(sv.FrequentWords), sv.Words("abc", 2)),
    **dict.fromkeys(sv.names(sv.KeyMeans), sv.KeyValue(range(5), sv.Interval(0, 10), 2)),
    **dict.fromkeys(sv.names(sv.Boxes), sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 1)})),
    **dict.fromkeys(
        ("designed-distribution", "coded-wave", "mixed-wave"), sv.Integers(0, 6)
    ),  # a search for each number of buckets
}
COSTLY = (  # to build
    *("designed", "n-output", "nprr", "sampled", "split-n", "split-epsilon", *sv.names(sv.GroupMean)),
    *("she", "the", "laplace-histogram", "coded-wave", "mixed-wave", "designed-distribution", "binned"),
)
every_line = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in COSTLY else ()) for name in LINES]
)
STAGE = Subset(2, 1, 3 * UNIT // 4)
CHAIN = Chain(STAGE, STAGE)
KIND = "utility_optimised"


def trifle_below(number: Decimal) -> Decimal:
    return Context(prec=60).subtract(number, Decimal("1e-45"))


# --- limits ---------------------------------------------------------------------------------------------------
def check_limits(mechanism: sv.Mechanism) -> None:
    accept, memo = ("idealised",), None if mechanism.claimed_forever is None else "unread"
    lifetime = {"lifetime_limit": mechanism.claimed_forever, "memo": memo}
    for limit in (mechanism.claimed, float(mechanism.claimed), mechanism.epsilon):
        assert sv.Client(mechanism, limit=limit, accept=accept, **lifetime)
    needed = loss(mechanism.ratio)
    below = math.nextafter(mechanism.epsilon, 0)
    while len(Decimal(repr(below)).as_tuple().digits) <= sys.float_info.dig:  # this text stands for a decimal
        below = math.nextafter(below, 0)
    for limit in (below, needed - Decimal("1e-9"), trifle_below(needed)):
        with pytest.raises(sv.PrivacyError, match="more than the limit of this device"):
            sv.Client(mechanism, limit=limit, accept=accept, **lifetime)


@every_line
def test_a_limit_equal_to_the_claim_is_kept_by_every_line(name: str) -> None:
    for budget in [Decimal("1.15")] if name in COSTLY else BUDGETS:
        check_limits(sv.mechanism(name, LINES[name], epsilon=budget))


def test_every_line_of_the_registry_is_here() -> None:
    assert set(LINES) == set(sv.names())


def test_a_limit_equal_to_the_claim_on_a_fine_grid_of_budgets() -> None:
    """On 474 decimal budgets floats err on both sides: the logarithm rounded up may lie above the claim's own float."""
    above = 0
    for step in range(1, 475):
        mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=Decimal(step) / 100)
        above += mechanism.epsilon > float(mechanism.claimed)
        check_limits(mechanism)
    assert above > 10  # the comparison of floats that refuses honest mechanisms


@pytest.mark.parametrize("name", ["limit", "lifetime_limit"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1, Decimal("nan"), Decimal("-0.1")], ids=str)
def test_limits_that_are_no_limits_get_a_sentence(name: str, wrong: float | Decimal) -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    with pytest.raises(sv.PrivacyError, match=f"The {name} of a device must be a finite number of at least 0"):
        sv.Client(mechanism, **{name: wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, "1", [1], 1j, 10**400, Decimal("1e300")], ids=lambda wrong: repr(wrong)[:9])
def test_limits_of_another_type_or_size_are_refused(wrong: object) -> None:
    with pytest.raises(sv.ParameterError, match="'limit' parameter of a client"):
        sv.Client(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), limit=wrong)  # type: ignore[arg-type]


def test_the_decimals_of_a_program_change_no_verdict() -> None:
    """A program may round decimals in its own way, or forbid to make them from floats."""
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon="1.15")
    strict = Context(prec=2, rounding=ROUND_UP, traps=[FloatOperation, Inexact, Rounded])
    with localcontext(strict):
        for kept in (1.15, 1.1500000000000001, Decimal("1.15"), 2):
            sv.Client(mechanism, kept)
        for broken in (1.1499999999, Decimal("1.1499999999"), 1):
            with pytest.raises(sv.PrivacyError):
                sv.Client(mechanism, broken)


def test_the_smallest_and_the_largest_limits() -> None:
    silent = sv.Mechanism(
        "silent", Frequency(sv.Integers(0, 1)), Table([[UNIT // 2] * 2] * 2), Decimal(1), CountOutputs()
    )
    assert sv.Client(silent, limit=0) and sv.Client(silent, limit=1e100)
    assert within(Fraction(1), Decimal(0)) and not within(Fraction(UNIT + 1, UNIT), Decimal(0))
    assert within(Fraction(3) ** 1000, Decimal("1098.62")) and not within(Fraction(3) ** 1000, Decimal("1098.61"))


# --- memos ----------------------------------------------------------------------------------------------------
def nested_chains() -> list[tuple[str, object]]:
    binary, half = Subset(2, 1, 3 * UNIT // 4), (UNIT // 2,) * 2
    bits = Chain(Bits(2, UNIT // 2, UNIT // 4), Bits(2, UNIT // 2, UNIT // 4, "mask", 0))
    return [
        ("public of a pool", lambda: Public(PoolMap(4, 2, 2), CHAIN)),
        ("cohorts in public", lambda: Public(PoolMap(4, 4, 1), Cohorts(PoolMap(4, 2, 2), CHAIN))),
        ("cohorts in cohorts", lambda: Cohorts(PoolMap(4, 4, 1), Cohorts(PoolMap(4, 2, 2), CHAIN))),
        ("cohorts after a stage", lambda: Then(Subset(4, 1, UNIT // 2), Cohorts(PoolMap(4, 2, 2), CHAIN))),
        ("cohorts in a chain", lambda: Chain(Subset(4, 1, UNIT // 2), Cohorts(PoolMap(4, 2, 2), CHAIN))),
        ("cohorts of no chain", lambda: Cohorts(PoolMap(4, 2, 2), STAGE)),
        ("cohorts of hashes", lambda: Cohorts(HashMap(4, 2), CHAIN)),
        ("too many cohorts", lambda: Cohorts(PoolMap(4, 2, 11), CHAIN)),
        ("public", lambda: Public(HashMap(4, 2), CHAIN)),
        ("public of public", lambda: Public(HashMap(4, 2), Public(HashMap(2, 2), bits))),
        ("then, first", lambda: Then(CHAIN, binary)),
        ("then, second", lambda: Then(binary, CHAIN)),
        ("bits after rounding", lambda: Then(Rounding(0, 1, 1), bits)),
        ("chain, first", lambda: Chain(CHAIN, binary)),
        ("chain, second", lambda: Chain(binary, CHAIN)),
        ("each", lambda: Each((CHAIN, binary))),
        ("mix", lambda: Mix(half, (CHAIN, binary))),
        ("keyed", lambda: Keyed(Subset(3, 1, UNIT // 2), CHAIN, half)),
        ("some", lambda: SampledCoordinates((Rounding(0, 1, 1),) * 2, CHAIN, 1)),
    ]


@pytest.mark.parametrize(("where", "build"), nested_chains(), ids=[where for where, _ in nested_chains()])
def test_a_chain_stands_alone(where: str, build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.ParameterError):
        build()


def test_a_chain_stands_under_cohorts() -> None:
    for digits in (2, 10):
        channel = Cohorts(PoolMap(4, 2, digits), CHAIN)
        assert channel_from_spec(channel.spec()) == channel
        assert (channel.cohorts, channel.stages) == (2**digits, (STAGE, STAGE))


def test_a_chain_inside_another_node_is_refused_in_specifications_and_in_strangers_nodes() -> None:
    spec = Public(HashMap(4, 2), STAGE).spec()
    with pytest.raises(sv.ParameterError, match="one that keeps a memo"):
        channel_from_spec({**spec, "inner": CHAIN.spec()})
    for channel in (Diary(CHAIN, 1, True), Diary(CHAIN, 1, False)):
        with pytest.raises(sv.ParameterError, match="one that keeps a memo"):
            sv.Mechanism("diary", Frequency(sv.Integers(0, 1)), channel, Decimal(2), CountOutputs())


def rappor() -> sv.Mechanism:
    """ln(5/3) for one report, twice that for two bits; ln 9 for ever."""
    first = Bits(3, 3 * UNIT // 4, UNIT // 4)
    return sv.Mechanism(
        "rappor",
        Frequency(sv.Integers(0, 2)),
        Chain(first, Bits(3, 3 * UNIT // 4, UNIT // 4, "mask", 0)),
        Decimal("1.1"),
        CountSupports(),
        claimed_forever=Decimal("2.2"),
    )


def test_both_budgets_are_claimed_and_kept() -> None:
    mechanism = rappor()
    assert mechanism.spec()["epsilon_forever"] == "2.2"
    assert sv.Mechanism.from_spec(mechanism.spec()) == mechanism
    forever = loss(Fraction(9))
    assert replace(mechanism, claimed_forever=forever).ratio_forever == 9
    with pytest.raises(sv.PrivacyError, match=r"has epsilon_forever 2\.19722, more than the"):
        replace(mechanism, claimed_forever=trifle_below(forever))
    with pytest.raises(sv.PrivacyError, match="epsilon_forever"):
        sv.Mechanism.from_spec({**mechanism.spec(), "epsilon_forever": "2.1"})
    with pytest.raises(sv.SpecError, match="with a memo claims an epsilon_forever"):
        sv.Mechanism.from_spec({**mechanism.spec(), "epsilon_forever": None})
    without = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    assert without.ratio_forever is None and without.spec()["epsilon_forever"] is None
    with pytest.raises(sv.SpecError, match="without a memo claims no epsilon_forever"):
        sv.Mechanism.from_spec({**without.spec(), "epsilon_forever": "2"})
    for wrong in (2, "0", "-1", "21", "nan", "2.20"):
        with pytest.raises((sv.SpecError, sv.ParameterError)):
            sv.Mechanism.from_spec({**mechanism.spec(), "epsilon_forever": wrong})


def test_a_device_counts_what_a_memo_loses_for_ever(tmp_path: Path) -> None:
    mechanism, memo = rappor(), tmp_path / "memo"
    assert mechanism.epsilon < 1.1 < 2.1 < mechanism.epsilon_forever < 2.2
    for refused in ({"limit": 1.1}, {"limit": 2.19}, {"limit": 1.1, "lifetime_limit": 2.19}, {"limit": 1.02}):
        with pytest.raises(sv.PrivacyError):
            sv.Client(mechanism, memo=memo, **refused)  # type: ignore[arg-type]
    with pytest.raises(sv.PrivacyError, match=r"All reports of an unchanged value have epsilon 2\.19722 together"):
        sv.Client.from_spec(mechanism.spec(), limit=Decimal("1.1"), memo=memo)
    forever = loss(Fraction(9))
    for accepted in ({}, {"limit": 2.2}, {"limit": 1.1, "lifetime_limit": 2.2}, {"lifetime_limit": forever}):
        client = sv.Client(mechanism, memo=memo, **accepted)  # type: ignore[arg-type]
        assert client == sv.Client.from_spec(mechanism.spec(), memo=memo, **accepted)  # type: ignore[arg-type]
        assert client.most_values == 1
        with pytest.raises(sv.PrivacyError, match="give the client a file for it"):
            sv.Client(mechanism, **accepted)  # type: ignore[arg-type]
    with pytest.raises(sv.PrivacyError):
        sv.Client(mechanism, lifetime_limit=trifle_below(forever), memo=memo)
    twice = Context(prec=60).multiply(forever, Decimal(2))
    for lifetime, values in ((twice, 2), (trifle_below(twice), 1), (10, 4), (1e100, None)):
        client = sv.Client(mechanism, lifetime_limit=lifetime, memo=memo)
        assert client.most_values == values or values is None
    assert not memo.exists()  # nothing is written before an answer is


def test_without_a_memo_there_is_no_lifetime() -> None:
    with pytest.raises(sv.PrivacyError, match="keeps no memo"):
        sv.Client(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), limit=1, lifetime_limit=20)


# --- guarantees -------------------------------------------------------------------------------------------------
def utility_optimised(epsilon: str) -> Table:
    """Codes 0 and 1 are sensitive; 2 and 3 say who they are wherever the budget allows.

    Reports 0 and 1 are protected, with probabilities at most e**epsilon apart between all codes; 2 and 3 each come from
    one code only (Murakami and Kawamoto 2019, utility-optimised randomized response).
    """
    e = odds(Decimal(epsilon))
    high, low = int(e / (e + 1) * UNIT), UNIT - int(e / (e + 1) * UNIT)
    return Table([[high, low, 0, 0], [low, high, 0, 0], [low, low, UNIT - 2 * low, 0], [low, low, 0, UNIT - 2 * low]])


def promised(channel: Channel, epsilon: str, guarantee: str) -> sv.Mechanism:
    return sv.Mechanism(
        "x",
        Frequency(sv.Integers(0, channel.inputs - 1)),
        channel,
        Decimal(epsilon),
        CountOutputs(),
        guarantee=Guarantee.read(guarantee),
    )


def test_a_utility_optimised_table_is_held_against_its_definition() -> None:
    channel = utility_optimised("1")
    mechanism = promised(channel, "1", f"{KIND}(0,1)")
    assert mechanism.ratio == Fraction(channel.rows[0][0], channel.rows[0][1])
    assert 1 - 1e-9 < mechanism.epsilon <= 1 and sv.Mechanism.from_spec(mechanism.spec()) == mechanism
    certificate = sv.audit(mechanism)
    assert certificate.ok and certificate.ratio == mechanism.ratio and "protected" in certificate.how
    for claim in ("0.99", "0.999999999"):
        with pytest.raises(sv.PrivacyError, match="more than the"):
            promised(channel, claim, f"{KIND}(0,1)")
    assert any("more than the 0.99" in problem for problem in sv.audit(mechanism, epsilon="0.99").problems)
    for guarantee in (f"{KIND}(0,1,2)", f"{KIND}(2)", KIND, "pure", "approximate"):
        with pytest.raises(sv.PrivacyError, match="infinite"):  # report 2 comes from a sensitive code alone
            promised(channel, "1", guarantee)


def test_what_one_insensitive_code_alone_sends_is_free_and_what_two_send_is_not() -> None:
    e = Fraction(5, 2)
    shared = [[UNIT // 2, UNIT // 2, 0], [UNIT // 4, UNIT // 4, UNIT // 2], [UNIT // 4, UNIT // 4, UNIT // 2]]
    with pytest.raises(sv.PrivacyError, match="infinite"):
        promised(Table(shared), "20", f"{KIND}(0)")
    guarantee = UtilityOptimised(frozenset([0]))
    assert guarantee.worst_ratio([[Fraction(0), Fraction(1, 2)], [e, Fraction(1)]]) == e
    assert guarantee.worst_ratio([[Fraction(1, 2), Fraction(0)], [e, Fraction(1)]]) is None
    assert guarantee.worst_ratio([[Fraction(0), Fraction(0)]]) == 1


def test_the_identity_is_refused_whatever_it_calls_itself() -> None:
    identity = Table([[UNIT, 0], [0, UNIT]])
    for guarantee in ("pure", "approximate", "approximate(0.99)", KIND, f"{KIND}(0)", f"{KIND}(0,1)"):
        with pytest.raises(sv.PrivacyError):
            promised(identity, "0.1", guarantee)
        spec = {**promised(Subset(2, 1, UNIT // 2 + 1), "0.1", "pure").spec(), "guarantee": guarantee}
        with pytest.raises(sv.SottovoceError):
            sv.Client.from_spec({**spec, "channel": identity.spec()}, accept=(guarantee, KIND))
    with pytest.raises(sv.PrivacyError, match="infinite"):
        sv.Client(promised(identity, "0.1", "idealised"), accept=("idealised",))


@for_each("text", ["()", "(0,0)", "(1,0)", "(00)", "(0,)", "(,)", "(a)", "(-1)", "(0", "0)", "(0, 1)", "(٠)", "(0.5)"])
def test_sensitive_codes_have_one_way_to_be_written(text: str) -> None:
    with pytest.raises(sv.SpecError, match="A guarantee is one of"):
        promised(utility_optimised("1"), "1", f"{KIND}{text}")


def test_guarantees_that_cannot_be_checked_are_refused() -> None:
    for guarantee in ("metric", "metric(euclidean)"):
        with pytest.raises(sv.SpecError, match="cannot be checked"):
            promised(STAGE, "2", guarantee)
    with pytest.raises(sv.SpecError, match="lie below 4"):
        promised(utility_optimised("1"), "1", f"{KIND}(0,4)")
    for channel in (Public(HashMap(4, 2), STAGE), Subset(4, 2, 3 * UNIT // 4)):
        guarantee = UtilityOptimised(frozenset([0]))
        with pytest.raises(sv.SpecError, match="not numbered"):
            sv.Mechanism("x", Frequency(sv.Integers(0, 3)), channel, Decimal(5), CountSupports(), guarantee=guarantee)
    with pytest.raises(sv.SpecError, match="too large"):
        promised(Subset(1024, 1, UNIT // 2), "20", f"{KIND}(0)")
    assert promised(Block(HadamardSets(6, 4, 2), 3 * UNIT // 4), "3", f"{KIND}(0)").epsilon > 1


def test_devices_accept_sensitive_codes_only_where_they_are_named() -> None:
    mechanism = promised(utility_optimised("1"), "1", f"{KIND}(0,1)")
    for accept in ((), ("pure",), ("idealised",), (f"{KIND}(0)",)):
        with pytest.raises(sv.PrivacyError, match="pure guarantees only"):
            sv.Client(mechanism, accept=accept)
    for accept in ((KIND,), (f"{KIND}(0,1)",)):
        assert sv.Client(mechanism, limit=1, accept=accept).report(0)
        with pytest.raises(sv.PrivacyError, match="more than the limit of this device"):
            sv.Client(mechanism, limit=0.99, accept=accept)


def test_an_approximate_guarantee_is_held_against_the_limit_exactly() -> None:
    channel = Table([[UNIT - 1, 1, 0], [0, 1, UNIT - 1]])
    mechanism = promised(channel, "1.15", f"approximate({1 - Decimal(2) ** -53})")
    assert sv.Client(mechanism, limit=1.15, accept=("approximate",))
    with pytest.raises(sv.PrivacyError):
        sv.Client(mechanism, limit=Decimal("1.1499999999999999999"), accept=("approximate",))
