"""Tables of yes/no attributes from parity blocks: variance near the bound, exact laws, published designs by name."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import ParityMap
from sottovoce.core.exact import law
from sottovoce.core.question import question_from_spec
from sottovoce.core.specs import canonical
from sottovoce.estimate.joint.parities import BlockReports, ParityTables, ranks
from sottovoce.estimate.request import Target
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.published import PUBLISHED, calm, covering
from sottovoce.tally.tally import report_cells
from sottovoce.testing import check_mechanism


def bits(count: int) -> sv.Record:
    return sv.Record({f"q{place}": sv.Integers(0, 1) for place in range(count)})


@pytest.mark.parametrize("attributes", [16, 32])
@pytest.mark.parametrize(
    ("ways", "epsilon", "most"), [(2, "1", 1.02), (2, "2", 1.20), (3, "1", 1.18), (3, "2", 1.70), (2, "0.5", 1.07)]
)
def test_the_variance_is_close_to_the_lower_bound(attributes: int, ways: int, epsilon: str, most: float) -> None:
    design = ParityBlocks(bits(attributes), ways, epsilon)
    assert 1 <= design.variance() / design.lower_bound() <= most
    published = ParityBlocks.inp_ht(bits(attributes), ways, epsilon)
    assert design.variance() < 0.7 * published.variance()


def test_the_bound_is_that_of_the_views() -> None:
    views = sv.TableViews(bits(6), list(combinations(dict(bits(6).fields), 2)), 1)
    assert ParityBlocks(bits(6), 2, 1).lower_bound() == pytest.approx(views.lower_bound(), rel=1e-12)
    # Randomized response on pairs is the same design as views of two attributes with equal weights.
    assert ParityBlocks.marg_ps(bits(6), 2, 1).variance() == pytest.approx(
        PUBLISHED["marg-ps"](sv.Joint(bits(6)), 1).variance(), rel=1e-9
    )


@pytest.mark.parametrize("kind", ["cells 1", "cells 2", "even 3", "parity 2"])
def test_every_arm_keeps_the_contract(kind: str) -> None:
    check_mechanism(ParityBlocks(bits(4), 2, 1).block(kind))


def test_blocks_are_numbered_like_combinations() -> None:
    chosen = ParityMap(7, 3, "cells")
    blocks = list(combinations(range(7), 3))
    assert [chosen.block(seed) for seed in range(chosen.seeds)] == blocks
    assert ranks(np.array(blocks), 7).tolist() == list(range(chosen.seeds))
    assert chosen.value(0, 0b1010000) == 0b101
    assert ParityMap(7, 3, "even").value(0, 0b1010000) == 0b10
    assert ParityMap(7, 3, "parity").value(0, 0b1010000) == 0
    with pytest.raises(sv.ParameterError, match="'size' parameter of parities"):
        ParityMap(7, 7, "cells")


def test_mean_and_covariance_over_all_reports() -> None:
    """One report about each block of two kinds: every combination is enumerated, with its exact probability."""
    protocol = ParityBlocks(bits(3), 2, 1, ["cells 1", "even 3"], [1, 1])
    person = {"q0": 1, "q1": 0, "q2": 1}
    mechanisms = [arm.mechanism for arm in protocol.start().arms]
    outcomes = []
    for mechanism in mechanisms:
        code, chosen = mechanism.domain.encode(person), mechanism.channel.map
        for seed in range(chosen.seeds):
            inner = law(mechanism.channel.inner, chosen.value(seed, code))
            outcomes.append([(mechanism, seed, report, float(p)) for (_, report), p in inner.items()])
    names = ("q0", "q2")
    mean, square = np.zeros(4), np.zeros((4, 4))
    for drawn in product(*outcomes):
        cells = {id(one): np.zeros((one.channel.map.seeds, one.channel.map.outputs), np.int64) for one in mechanisms}
        probability = 1.0
        for mechanism, seed, report, own in drawn:
            cells[id(mechanism)][seed, report] += 1
            probability *= own
        tables = reports_of(protocol, [BlockReports.of(one, cells[id(one)].ravel()) for one in mechanisms])
        values = tables.values(names).ravel()
        mean += probability * values
        square += probability * np.outer(values, values)
    assert mean == pytest.approx([0, 0, 0, 1], abs=1e-9)
    truth = reports_of(protocol, [exact_reports(one, person) for one in mechanisms])
    covariance = truth.covariance([(names, np.eye(4).reshape(4, 2, 2))])
    assert covariance == pytest.approx(square - np.outer(mean, mean), abs=1e-9)
    assert truth.variances(names).ravel() == pytest.approx(np.diag(covariance))


def reports_of(protocol: ParityBlocks, reports: list[BlockReports]) -> ParityTables:
    return ParityTables(protocol.question.sizes, ("q0", "q1", "q2"), protocol.ways, tuple(reports))


def exact_reports(mechanism: sv.Mechanism, person: dict[str, int]) -> BlockReports:
    """One report about each block, whose parities are exactly those of the person."""
    channel = mechanism.channel
    chosen, code = channel.map, mechanism.domain.encode(person)  # type: ignore[attr-defined]
    empty = BlockReports.of(mechanism, np.zeros(mechanism.cells, np.int64))
    counts = np.zeros((chosen.seeds, chosen.outputs))
    for seed in range(chosen.seeds):
        counts[seed] = (1 - empty.gap) / chosen.outputs
        counts[seed, chosen.value(seed, code)] += empty.gap
    return BlockReports(chosen, empty.gap, empty.least, counts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def estimate() -> sv.Estimate:
    generator = np.random.default_rng(4)
    kind = generator.random(60_000) < 0.4
    answers = {f"q{place}": (generator.random(60_000) < 0.2 + 0.5 * kind).astype(int) for place in range(5)}
    people = [dict(zip(answers, map(int, row), strict=True)) for row in zip(*answers.values(), strict=True)]
    return sv.simulate(ParityBlocks(bits(5), 3, 2), people, seed=5)["tables"]


def test_the_truth_lies_inside(estimate: sv.Estimate) -> None:
    low, high = estimate.table("q1", "q3").ci(1 - 1e-5)
    truth = np.array([[0.6 * 0.8 * 0.8 + 0.4 * 0.3 * 0.3, 0], [0, 0.6 * 0.04 + 0.4 * 0.49]])
    truth[0, 1] = truth[1, 0] = (1 - truth.sum()) / 2
    assert (low < truth.ravel()).all() and (truth.ravel() < high).all()
    three = estimate.table("q0", "q1", "q3").values.reshape(2, 2, 2)
    assert three.sum(axis=0) == pytest.approx(estimate.table("q1", "q3").values.reshape(2, 2))
    assert estimate.table("q3", "q1").values.reshape(2, 2) == pytest.approx(three.sum(axis=0).T)
    assert not estimate.evidence.normal_is_poor().any()
    ratio = estimate.table("q1", "q3").odds_ratio(1, 1, 0, level=1 - 1e-5)
    assert 1 < ratio.low < truth[0, 0] * truth[1, 1] / truth[0, 1] ** 2 < ratio.high


def test_sums_over_several_tables_have_the_covariance_of_one(estimate: sv.Estimate) -> None:
    """The share of q1 is a sum over the cells of every table that holds q1."""
    tables = estimate.evidence.tables  # type: ignore[attr-defined]
    share = np.array([[[0.0, 0.0], [1.0, 1.0]]])
    one = tables.covariance([(("q1", "q3"), share)])
    both = tables.covariance([(("q1", "q3"), share / 2), (("q1", "q4"), share / 2)])
    assert both == pytest.approx(one, rel=0.02)
    with pytest.raises(sv.ParameterError, match="for the population only"):
        tables.covariance([(("q1", "q3"), share), (("q1", "q4"), share)], Target.SAMPLE)
    assert np.sqrt(np.diag(estimate.covariance())) == pytest.approx(estimate.std_errors, rel=0.05)
    joined = estimate.evidence.pooled([estimate.evidence])
    assert joined.variances(Target.POPULATION) == pytest.approx(estimate.std_errors**2 / 2, rel=1e-6)
    assert joined.values() == pytest.approx(estimate.values)


@pytest.mark.slow
def test_the_fit_reads_parities(estimate: sv.Estimate) -> None:
    fitted, alone = estimate.consistent(classes=3), estimate.decoded("independence")
    truth = 0.6 * 0.04 + 0.4 * 0.49
    assert abs(fitted.table("q1", "q3").values[3] - truth) < abs(alone.table("q1", "q3").values[3] - truth)
    with pytest.raises(sv.ParameterError, match="views"):
        estimate.decoded("calm")


def test_the_planner_takes_parity_blocks() -> None:
    plan = sv.plan(sv.Joint(bits(8)), epsilon=1, participants=10_000)
    assert plan.best.method.startswith("parity-blocks") and plan.best.procedure == ParityBlocks(bits(8), 2, 1)
    named = sv.plan(sv.Joint(bits(8)), epsilon=1, participants=10_000, methods=[*PUBLISHED, "table-views"])
    assert {option.method.split(" ")[0] for option in named.options} == {*PUBLISHED, "table-views"}
    assert all("smallest noise variance" in option.reason for option in named.options)
    mixed = sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 2)})
    assert sv.plan(sv.Joint(mixed), epsilon=1, participants=100).best.method.startswith("table-views")
    with pytest.raises(sv.ParameterError, match="The methods inp-ht do not fit the tables"):
        sv.plan(sv.Joint(mixed), epsilon=1, participants=100, methods=["inp-ht"])


def test_many_tables_are_written_as_their_number_of_fields() -> None:
    question = sv.Joint(bits(32), 3)
    assert len(question.tables) == 4960 and len(canonical(question.spec())) < 4000
    assert question_from_spec(question.spec()) == question
    protocol = ParityBlocks(bits(6), 3, "1.5")
    again = protocol_from_spec(protocol_spec(protocol))
    assert again == protocol and again.start() == protocol.start()
    arm = protocol.start().arms[0].mechanism
    assert report_cells(arm, 0, (0, 0)).sum() == 1


@pytest.mark.parametrize(
    ("kinds", "weights", "said"),
    [
        (["rows 2"], [1], "'kinds' parameter"),
        (["cells 2"], None, "'weights' parameter"),
        (["even 2"], [1], "tell the parities of all sets"),
        (["cells 2", "cells 2"], [1, 1], "which must differ"),
    ],
)
def test_blocks_that_are_refused(kinds: list[str], weights: list[int] | None, said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        ParityBlocks(bits(4), 2, 1, kinds, weights)


def test_fields_with_more_answers_are_refused() -> None:
    with pytest.raises(sv.ParameterError, match="two answers each"):
        ParityBlocks(sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 2)}), 2, 1)


def test_calm_covers_all_pairs_with_larger_tables_where_noise_is_small() -> None:
    names = tuple("abcdefgh")
    for size in (2, 3, 4):
        views = covering(names, size)
        assert {len(view) for view in views} == {size}
        assert all(any({*pair} <= {*view} for view in views) for pair in combinations(names, 2))
    question = sv.Joint(bits(8))
    few, many = calm(question, 1, 1000), calm(question, 4, 10**7)
    assert {len(view) for view in few.views} == {2} and {len(view) for view in many.views} != {2}
