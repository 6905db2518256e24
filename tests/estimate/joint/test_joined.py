"""Reports about every attribute of a person: RAPPOR-EM, LoPub, place and attribute, against exact laws."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.joint.models import ViewTables, WholeTable, forest, mutual_information, scaled
from sottovoce.protocols.shares.joined import filters, jess, joined
from sottovoce.testing import check_mechanism

RECORD = sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 1)})
WIDE = sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 2), "c": sv.Integers(0, 1)})


@pytest.mark.parametrize(
    ("kinds", "bits", "hashes"), [(None, 3, 1), (("grr", "grr"), 3, 1), (("subset", "bloom"), 4, 2)]
)
def test_joined_reports_keep_the_contract(kinds: tuple[str, ...] | None, bits: int, hashes: int) -> None:
    check_mechanism(joined(RECORD, epsilon=2, kinds=kinds, bits=bits, hashes=hashes))


def test_jess_is_subset_selection_of_both_attributes() -> None:
    mechanism = jess(RECORD, epsilon=2)
    check_mechanism(mechanism)
    assert mechanism.channel.parts[0].outputs == 3 and mechanism.channel.parts[1].outputs == 2
    with pytest.raises(sv.ParameterError, match="a record of two fields"):
        jess(WIDE, epsilon=2)


def test_filters_have_so_many_bits_and_differ() -> None:
    masks = filters(16, 8, 2, 3)
    assert len({*masks}) == 16 and {mask.bit_count() for mask in masks} == {2}
    with pytest.raises(sv.ParameterError, match="16 answers have different filters"):
        filters(16, 4, 2, 0)


@pytest.fixture(scope="module")
def estimate() -> sv.Estimate:
    generator = np.random.default_rng(2)
    a = generator.integers(0, 3, 40_000)
    b = np.where(generator.random(40_000) < 0.6, a, generator.integers(0, 3, 40_000))
    c = generator.integers(0, 2, 40_000)
    people = [dict(zip("abc", map(int, row), strict=True)) for row in zip(a, b, c, strict=True)]
    mechanism = joined(WIDE, epsilon=6, bits=4, hashes=2)
    return mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=3)))


TRUTH = np.full((3, 3), 0.4 / 9) + np.eye(3) * 0.2


def test_unbiased_tables_have_intervals(estimate: sv.Estimate) -> None:
    low, high = estimate.table("a", "b").ci(1 - 1e-5)
    assert (low < TRUTH.ravel()).all() and (TRUTH.ravel() < high).all()
    assert estimate.table("a").values == pytest.approx(estimate.table("a", "b").values.reshape(3, 3).sum(axis=1))
    assert np.sqrt(np.diag(estimate.covariance())) == pytest.approx(estimate.std_errors)
    twice = estimate.evidence.pooled([estimate.evidence])
    assert twice.values() == pytest.approx(estimate.values) and twice.n == 2 * estimate.n


@pytest.mark.parametrize("decoder", ["joint-em", "lopub", sv.decoder("lopub", method="lasso"), "latent-classes"])
def test_fits_are_possible_and_closer_than_independence(estimate: sv.Estimate, decoder: object) -> None:
    fitted, alone = estimate.decoded(decoder), estimate.decoded("independence")  # type: ignore[arg-type]
    assert fitted.values.min() >= 0 and fitted.values.sum() == pytest.approx(1)
    far = np.abs(alone.table("a", "b").values - TRUTH.ravel()).sum()
    assert np.abs(fitted.table("a", "b").values - TRUTH.ravel()).sum() < 0.3 * far
    assert fitted.table("b", "a").values.reshape(3, 3) == pytest.approx(fitted.table("a", "b").values.reshape(3, 3).T)
    assert np.array_equal(fitted.std_errors, estimate.std_errors)
    assert list(fitted.synthesize(5, seed=1).columns) == ["a", "b", "c"]


def test_em_has_the_largest_likelihood(estimate: sv.Estimate) -> None:
    """No table that is moved a little has a larger likelihood."""
    tables = estimate.evidence.tables  # type: ignore[attr-defined]
    best, _ = tables.likeliest(("a", "b"), 1e-9, 100_000)
    seen = tables.seen(("a", "b"))

    def likelihood(table: np.ndarray) -> float:
        expected = np.einsum("ab,ay,bz->yz", table, tables.laws[0], tables.laws[1])
        return float((seen * np.log(expected)).sum())

    generator = np.random.default_rng(1)
    for _ in range(50):
        moved = np.abs(best * np.exp(generator.normal(0, 0.02, best.shape)))
        assert likelihood(moved / moved.sum()) <= likelihood(best) + 1e-6


def test_lopub_keeps_dependent_pairs_only(estimate: sv.Estimate) -> None:
    assert "1 dependent pairs" in estimate.decoded("lopub").explain()
    assert "0 dependent pairs" in estimate.decoded(sv.decoder("lopub", degree=1.0)).explain()
    with pytest.raises(sv.ParameterError, match="'method' parameter of lopub"):
        sv.decoder("lopub", method="ols")


def test_a_forest_has_its_pairs() -> None:
    sizes = {"a": 2, "b": 3, "c": 2}
    generator = np.random.default_rng(4)
    singles = {name: generator.dirichlet(np.ones(size) * 4) for name, size in sizes.items()}
    pair = scaled(generator.random((2, 3)), singles["a"], singles["b"])
    assert pair.sum(axis=1) == pytest.approx(singles["a"]) and pair.sum(axis=0) == pytest.approx(singles["b"])
    model = forest(sizes, {("a", "b"): pair}, singles)
    assert isinstance(model, WholeTable)
    assert model.table(("a", "b")) == pytest.approx(pair)
    assert model.table(("c", "a")) == pytest.approx(np.outer(singles["c"], singles["a"]))
    assert mutual_information(np.outer(singles["a"], singles["b"])) == pytest.approx(0, abs=1e-12)


def test_tables_that_no_view_holds_have_the_largest_entropy() -> None:
    """Two pairs with a common attribute: the others are independent given it."""
    generator = np.random.default_rng(5)
    middle = generator.dirichlet(np.ones(3) * 4)
    first, second = (generator.dirichlet(np.ones(2), 3) for _ in range(2))
    whole = np.einsum("b,ba,bc->abc", middle, first, second)
    views = ((("a", "b"), whole.sum(axis=2), 1.0), (("b", "c"), whole.sum(axis=0), 1.0))
    model = ViewTables({"a": 2, "b": 3, "c": 2}, views)
    assert model.table(("a", "b", "c")) == pytest.approx(whole, abs=1e-9)
    assert model.table(("c", "b")) == pytest.approx(whole.sum(axis=0).T)
    with pytest.raises(sv.ParameterError, match="joint distribution"):
        model.draw(1, generator)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": ["bloom"]}, "for each field"),
        ({"bits": 11}, "'bits' parameter"),
        ({"hashes": 8}, "'hashes' parameter"),
    ],
)
def test_joined_reports_that_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        joined(RECORD, epsilon=1, **options)  # type: ignore[arg-type]


def test_too_many_combinations_are_refused() -> None:
    with pytest.raises(sv.ParameterError, match=r"at most 1,048,576 combinations"):
        joined(WIDE, epsilon=1, bits=8)
