"""Words without a list: their numbers, their cells, the search, its bound on false discoveries, and its intervals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.core.arithmetic.field import dot
from sottovoce.core.channel import FragmentMap
from sottovoce.core.domain.words import MAX_WORDS, words_of
from sottovoce.estimate.frequent_words.evidence import evidence, predicted_variance, smallest_found
from sottovoce.estimate.frequent_words.limit import chance_found, fewest_people, fragments_of, least_count
from sottovoce.estimate.frequent_words.search import Thresholds, search, strongest_of_each
from sottovoce.estimate.frequent_words.supports import cell_supports
from sottovoce.estimate.request import Target
from sottovoce.fast.kernels.compose.fragments import cells_of
from sottovoce.fast.kernels.compose.public import chosen_numbers, valuer
from sottovoce.testing.statistics import check_rate

SMALL = sv.Words("abcdefgh", 4)


# --- words and their numbers -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("words", [sv.Words("ab", 3), sv.Words("äöü", 2), sv.Words("01", 5)], ids=str)
def test_every_number_is_one_word(words: sv.Words) -> None:
    listed = [words.word(code) for code in range(words.size)]
    assert len({*listed}) == words.size and [words.encode(word) for word in listed] == [*range(words.size)]
    assert listed == sorted(listed, key=lambda word: (len(word), [words.letters.index(letter) for letter in word]))
    assert max(map(len, listed)) == words.longest and listed[0] == ""


def test_capitals_accents_and_long_words() -> None:
    words = sv.Words("abcé", 3)
    assert words.encode("ABE\u0301") == words.encode("abé") and words.typed(" ab ") == "ab"
    cut = sv.Words("abcé", 3, "cut")
    assert cut.encode("abcabc") == words.encode("abc") == cut.encode("abc")
    both = sv.Words("aA", 2)
    assert both.encode("aA") != both.encode("aa")
    for wrong in ("abca", "abd", "a b", "\x00", 7, None):
        with pytest.raises(sv.DomainError, match="a word of at most 3 letters, each one of abcé"):
            words.encode(wrong)
    with pytest.raises(sv.DomainError, match="each one of abcé"):
        cut.encode("abd")
    assert cut.encode("abcd") == words.encode("abc")  # letters after the cut are not read


@pytest.mark.parametrize(
    ("letters", "longest", "said"),
    [
        ("aa", 2, "letters"),
        ("a", 2, "letters"),
        ("a b", 2, "letters"),
        (5, 2, "letters"),
        ("0123456789", 16, "at most 15"),
    ],
)
def test_words_that_are_refused(letters: Any, longest: int, said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        sv.Words(letters, longest)


def test_ten_letters_fit_into_48_bits() -> None:
    assert sv.Words().bits == 48 and sv.Words("abcdefghijklmnopqrstuvwxyz", 10).bits == 48
    assert words_of(10, 15) <= MAX_WORDS < words_of(10, 16)


# --- cells ------------------------------------------------------------------------------------------------------------
def test_mixing_can_be_undone_and_kernels_agree() -> None:
    chosen, _ = fragments_of(sv.mechanism("fragments", sv.Words(), epsilon=2))
    codes = np.array([0, 1, 27, chosen.k - 1, *np.random.default_rng(1).integers(0, chosen.k, 50)])
    table = cells_of(chosen, codes)
    for code, row in zip(codes.tolist(), table.tolist(), strict=True):
        assert chosen.code_of(*chosen.halves(code)) == code and chosen.cells(code) == tuple(row)


def test_two_cells_have_one_value_under_the_stated_part_of_the_vectors() -> None:
    """Exactly, for every pair of different cells: what unbiased estimates rest on."""
    for g, digits in ((2, 4), (4, 2), (8, 2)):
        chosen = FragmentMap(4, g, digits, 2)
        vectors = [chosen.vector(number) for number in range(chosen.vectors)]
        assert len({*vectors}) == len(vectors)
        values = np.array([[_dot(vector, cell, chosen) for vector in vectors] for cell in range(g**digits)])
        same = (values[:, None] == values[None]).mean(axis=2)
        assert np.allclose(same[~np.eye(len(same), dtype=bool)], float(chosen.collision), atol=1e-12)
        assert chosen.collision == Fraction(g ** (digits - 1) - 1, g**digits - 1)


def _dot(vector: int, cell: int, chosen: FragmentMap) -> int:
    return dot(vector, cell, chosen.g, chosen.digits)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3"])
def test_the_transform_counts_what_the_definition_counts(epsilon: str) -> None:
    subject = sv.mechanism("fragments", sv.Words("abc", 2), epsilon=epsilon)
    chosen, _ = fragments_of(subject)
    reports = subject.privatize(["a", "bc", "", "cc", "a"], seed=3)
    supports = cell_supports(chosen, subject.tally(reports).cells)
    for code in (0, 1, 5):
        held = np.zeros(chosen.parts, int)
        for public, report in zip(reports.public.tolist(), reports.payload.tolist(), strict=True):
            seed = subject.channel.pool.seed(tuple(public))
            held[seed // chosen.vectors] += chosen.value(seed, code) == report
        assert supports[np.arange(chosen.parts), chosen.cells(code)].tolist() == held.tolist()


def test_audit_and_variance() -> None:
    subject = sv.mechanism("fragments", sv.Words(), epsilon=2)
    assert sv.audit(subject).ok and subject.cells <= 1 << 22
    _, (own, other) = fragments_of(subject)
    share, n = 0.1, 1000
    rate = float(other + Fraction(1, 10) * (own - other))
    right = rate * (1 - rate) / n / float(own - other) ** 2
    assert predicted_variance(subject, [share], n)[0] == pytest.approx(right, rel=1e-12)
    best = 4 * np.exp(2) / (np.exp(2) - 1) ** 2  # of local hashing with any number of values
    assert best <= predicted_variance(subject, [0.0], 1)[0] <= 1.01 * best


# --- the search -----------------------------------------------------------------------------------------------------
def test_the_search_finds_what_trying_all_words_finds() -> None:
    """On random scores, the strongest words of each check, as by brute force over every word."""
    chosen, rng = FragmentMap(1 << 8, 2, 6, 4), np.random.default_rng(5)  # fragments of 2 bits, 4 check bits
    for _ in range(5):
        scores = rng.normal(size=(chosen.parts, 64))
        cells = cells_of(chosen, np.arange(chosen.k))
        left, found = scores.copy(), []
        for check in range(1 << chosen.check_bits):
            own = np.flatnonzero(cells[:, 0] >> chosen.width == check)
            while len(own):
                sums = left[np.arange(4), cells[own, :4]].sum(axis=1)
                best = own[np.argmax(sums)]
                if sums.max() <= 2.5:
                    break
                total = sums.max() + scores[4, cells[best, 4]]
                left[np.arange(4), cells[best, :4]] = -3
                found += [int(best)] * bool(scores[4, cells[best, 4]] > -0.5 and total > 3)
        searched = search(chosen, scores.copy(), Thresholds(2.5, -0.5, 3.0), np.full(5, -3.0))
        assert sorted(searched.tolist()) == sorted(found) and found


def test_of_words_with_one_whole_cell_the_strongest_is_kept() -> None:
    assert strongest_of_each(np.array([7, 3, 7, 9]), np.array([1.0, 5.0, 2.0, 0.0])).tolist() == [1, 2, 3]


def test_words_are_found_and_denied_words_are_not_shown() -> None:
    people = (
        ["tea"] * 6000 + ["mate"] * 3000 + ["cocoa"] * 2000 + [f"x{'abcdefghij'[place % 10]}" for place in range(3000)]
    )
    subject = sv.mechanism("fragments", sv.Words(longest=7), epsilon=4)
    found = subject.estimate(subject.tally(subject.privatize(people, seed=1)))
    assert found.labels[:3] == ("tea", "mate", "cocoa")
    low, high = found.ci()
    assert ((low <= found.values) & (found.values <= high)).all()
    truth = np.array([people.count(word) / len(people) for word in found.labels])
    assert (np.abs(found.values - truth) < 5 * found.std_errors).all()
    assert "at most 5 % are expected" in found.explain() and found.selection is not None
    hidden = sv.mechanism("fragments", sv.Words(longest=7), epsilon=4, deny=["mate"])
    shown = hidden.estimate(hidden.tally(hidden.privatize(people, seed=1))).labels
    assert "mate" not in shown and shown[:2] == ("tea", "cocoa")


def test_nothing_is_found_where_nothing_is_frequent() -> None:
    subject = sv.mechanism("fragments", sv.Words(longest=7), epsilon=2)
    words = [subject.domain.word(place) for place in range(1, 4001)]
    found = subject.estimate(subject.tally(subject.privatize(words, seed=2)))
    assert len(found.values) == 0 and found.explain() and found.to_frame().empty


def test_listed_words_are_read_without_a_selection() -> None:
    subject = sv.mechanism("fragments", SMALL, epsilon=4)
    tally = subject.tally(subject.privatize(["ab"] * 900 + ["h"] * 100, seed=4))
    listed = subject.estimate(tally, candidates=["ab", "h", "ccc"])
    low, high = listed.ci(0.9999)
    assert (low <= [0.9, 0.1, 0]).all() and (high >= [0.9, 0.1, 0]).all() and listed.selection is None


# --- the bound on false discoveries, and the limit ------------------------------------------------------------------
def test_the_count_of_the_first_word_is_the_smallest_that_chance_allows() -> None:
    """By the binomial law of a word that nobody gave, times all words: exactly."""
    subject, n = sv.mechanism("fragments", sv.Words(), epsilon=4), 500_000
    chosen, rates = fragments_of(subject)
    for found in (1, 20):
        count = least_count(subject, n, found)
        tail = binom.sf([count - 2, count - 1], n, float(rates.other)) * chosen.k
        assert tail[1] <= 0.025 * found < tail[0]
    assert least_count(subject, n, 20) < least_count(subject, n)


def test_a_word_that_nobody_gave_has_the_binomial_law() -> None:
    """The null law of the bound, for reports of people who all give one other word: mean and variance."""
    subject, n, runs = sv.mechanism("fragments", SMALL, epsilon=2), 400, 400
    chosen, rates = fragments_of(subject)
    reports, code = subject.privatize(["abc"] * (n * runs), seed=9), SMALL.encode("h")
    seeds, _ = chosen_numbers(chosen.choice, reports.public)
    supported = reports.payload == valuer(chosen)(seeds, np.full(n * runs, code, np.uint64))
    counts = supported.reshape(runs, n).sum(axis=1)
    check_rate("a word that nobody gave", int(counts.sum()), n * runs, float(rates.other))
    ratio = np.var(counts, ddof=1) / (n * float(rates.other * (1 - rates.other)))
    assert 0.7 < ratio < 1.4


def test_the_limit_and_the_people_that_it_needs() -> None:
    subject = sv.mechanism("fragments", sv.Words(), epsilon=4)
    share = smallest_found(subject, 500_000)
    assert share is not None and 0.0037 < share < 0.0041
    assert chance_found(subject, 500_000, share) >= 0.95 > chance_found(subject, 500_000, 0.98 * share)
    people = fewest_people(subject, share, 0.95)
    assert 480_000 < people <= 505_000 and smallest_found(subject, 20) is None
    plan = sv.plan(sv.FrequentWords(sv.Words()), epsilon=4, participants=500_000, prior=0.01)
    assert f"A word that {100 * share:.2g} %" in plan.advice and "To find a word of 1 %" in plan.advice


def test_selected_intervals_cover_given_the_selection() -> None:
    """Summed over the binomial law of the count of a word, given that it is selected: at least the level."""
    subject, n = sv.mechanism("fragments", sv.Words(longest=5), epsilon=4), 20_000
    _, (own, other) = fragments_of(subject)
    least = least_count(subject, n)
    limit = smallest_found(subject, n)
    assert limit is not None
    shown = evidence(subject, subject.tally(subject.privatize(["a"] * n, seed=1)), ["a"])
    for share in (0.6 * limit, 0.85 * limit, limit, 1.5 * limit):
        rate = float(other) + share * float(own - other)
        counts = np.arange(least, int(n * rate + 8 * np.sqrt(n * rate)))
        weights = binom.pmf(counts, n, rate) / binom.sf(least - 1, n, rate)
        ends = replace(shown, counts=counts, words=("a",) * len(counts), least=least)
        low, high = ends.exact(0.95, Target.POPULATION)
        covered = weights[(low <= share) & (share <= high)].sum()
        assert 0.95 - 1e-3 <= covered <= 0.98


@pytest.mark.parametrize("deny", ["word", 5, ["zzzzzzzz"], ["a", "A"], [1]])
def test_denied_words_that_are_refused(deny: Any) -> None:
    with pytest.raises(sv.ParameterError, match="deny"):
        sv.FrequentWords(sv.Words("abc", 3), deny)


def test_other_domains_are_refused() -> None:
    with pytest.raises(sv.ParameterError, match="possible words"):
        sv.mechanism("fragments", sv.Text(), epsilon=1)
    with pytest.raises(sv.ParameterError, match="possible words"):
        sv.FrequentWords(sv.Text())  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="share of a word"):
        sv.plan(sv.FrequentWords(sv.Words()), epsilon=1, participants=100, prior=[0.5])
