"""The compression-based mechanism: least distortion, least epsilon, merged categories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import sottovoce as sv
from sottovoce.core.channel import Subset, Table
from sottovoce.design.compression import distortion_of, floors
from sottovoce.testing import check_mechanism
from tests.each import for_each

SKEWED = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04]
OTHER = [0.1, 0.05, 0.45, 0.3, 0.06, 0.04]
SIX = sv.Categories(list("abcdef"))


def whole_program(laws: np.ndarray, ratio: float) -> float:
    """The largest share that any channel with this ratio keeps, over all entries of its matrix."""
    worst, m = laws.shape
    pairs = [(x, y, z) for z in range(m) for x in range(m) for y in range(m) if x != y]
    rows = np.zeros((len(pairs) + worst, m * m + 1))
    for row, (x, y, z) in enumerate(pairs):
        rows[row, x * m + z], rows[row, y * m + z] = 1, -ratio
    for row, law in enumerate(laws, len(pairs)):
        rows[row, [x * m + x for x in range(m)]], rows[row, -1] = -law, 1
    sums = np.hstack([np.kron(np.eye(m), np.ones(m)), np.zeros((m, 1))])
    cost = np.r_[np.zeros(m * m), -1.0]
    return -float(linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(m)).fun)


@for_each("epsilon,laws", [(e, laws) for e in (0.3, 1.0, 3.0) for laws in ([SKEWED], [SKEWED, OTHER])])
def test_the_weights_are_as_good_as_any_matrix(epsilon: float, laws: Any) -> None:
    """The program of one weight for each report, beside that of all entries and, for one law, a closed form."""
    found, e = floors(np.array(laws), math.exp(epsilon)), math.exp(epsilon)
    assert found.kept == pytest.approx(whole_program(np.array(laws), e), abs=1e-7)
    if len(laws) == 1:
        falling = np.cumsum(sorted(SKEWED, reverse=True))
        assert found.kept == pytest.approx(max(e * c / (s + e - 1) for s, c in enumerate(falling, 1)), abs=1e-9)


@for_each("prior,outputs", [(SKEWED, None), (SKEWED, 3), ([SKEWED, OTHER], None), ([SKEWED, OTHER], 4)])
def test_the_least_epsilon_and_the_least_distortion_agree(prior: Any, outputs: int | None) -> None:
    asked = sv.mechanism("compression", SIX, prior=prior, distortion="0.45", outputs=outputs)
    assert distortion_of(asked, prior) <= 0.45 + 1e-9
    assert asked.epsilon == pytest.approx(float(asked.claimed), abs=2e-9) and sv.audit(asked).ok
    given = sv.mechanism("compression", SIX, prior=prior, epsilon=asked.claimed, outputs=outputs)
    assert distortion_of(given, prior) == pytest.approx(0.45, abs=1e-6)
    less = sv.mechanism("compression", SIX, prior=prior, epsilon=float(asked.claimed) - 0.01, outputs=outputs)
    assert distortion_of(less, prior) > 0.4505


def test_rare_categories_are_merged_and_estimated_together() -> None:
    mechanism = sv.mechanism("compression", SIX, prior=SKEWED, distortion="0.4", outputs=3)
    assert mechanism.domain.labels() == ["a", "b", "c, d, e and 1 more"]
    assert [mechanism.domain.encode(one) for one in "abcdef"] == [0, 1, 2, 2, 2, 2]
    check_mechanism(mechanism)
    n = 200_000
    answers = np.random.default_rng(5).choice(list("abcdef"), n, p=OTHER).tolist()
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=5)))
    truth = [0.1, 0.05, 0.85]
    assert np.abs(estimate.values - truth).max() < 6 * estimate.std_errors.max()


def test_several_laws_have_a_table_and_even_shares_randomized_response() -> None:
    laws = [SKEWED, [0.1, 0.1, 0.5, 0.1, 0.1, 0.1]]
    uneven = sv.mechanism("compression", SIX, prior=laws, epsilon=1)
    assert isinstance(uneven.channel, Table)
    check_mechanism(uneven)
    even = sv.mechanism("compression", SIX, epsilon=1)
    assert isinstance(even.channel, Subset)
    assert even.channel.keep == sv.mechanism("grr", SIX, epsilon=1).channel.keep


@for_each(
    "options,words",
    [
        ({}, "'epsilon' parameter of compression"),
        ({"epsilon": 1, "distortion": "0.3"}, "either epsilon or distortion"),
        ({"prior": SKEWED, "distortion": "0.6"}, "tells nothing"),
        ({"prior": SKEWED, "distortion": "0.1", "outputs": 3}, "merging alone"),
        ({"prior": SKEWED, "distortion": "1e-9"}, "largest epsilon"),
        ({"prior": [0.9, 0.1, 0, 0, 0, 0], "epsilon": 1}, "tells nothing"),
        ({"prior": [1, 2], "epsilon": 1}, "'prior' parameter of compression"),
        ({"prior": "abc", "epsilon": 1}, "'prior' parameter of compression"),
        ({"prior": [SKEWED, 1], "epsilon": 1}, "'prior' parameter of compression"),
        ({"outputs": 1, "epsilon": 1}, "'outputs' parameter of compression"),
    ],
)
def test_bad_input_gets_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sv.ParameterError, match=words) as caught:
        sv.mechanism("compression", SIX, **options)
    assert "\n" not in str(caught.value)
