"""Numbers of a record that are asked through a wave: the contract, unbiased bins, and the likelihood of the fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad

import sottovoce as sv
from sottovoce.core.domain import Bins
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.evidence import from_tallies
from sottovoce.estimate.joint.waves import WaveReading, joined_buckets
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.testing import check_mechanism

AGES = Bins(sv.Interval(16, 96), [26, 41, 66])  # bins of different widths
PERSON = sv.Record({"sex": sv.Categories(["women", "men"]), "age": AGES})
PROTOCOL = sv.TableViews.for_fit(PERSON, [("sex", "age")], 2, buckets=16)
WAVE = PROTOCOL.view(("age",))


@pytest.fixture(scope="module")
def tallies() -> list[sv.Tally]:
    """Reports of 6,000 people: women are about 35, a third of them exactly 30, and men are about 60."""
    rng = np.random.default_rng(1)
    sexes = rng.integers(0, 2, 6_000)
    ages = np.where(sexes == 0, rng.normal(35, 6, 6_000), rng.normal(60, 8, 6_000)).clip(16, 96).round()
    ages[(sexes == 0) & (rng.random(6_000) < 1 / 3)] = 30
    rows = [{"sex": ["women", "men"][sex], "age": float(age)} for sex, age in zip(sexes, ages, strict=True)]
    arms, place = PROTOCOL.start().arms, rng.integers(0, 3, 6_000)
    return [
        arm.mechanism.tally(arm.mechanism.privatize([rows[i] for i in np.flatnonzero(place == own)], seed=own))
        for own, arm in enumerate(arms)
    ]


def test_the_view_of_a_number_is_a_wave_that_keeps_the_contract() -> None:
    kinds = {arm.name: arm.mechanism.name for arm in PROTOCOL.start().arms}
    assert kinds == {"sex x age": "subset", "sex": "subset", "age": "mixed-wave"}
    check_mechanism(WAVE)
    assert protocol_from_spec(json.loads(json.dumps(protocol_spec(PROTOCOL)))) == PROTOCOL
    assert WAVE.channel.inputs == 16 and sv.TableViews.for_fit(PERSON, [("sex", "age")], 2).waves == ()


def test_buckets_divide_each_bin_evenly() -> None:
    fine: Any = dict(WAVE.domain.parts)["age"]  # type: ignore[attr-defined]
    assert [float(edge) for edge in fine.edges[:5]] == [18.5, 21, 23.5, 26, 29.75]
    bins = joined_buckets(fine, AGES)
    assert (bins.sum(axis=1) == 4).all() and (bins.argmax(axis=0) == np.repeat(range(4), 4)).all()
    with pytest.raises(ParameterError, match="do not make up the bins"):
        joined_buckets(Bins(sv.Interval(16, 96), [27]), AGES)


def test_bins_are_unbiased_with_the_variance_of_the_law() -> None:
    """Expected reports give the true shares; the covariance is that of one report, by enumeration of its law."""
    truth = np.random.default_rng(2).dirichlet(np.ones(16))
    fields = dict(PERSON.fields)
    reading = replace(WaveReading.expected(WAVE, truth, 1), bins=WaveReading.of(WAVE, [0] * WAVE.cells, fields).bins)
    assert reading.shares == pytest.approx(truth.reshape(4, 4).sum(axis=1))
    scores = reading.reading.scores(reading.bins)
    law = reading.law
    assert law.sum(axis=0) == pytest.approx(np.ones(16)) and scores @ law == pytest.approx(reading.bins, abs=1e-9)
    rates = law @ truth
    exact = (scores * rates) @ scores.T - np.outer(scores @ rates, scores @ rates)
    assert reading.covariance(np.eye(4)) == pytest.approx(exact)


def test_the_table_joins_waves_and_cells(tallies: list[sv.Tally]) -> None:
    tables = from_tallies(sv.Joint(PERSON), tallies).tables
    alone = from_tallies(sv.Joint(PERSON), [tallies[0], tallies[1]]).tables
    for names in (("age",), ("sex", "age")):
        assert tables.values(names).sum() == pytest.approx(1)
        rows = np.eye(tables.cells(names)).reshape(-1, *(tables.sizes[name] for name in names))
        covariance = tables.covariance([(names, rows)])  # negative shares of cells and of bins are cut off apart
        assert tables.variances(names).ravel() == pytest.approx(np.diag(covariance), rel=0.03)
        assert tables.variances(names).mean() < alone.variances(names).mean()
    assert len(tables.blocks()) == len(alone.blocks()) == len(tables.blocks_of_views())


def test_slopes_of_the_likelihood_are_numerical_derivatives(tallies: list[sv.Tally]) -> None:
    tables = from_tallies(sv.Joint(PERSON), tallies).tables
    reports = latent.FitReports(tables.sizes, tables.blocks_of_views(), tables.waves)
    rng = np.random.default_rng(3)
    weights, rows = rng.dirichlet(np.ones(2)), reports.layout.softmax(rng.normal(0, 1, (2, 18)))

    def parts(vector: np.ndarray) -> Any:
        return reports.likelihood(vector[:2], vector[2:].reshape(2, -1))

    def slopes(vector: np.ndarray) -> np.ndarray:
        _, of_weights, of_rows = parts(vector)
        return np.concatenate([of_weights, of_rows.ravel()])

    point = np.concatenate([weights, rows.ravel()])
    assert check_grad(lambda vector: parts(vector)[0], slopes, point) < 1e-4 * np.linalg.norm(slopes(point))
    mean = rng.normal(0, 1, 18)
    assert check_grad(lambda one: reports.roughness(one)[0], lambda one: reports.roughness(one)[1], mean) < 1e-4
    assert reports.roughness(np.append([5.0, -5.0], np.ones(16)))[0] == 0  # categories have no neighbours


def test_the_fit_tells_where_numbers_lie_inside_their_bins(tallies: list[sv.Tally]) -> None:
    evidence = from_tallies(sv.Joint(PERSON), tallies)
    estimate: Any = sv.TableViews.advance(PROTOCOL, [tuple(tallies)])["tables"].consistent(classes=3)  # type: ignore[index]
    model = estimate.fit.model
    assert isinstance(model, latent.BucketClasses) and "latent classes" in " ".join(estimate.fit.sentences())
    own = dict(zip(model.buckets.names, model.buckets.shares, strict=True))["age"]
    fine = model.weights @ own
    assert fine.reshape(4, 4).sum(axis=1) == pytest.approx(model.table(("age",)))
    thirty = fine[4:8]  # 26 to 41 in four buckets: a sixth of all people are exactly 30, in the second one
    assert thirty.argmax() in (0, 1) and thirty[:2].sum() > 0.55 * thirty.sum()
    drawn = estimate.synthesize(4_000, seed=5)
    assert drawn["age"].between(16, 96).all() and {*drawn["sex"]} == {"women", "men"}
    means = drawn.groupby("sex")["age"].mean()
    assert means["women"] == pytest.approx(34, abs=4) and means["men"] == pytest.approx(60, abs=4)
    assert evidence.tables.waves[0].divided(0.5, np.random.default_rng(1)).n < evidence.tables.waves[0].n


@pytest.mark.parametrize("waves", [[("sex", 8)], [("age", 1)], [("age", 1000)]])
def test_waves_need_bins_of_a_number(waves: Any) -> None:
    with pytest.raises(ParameterError, match="'waves' parameter of table views"):
        sv.TableViews(PERSON, [("sex", "age")], 1, [("sex", "age"), ("age",), ("sex",)], waves=waves)
    with pytest.raises(ParameterError, match="for each of which there is a view"):
        sv.TableViews(PERSON, [("sex", "age")], 1, waves=[("age", 8)])
