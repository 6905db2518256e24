"""An audit says why: which answers a report distinguishes best, what was claimed, and what repairs it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core import coins, exact
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Subset, Table
from sottovoce.core.channel.base import Channel
from sottovoce.core.coins import Coins
from sottovoce.core.exact import law, worst_distinction, worst_ratio
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.privacy import declared, drawn, follow, forever, problems
from sottovoce.privacy.blackbox import BlackBoxCertificate, audit_black_box, command_source, samples_needed
from sottovoce.privacy.drawn import SOME_ID
from sottovoce.privacy.problems import INFINITE, REMEDIES, remedy
from sottovoce.privacy.worst import WorstCase
from tests.museum.channels import exhibits

HALF = UNIT // 2


class OnePercentOff(Subset):
    """A probability that was typed a second time, one per cent too high."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Any = (0, 0)) -> int:
        kept = coins.flip(self.keep * 101 // 100)
        index = coins.below(self.k - 1)
        return code if kept else index + (index >= code)


def off(k: int) -> Channel:
    honest = sv.mechanism("grr", sv.Integers(0, k - 1), epsilon=1).channel
    assert isinstance(honest, Subset)
    return OnePercentOff(k, 1, honest.keep)


# --- the worst pair ----------------------------------------------------------------------------------------
def test_the_worst_case_is_a_report_and_the_two_codes_with_their_probabilities() -> None:
    eighth, half = HALF // 8, HALF
    channel = Table([[half, half // 2, half // 2], [eighth, half, 7 * eighth], [2 * eighth, half, 6 * eighth]])
    worst = sv.audit(channel, epsilon=1).worst
    assert worst is not None
    assert worst.codes == (0, 1) and worst.probabilities == (Fraction(1, 2), Fraction(1, 16))
    assert worst.ratio == 8 == channel.ratio() and worst.small is None
    assert worst.message[16:] == b"\0"


def test_a_failed_audit_names_the_pair_the_claim_and_the_remedy() -> None:
    certificate = sv.audit(off(5), epsilon=1)
    assert not certificate.ok
    shown = "Report 01 is 2.76425 times as likely under code 1 (probability 0.408656) as under code 0 (0.147836)."
    assert str(certificate).endswith(f"The exact epsilon is 1.01676923, more than the 1 claimed. {shown}")
    lines = certificate.explain().splitlines()
    assert lines[0] == f"subset: epsilon {certificate.epsilon:.9g} of 1 claimed, enumerated; FAILS."
    assert any(line.endswith("Move the two probabilities together, or claim the larger epsilon.") for line in lines)
    assert lines[-1] == str(certificate.worst)


def test_a_large_mechanism_is_explained_by_a_small_instance() -> None:
    certificate = sv.audit(off(1000), epsilon=1)
    assert not certificate.ok and certificate.worst is not None
    assert certificate.worst.ratio is not None and certificate.worst.ratio > Fraction("2.7183")
    honest = sv.audit(sv.mechanism("oue", sv.Integers(0, 99), epsilon=1))
    assert honest.ok and honest.worst is not None and honest.worst.small is not None
    assert f"in a small instance with {honest.worst.small} codes." in str(honest.worst)


def test_of_large_and_small_instances_the_worst_is_shown() -> None:
    """In clear where it is large, which no small instance is."""
    exhibit = next(one for one in exhibits() if one.title == "in clear when large, k = 100000")
    certificate = sv.audit(exhibit.broken, epsilon=exhibit.claim)
    assert certificate.how == "closed form, proven on 2 enumerated instances"
    assert certificate.worst is not None and certificate.worst.ratio is None and certificate.worst.small is None


def test_an_infinite_ratio_shows_the_report_that_one_answer_never_sends() -> None:
    certificate = sv.audit(Table([[HALF, HALF, 0], [HALF, HALF // 2, HALF // 2]]), epsilon=1)
    assert certificate.worst is not None and certificate.worst.ratio is None
    assert str(certificate.worst) == "Report 02 has probability 0.25 under code 1 and 0 under code 0."
    assert f"{INFINITE} Give every report a positive probability under every value." in certificate.explain()


def test_a_mechanism_that_holds_has_a_worst_case_and_does_not_complain() -> None:
    certificate = sv.audit(sv.mechanism("grr", sv.Integers(0, 4), epsilon=1))
    assert str(certificate) == "grr: epsilon 1 of 1 claimed, enumerated; holds"
    assert certificate.worst is not None and certificate.worst.ratio == certificate.ratio
    assert certificate.explain().splitlines() == [
        "grr: epsilon 1 of 1 claimed, enumerated; holds.",
        str(certificate.worst),
    ]


def test_the_id_is_shown_where_it_matters() -> None:
    other = WorstCase(bytes(16) + b"\1", (0, 1), (Fraction(1, 2), Fraction(1, 4)))
    assert str(other).startswith(f"Message {'00' * 16}01 is 2 times")
    long = WorstCase(id_bytes(SOME_ID) + b"\1" * 99, (0, 1), (Fraction(1, 2), Fraction(1, 1 << 2000)))
    assert str(long).startswith(f"Report {'01' * 24}... is e**1385.6")


@pytest.mark.parametrize("channel", [Subset(4, 1, HALF), Subset(5, 2, HALF)], ids=["one of four", "two of five"])
def test_the_worst_distinction_has_the_worst_ratio(channel: Channel) -> None:
    laws = [law(channel, code) for code in channel.codes()]
    found = worst_distinction(laws)
    assert found.ratio == worst_ratio(laws) == channel.ratio()
    assert laws[found.likelier][found.outcome] == found.probabilities[0]
    assert laws[found.rarer].get(found.outcome, 0) == found.probabilities[1]


def test_an_impossible_outcome_is_worse_than_any_ratio_and_the_likeliest_is_shown() -> None:
    tenth = Fraction(1, 10)
    laws = [{"a": 9 * tenth, "b": tenth}, {"a": tenth / 100, "c": 5 * tenth, "d": tenth}]
    found = worst_distinction(laws)
    assert (found.outcome, found.likelier, found.rarer, found.ratio) == ("c", 1, 0, None)
    assert worst_ratio(laws) is None


# --- unused budget -------------------------------------------------------------------------------------------
def coarse(unused: str | None) -> sv.Mechanism:
    """Randomized response by a coin of four bits."""
    asked = sv.Frequency(sv.Categories(["no", "yes"]))
    return sv.Mechanism("coarse-rr", asked, Subset(2, 1, UNIT // 16 * 11), Decimal(1), CountOutputs(), unused=unused)


def test_unused_budget_is_explained_and_is_no_breach() -> None:
    certificate = sv.audit(coarse(None))
    assert certificate.ok and certificate.waste is not None
    assert certificate.waste.startswith("It loses epsilon 0.78845736 of the 1 claimed, so it adds more noise")
    assert "claim less, or state the reason in `unused`" in certificate.explain().splitlines()[-1]
    assert sv.audit(coarse("A coin of four bits.")).waste is None


def test_a_reason_without_unused_budget_is_explained() -> None:
    full = replace(sv.mechanism("rr", sv.Categories(["no", "yes"]), epsilon=1), unused="A coin of four bits.")
    assert "uses all of it, epsilon 1: leave `unused` out" in str(sv.audit(full).waste)


@pytest.mark.parametrize("name", ["grr", "pm-sub", "oue"])
def test_the_registry_wastes_nothing(name: str) -> None:
    domain = sv.Interval(0, 1) if name == "pm-sub" else sv.Integers(0, 3)
    assert sv.audit(sv.mechanism(name, domain, epsilon=2)).waste is None


# --- remedies ------------------------------------------------------------------------------------------------
def test_every_problem_that_the_audit_knows_has_a_remedy() -> None:
    known = {
        value
        for module in (problems, declared, drawn, follow, forever, exact, coins)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and value.endswith(".")
    }
    assert len(known) > 20
    assert [problem for problem in known - set(REMEDIES.values()) if remedy(problem) is None] == []
    assert remedy("Something that nobody has seen yet.") is None
    assert all(advice.endswith(".") for advice in REMEDIES.values())


# --- callables -----------------------------------------------------------------------------------------------
def test_an_audit_of_a_function_points_to_the_black_box() -> None:
    with pytest.raises(sv.ParameterError, match=r"use sottovoce\.privacy\.blackbox\.audit_black_box"):
        sv.audit(lambda answer: answer)  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match=r"mechanism or a channel\. Got int"):
        sv.audit(7)  # type: ignore[arg-type]


def test_the_black_box_is_exported_and_does_what_the_sentence_says() -> None:
    found = audit_black_box(lambda answer: answer, [0, 1], claimed=1, samples=1000)
    assert isinstance(found, BlackBoxCertificate) and found.refuted
    assert samples_needed(0.9, 0.1, claimed=1) < 1000
    assert command_source(["true"]).command == ("true",)


def test_a_certificate_shows_the_worst_message_only_where_it_exceeds_the_claim() -> None:
    honest = sv.audit(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1))
    for more, less, shown in ((3, 1, True), (2, 1, False), (1, 0, True)):  # e is between 2 and 3
        worst = WorstCase(b"message", (0, 1), (Fraction(more, 4), Fraction(less, 4)))
        failed = replace(honest, problems=("A problem.",), worst=worst)
        assert (str(worst) in str(failed)) == shown
    assert str(replace(honest, problems=("A problem.",), worst=None)).endswith("A problem.")
