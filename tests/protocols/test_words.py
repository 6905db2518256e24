"""PEM and verified words: beginnings that grow, the words with the most reports, and the group that verifies them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.round import Round
from sottovoce.protocols.simulate import rounds
from sottovoce.protocols.words.beginnings import CHOSEN, beginning, extended, strongest, supports_of
from sottovoce.protocols.words.pem import PEM
from sottovoce.protocols.words.verified import VerifiedWords

SMALL = sv.Words("abc", 4)
FEW = PEM(SMALL, 6, 2, 3_000, candidates=40)
PEOPLE = ["ab"] * 1_400 + ["cabb"] * 1_000 + ["", "a", "bbbb", "cca"] * 150


@pytest.mark.parametrize(("old", "new"), [(0, 1), (0, 3), (1, 2), (2, 4), (3, 4), (3, 3)])
def test_words_are_extended_as_by_looking_at_every_word(old: int, new: int) -> None:
    cut, longer = sv.Words("abc", max(old, 1), "cut"), sv.Words("abc", new)
    kept = ["", "a", "cb", "bca"]
    held = [SMALL.encode(word) for word in kept if len(word) <= old]
    first = [word[:old] for word in (longer.word(code) for code in range(longer.size))]
    right = [code for code, start in enumerate(first) if start in kept[: 1 + old]]
    assert sorted(extended(longer, np.array(held), old, new).tolist()) == right
    assert all(cut.encode(longer.word(code)) in held for code in right) or old == 0


def test_groups_are_as_few_as_the_candidates_allow() -> None:
    assert PEM(sv.Words(), 2, 32, 1_000).lengths == (4, 7, 10)
    assert PEM(sv.Words(longest=4), 2, 32, 1_000).lengths == (4,)
    assert FEW.lengths == (3, 4)  # 40 words of at most three letters; two words and their extensions by two are 26
    assert PEM(sv.Words("ab", 10), 2, 3, 1_000, candidates=21).lengths == (3, 5, 7, 9, 10)


def test_rounds_ask_groups_of_equal_size_and_then_those_who_verify() -> None:
    first = FEW.start()
    assert first.quota == 3_000 * 80 // 100 // 2 and first.epsilon <= 6 == FEW.epsilon
    assert first.arms[0].mechanism.domain == sv.Words("abc", 3, "cut")
    alone = PEM(SMALL, 4, 2, 3_000, verify=0, candidates=40).start()
    assert alone.quota == 1_500 and PEM(sv.Words("abc", 3), 4, 2, 100, verify=0).start().quota is None


def test_a_word_with_a_cell_of_a_stronger_one_is_left_out() -> None:
    """Among all words of four letters some have a third of the reports of "tea", more than "mate" has."""
    subject = beginning(sv.Words(longest=5), Decimal(4), 4)
    tally = subject.tally(subject.privatize(["tea"] * 3_000 + ["mate"] * 600, seed=1))
    words, every = sv.Words(longest=4), np.arange(subject.domain.size)
    supports = supports_of(tally, every).sum(axis=1)
    assert words.word(int(np.argsort(-supports)[1])) != "mate"
    assert [words.word(code) for code in strongest(tally, every, 2)] == ["tea", "mate"]


def test_the_words_that_most_people_gave_are_found_and_verified() -> None:
    found: Any = sv.simulate(FEW, PEOPLE, seed=3)["words"]
    assert found.labels == ("ab", "cabb") and found.missing is None and found.assumes is None
    low, high = found.ci(0.9999)
    assert (low <= [14 / 30, 10 / 30]).all() and (high >= [14 / 30, 10 / 30]).all()
    assert found.selection is None and "unbiased" in found.explain()
    published: Any = sv.simulate(PEM(SMALL, 6, 2, 3_000, verify=0, candidates=40), PEOPLE, seed=3)["words"]
    assert published.labels == ("ab", "cabb") and published.doubt() == CHOSEN


def test_the_reports_that_verify_had_no_part_in_choosing() -> None:
    """Other reports in the last round change the shares, which are those of this round alone, and not the words."""
    *_, state = rounds(FEW, PEOPLE, seed=3)
    (last,) = state.history[-1]
    subject = last.mechanism
    for tally in (last, subject.tally(subject.privatize(["cabb"] * 500 + ["ccc"] * 400, seed=1))):
        found: Any = FEW.advance([*state.history[:-1], (tally,)])["words"]
        alone = subject.estimate(tally, candidates=found.labels)
        assert {*found.labels} == {"ab", "cabb"} and found.n == tally.n
        assert found.values.tolist() == alone.values.tolist() and found.std_errors.tolist() == alone.std_errors.tolist()


def test_closing_early_gives_beginnings() -> None:
    first = FEW.start()
    mechanism = first.arms[0].mechanism
    tally = mechanism.tally(mechanism.privatize(["cabb"] * 500 + ["ab"] * 400, seed=1))
    early: Any = FEW.advance([(tally,)], closing=True)["words"]
    assert early.labels == ("cab", "ab") and "1 of 3 rounds were asked, of 3 letters" in early.missing
    assert isinstance(FEW.advance([(tally,)]), Round)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"count": 0}, "count"),
        ({"verify": 91}, "verify"),
        ({"candidates": 7}, "candidates"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_wrong_parameters_are_refused(changed: dict[str, Any], name: str) -> None:
    with pytest.raises(sv.ParameterError, match=f"'{name}' parameter of PEM"):
        PEM(**{"domain": SMALL, "epsilon": 1, "count": 2, "participants": 100, **changed})
    with pytest.raises(sv.ParameterError, match="possible words"):
        PEM(sv.Text(), 1, 2, 100)  # type: ignore[arg-type]


def test_words_of_one_round_are_verified_by_others() -> None:
    """The first tally alone chooses the words, and the second alone gives their shares; denied words are not asked."""
    protocol = VerifiedWords(SMALL, 6, 3_000, deny=["cabb"])
    assert protocol.start().quota == 2_400 and protocol.deny == ("cabb",)
    *_, state = rounds(VerifiedWords(SMALL, 6, 3_000, deny=["bbbb"]), PEOPLE, seed=3)
    (first,), (last,) = state.history
    chosen, found = first.mechanism.estimate(first).labels, state.estimates["words"]
    assert found.labels == chosen and {"ab", "cabb"} <= {*chosen} and "bbbb" not in chosen
    assert found.values.tolist() == last.mechanism.estimate(last, candidates=chosen).values.tolist()
    assert found.n == last.n == 600 and found.selection is None
    early: Any = protocol.advance([(first,)], closing=True)["words"]
    assert "nobody verified" in early.missing


def test_where_no_word_is_found_nobody_is_asked_again() -> None:
    protocol = VerifiedWords(sv.Words(longest=7), 4, 100)
    subject = protocol.mechanism
    outcome: Any = protocol.advance([(subject.tally(subject.privatize(["tea", "mate"] * 5, seed=1)),)])
    assert outcome["words"].labels == ()


@pytest.mark.parametrize("changed", [{"verify": 0}, {"deny": ["zz"]}, {"domain": sv.Text()}, {"participants": 0}])
def test_wrong_parameters_of_verified_words_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(sv.ParameterError):
        VerifiedWords(**{"domain": SMALL, "epsilon": 1, "participants": 100, **changed})
