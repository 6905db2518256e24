"""Batches of linear queries: unbiased answers, the projection onto possible ones, and queries in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import sottovoce as sv
from sottovoce.estimate.linear_queries import LinearQueries, QueriesInTurn, nearest_shares
from sottovoce.tally.tally import Tally
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each

COLOURS = sv.Categories(["red", "green", "blue"])
NUMBERS = [[1.0, 4.0, -2.0], [0.0, 1.0, 1.0], [5.0, 5.5, 7.0], [3.0, 3.0, 3.0]]
QUERIES = LinearQueries(COLOURS, NUMBERS, names=["a", "b", "c", "same"])


def test_answers_from_expected_reports_are_the_means_of_the_numbers() -> None:
    """The cells of a tally are what 10**12 people are expected to report, so nothing is left but rounding."""
    mechanism = sv.mechanism("grr", COLOURS, epsilon=1)
    shares, n = np.array([0.5, 0.2, 0.3]), 10**12
    law = np.array([[float(mechanism.channel.likelihood(report, code)) for report in range(3)] for code in range(3)])
    counts = np.round(n * shares @ law).astype(np.int64)
    found = QUERIES.of_shares(mechanism.estimate(Tally(mechanism, int(counts.sum()), counts)))
    assert found.labels == ("a", "b", "c", "same")
    assert found.values == pytest.approx([0.5 + 0.8 - 0.6, 0.5, 2.5 + 1.1 + 2.1, 3.0], abs=1e-5)
    # The variance of a weighted sum of shares, from the law of one report: the answer is a number for each report.
    scores = np.array(NUMBERS) @ np.linalg.inv(law).T
    reports = shares @ law
    for row, error in zip(scores, found.std_errors, strict=True):
        assert error**2 * n == pytest.approx(reports @ row**2 - (reports @ row) ** 2, rel=1e-3, abs=1e-9)


@pytest.mark.slow
def test_answers_from_vectors_are_near_the_truth(seed: int) -> None:
    """A wrong centre, or columns taken for rows, would move an answer by many standard errors."""
    answers = ["red"] * 6000 + ["green"] * 3000 + ["blue"] * 3000
    mechanism = QUERIES.mechanism(epsilon=4)
    found = QUERIES.of_vectors(mechanism.tally(mechanism.privatize(QUERIES.vectors(answers), seed=seed)))
    low, high = found.ci(1 - ALPHA, simultaneous=True)
    truth = np.array(NUMBERS) @ [0.5, 0.25, 0.25]
    assert ((low < truth) & (truth < high)).all(), f"alarm with probability {ALPHA}"
    assert (high - low < 2.5).all()
    assert found.covariance is not None and "4 linear queries" in found.explain()


def test_centred_columns_fit_into_the_ball() -> None:
    columns = QUERIES.vectors(["red", "green", "blue"])
    assert columns.shape == (3, 4)
    assert columns[1].tolist() == [4 - 1, 1 - 0.5, 5.5 - 6, 0]
    assert np.linalg.norm(columns, axis=1).max() == pytest.approx(float(QUERIES.ball.radius), rel=1e-11)
    assert all(QUERIES.ball.encode(column) for column in columns)


@for_each("queries,categories", [(2, 5), (6, 4), (12, 9)])
def test_the_projection_is_the_nearest_possible_answer(queries: int, categories: int) -> None:
    """Against another solver: nonnegative least squares with a row that makes the shares sum to one."""
    rng = np.random.default_rng(queries)
    matrix = rng.normal(size=(queries, categories))
    for target in (rng.normal(size=queries), 5 * rng.normal(size=queries), matrix[:, 1], matrix.mean(axis=1)):
        shares, gap, _ = nearest_shares(matrix, target, 1e-9, 100_000)
        heavy = 1e6
        other, _ = nnls(np.vstack([matrix, np.full((1, categories), heavy)]), np.append(target, heavy))
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1)
        assert matrix @ shares == pytest.approx(matrix @ other, abs=2e-4)
        least = float(((matrix @ other - target) ** 2).sum())
        assert float(((matrix @ shares - target) ** 2).sum()) <= least + gap + 1e-5


def test_projected_answers_have_the_intervals_of_unbiased_ones() -> None:
    mechanism = sv.mechanism("grr", COLOURS, epsilon=1)
    found = QUERIES.of_shares(mechanism.estimate(Tally(mechanism, 10, np.array([8, 2, 0]))))
    near = QUERIES.projected(found)
    with pytest.warns(sv.PoorIntervalWarning, match="too few reports are about some of the categories"):
        low, high = near.ci()
    assert (low <= near.values).all() and (near.values <= high).all()
    assert near.values[3] == pytest.approx(3) and found.values[0] != pytest.approx(near.values[0], abs=0.01)
    corners = np.array(NUMBERS)
    assert (near.values >= corners.min(axis=1) - 1e-9).all() and (near.values <= corners.max(axis=1) + 1e-9).all()
    assert near.fit is not None and near.fit.gap < 1e-3


@pytest.mark.slow
def test_queries_in_turn_hold_all_at_once(seed: int) -> None:
    """The second query depends on the first answer; each is asked of people of its own."""
    turns = QueriesInTurn(COLOURS, 3, 4)
    rng = np.random.default_rng(seed)
    groups = rng.choice(COLOURS.labels(), (2, 4000), p=[0.6, 0.3, 0.1])
    answers, asked = [], [[0.0, 1.0, 4.0]]
    for people in groups:
        mechanism = turns.mechanism(asked[-1])
        given = turns.numbers_of(asked[-1], people.tolist())
        answers.append(mechanism.estimate(mechanism.tally(mechanism.privatize(given, seed=seed))))
        asked.append([1.0, 0.0, 0.0] if answers[-1].value < 2 else [0.0, 0.0, 1.0])
    low, high = turns.intervals(answers, 1 - ALPHA)
    assert low[0] < 0.3 + 0.4 < high[0] and low[1] < 0.6 < high[1], f"alarm with probability {ALPHA}"
    single = answers[0].ci(1 - ALPHA / 4)
    assert (low[0], high[0]) == (single.low[0], single.high[0])


@for_each(
    "make,message",
    [
        (lambda: LinearQueries(sv.Interval(0, 1), NUMBERS), "'domain'"),
        (lambda: LinearQueries(COLOURS, [[1, 2, 3]]), "at least two rows of 3 finite numbers"),
        (lambda: LinearQueries(COLOURS, [[1, 2], [3, 4]]), "at least two rows"),
        (lambda: LinearQueries(COLOURS, [[1, 2, float("nan")], [3, 4, 5]]), "finite"),
        (lambda: LinearQueries(COLOURS, [[1, 1, 1], [2, 2, 2]]), "not all columns alike"),
        (lambda: LinearQueries(COLOURS, [["x", 1, 1], [2, 2, 2]]), "'numbers'"),
        (lambda: LinearQueries(COLOURS, NUMBERS, names=["a"]), "4 different names"),
        (lambda: QueriesInTurn(COLOURS, 1, 2).mechanism([1, 1, 1]), "not all equal"),
        (lambda: QueriesInTurn(COLOURS, 1, 2).intervals([]), "1 to 2 answers"),
        (lambda: QueriesInTurn(sv.Interval(0, 1), 1, 2), "'domain'"),
    ],
)
def test_refusals_are_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        make()


def test_tallies_of_other_questions_are_refused() -> None:
    other = LinearQueries(COLOURS, [[1, 2, 3], [0, 0, 1]])
    mechanism = other.mechanism(epsilon=1)
    with pytest.raises(sv.ParameterError, match="not about the vectors of these queries"):
        QUERIES.of_vectors(mechanism.tally(mechanism.privatize(other.vectors(["red"] * 50), seed=1)))
    shares = sv.mechanism("grr", sv.Categories(["a", "b", "c"]), epsilon=1)
    with pytest.raises(sv.ParameterError, match="all categories of these queries"):
        QUERIES.of_shares(shares.estimate(Tally(shares, 9, np.array([3, 3, 3]))))
