"""Projections by name: small examples by hand, the properties of each, and what a projected estimate carries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Table
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.decoders.base_cut import base_cut
from sottovoce.estimate.decoders.norm_mul import norm_mul
from sottovoce.estimate.decoders.normalise import normalise
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.estimate import Estimate

Floats = NDArray[np.float64]
SHARES = ["simplex", "norm-sub", "norm-mul"]  # the projections that give shares
vectors = st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=12).map(np.array)


def estimated(seed: int, name: str = "oue", k: int = 20, n: int = 3000) -> Estimate:
    mechanism = sv.mechanism(name, sv.Integers(0, k - 1), epsilon=1)
    values = np.minimum(np.random.default_rng(seed).geometric(0.4, n) - 1, k - 2)
    found: Estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=seed)))
    return found


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (simplex, [0.5, 0.4, 0.1], [0.5, 0.4, 0.1]),
        (simplex, [0.8, 0.6, -0.4], [0.6, 0.4, 0.0]),  # -0.4 goes to 0, then 1.4 is 0.4 too much for two
        (simplex, [2.0, 0.1, 0.1], [1.0, 0.0, 0.0]),
        (simplex, [-1.0, -1.0], [0.5, 0.5]),
        (normalise, [0.8, 0.6, -0.1], [0.7, 0.5, -0.2]),
        (norm_mul, [0.9, 0.3, -0.2], [0.75, 0.25, 0.0]),
        (norm_mul, [-0.1, -0.2], [0.5, 0.5]),
        (lambda v: base_cut(v, np.full(2, 0.1)), [0.197, 0.195], [0.197, 0.0]),  # threshold 1.95996 * 0.1
    ],
)
def test_small_examples(function: Callable[[Floats], Floats], values: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(function(np.array(values)), expected, atol=1e-12)


@given(vectors)
def test_shares_and_idempotence(values: Floats) -> None:
    for function in (simplex, norm_mul, normalise):
        found = function(values)
        assert found.sum() == pytest.approx(1, abs=1e-6)
        assert function is normalise or found.min() >= 0
        np.testing.assert_allclose(function(found), found, atol=1e-9)
        order = np.argsort(values, kind="stable")
        assert (np.diff(found[order]) >= -1e-12).all()
    cut = base_cut(values, np.full(len(values), 0.3))
    np.testing.assert_array_equal(base_cut(cut, np.full(len(values), 0.3)), cut)
    assert set(cut) <= {0.0, *values} and cut.min() >= 0


@given(vectors, st.integers(0, 10**6))
def test_the_simplex_projection_is_the_nearest_point(values: Floats, case: int) -> None:
    found = simplex(values)
    for other in np.random.default_rng(case).dirichlet(np.full(len(values), 0.5), 20):
        # Of a convex set, the nearest point is that from which no other lies in the direction of the values.
        assert (values - found) @ (other - found) <= 1e-9


@given(vectors)
def test_norm_sub_is_the_simplex_projection(values: Floats) -> None:
    """Norm-Sub as it was published: cut the negative values, shift the others until the sum is one, repeat."""
    kept = np.ones(len(values), bool)
    while True:
        shifted = np.where(kept, values + (1 - values[kept].sum()) / kept.sum(), 0)
        if (shifted >= 0).all():
            break
        kept &= shifted > 0
    np.testing.assert_allclose(simplex(values), shifted, atol=1e-9)


@pytest.mark.parametrize("name", [*SHARES, "normalise", "base-cut"])
@pytest.mark.parametrize("oracle", ["oue", "hadamard"])
def test_a_projection_by_name(name: str, oracle: str, seed: int) -> None:
    unbiased = estimated(seed, oracle)
    projected = unbiased.project(name)
    assert projected.decoder.name == name and unbiased.decoder.name == "linear"
    if name in SHARES:
        assert projected.values.sum() == pytest.approx(1) and projected.values.min() >= 0
    np.testing.assert_array_equal(projected.project(name).values, projected.values)
    low, high = unbiased.ci(method="bounded")
    shown = np.clip(projected.values, 0, 1)  # an interval contains the value beside it
    np.testing.assert_array_equal(projected.ci().low, np.minimum(low, shown))
    np.testing.assert_array_equal(projected.ci().high, np.maximum(high, shown))
    whole = unbiased.ci()
    assert (low <= np.clip(whole.low, 0, 1)).all() and (high >= np.clip(whole.high, 0, 1)).all()


def test_base_cut_takes_the_exact_error_at_share_zero(seed: int) -> None:
    unbiased = estimated(seed)
    shares = np.full(20, 1 / 19)
    shares[7] = 0
    error = np.sqrt(unbiased.mechanism.variance(shares, unbiased.n)[7])
    threshold = norm.isf(0.05 / 20) * error
    values = unbiased.values
    np.testing.assert_array_equal(unbiased.project("base-cut").values, np.where(values > threshold, values, 0))
    assert 0 < (values > threshold).sum() < 20


@pytest.mark.parametrize("k", [6, 40])
def test_errors_at_share_zero_of_the_other_shapes(k: int) -> None:
    """From expected counts of a crowd without code 0, the formulas give the predicted variance."""
    table = Table([[5 * UNIT // 8 if y == v else UNIT // 8 for y in range(4)] for v in range(4)])
    general = Mechanism("table", Frequency(sv.Integers(0, 3)), table, "2", CountOutputs())  # type: ignore[arg-type]
    for mechanism in (sv.mechanism("hadamard", sv.Integers(0, k - 1), epsilon=4), general):
        codes = mechanism.channel.inputs
        shares = np.full(codes, 1 / (codes - 1))
        shares[0] = 0
        outputs = range(outputs_of(mechanism.channel) or 0)
        law = np.array([[float(mechanism.channel.likelihood(y, v)) for y in outputs] for v in range(codes)])
        cells = np.round(shares @ law * 1e9).astype(np.int64)
        found = mechanism.estimate(sv.Tally(mechanism, int(cells.sum()), cells)).evidence.null_errors()
        expected = np.sqrt(mechanism.variance(shares, int(cells.sum()))[0])
        assert found[0] == pytest.approx(expected, rel=1e-4)


def test_unknown_projections_are_refused(seed: int) -> None:
    with pytest.raises(sv.ParameterError, match="norm-sub"):
        estimated(seed).project("cone")
    with pytest.raises(sv.ParameterError, match="not a projection"):
        estimated(seed).project("em")
    with pytest.raises(sv.ParameterError, match=r"needs a range for each value by itself; .* Known here: base-cut, ca"):
        estimated(seed).project("range")
