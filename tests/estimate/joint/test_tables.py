"""Contingency tables from views: unbiased by enumeration, equal to generic least squares, with exact covariances."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.exact import law
from sottovoce.core.question import question_from_spec
from sottovoce.core.round import Protocol
from sottovoce.design.tables import TableWorkload
from sottovoce.estimate.joint.association import cramers_v, fieller_above_zero
from sottovoce.estimate.joint.evidence import view_of
from sottovoce.estimate.joint.residuals import ContrastVariance, ResidualTables, ViewReading
from sottovoce.estimate.joint.table import TableEvidence
from sottovoce.estimate.joint.weighted import WeightedTables
from sottovoce.estimate.request import Target
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.tally.tally import report_cells
from sottovoce.testing import check_mechanism

RECORD = sv.Record(
    {"sex": sv.Categories(["f", "m"]), "smoker": sv.Categories(["no", "yes"]), "age": sv.Categories(["a", "b", "c"])}
)
ADULT = {"work": 9, "school": 16, "income": 2, "sex": 2, "marriage": 7, "job": 15, "relation": 6, "race": 5}


def cells(size: int) -> sv.Mechanism:
    return sv.mechanism("subset", sv.Integers(0, size - 1), epsilon=1)


# --- the design ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize(("ways", "most"), [(2, 1.12), (3, 1.17)])
def test_the_variance_is_close_to_the_lower_bound(epsilon: str, ways: int, most: float) -> None:
    """Eight attributes with the sizes of the census data: the design that devices get, with its whole weights."""
    record = sv.Record({name: sv.Integers(1, size) for name, size in ADULT.items()})
    protocol = sv.TableViews(record, combinations(ADULT, ways), epsilon)
    assert 1 <= protocol.variance() / protocol.lower_bound() <= most


def test_the_lower_bound_is_that_of_the_prototype() -> None:
    bound = TableWorkload(ADULT, list(combinations(ADULT, 2))).lower_bound(1.0)
    assert bound / 28 == pytest.approx(3047.3, abs=0.05)


def test_wider_views_help_where_attributes_have_few_answers() -> None:
    """Eight yes/no attributes: views of three tell about three pairs each. Its plan takes them, and is unbiased."""
    record = sv.Record({str(place): sv.Integers(0, 1) for place in range(8)})
    pairs = sv.Joint(record).tables
    plain, wide = sv.TableViews(record, pairs, 2), sv.TableViews.wider(record, pairs, 2)
    assert 1 < wide.variance() / wide.lower_bound() < 0.85 * plain.variance() / plain.lower_bound()
    assert all(any({*names} <= {*view} for view in wide.views) for names in wide.tables)
    views = ["table-views", "wider-table-views"]
    best = sv.plan(sv.Joint(record), epsilon=2, participants=1000, methods=views).best
    assert best.method.startswith("wider-table-views") and best.procedure == wide
    people = [{str(place): int(place < number % 9) for place in range(8)} for number in range(40_000)]
    table = sv.simulate(wide, people, seed=1)["tables"].table("2", "5")
    low, high = table.ci(1 - 1e-6)
    truth = [sum(one["2"] == a and one["5"] == b for one in people[:9]) / 9 for a in (0, 1) for b in (0, 1)]
    assert (low < truth).all() and (truth < high).all()


def test_no_other_shares_are_better() -> None:
    generator = np.random.default_rng(5)
    sizes = {"a": 2, "b": 5, "c": 3}
    tables = list(combinations(sizes, 2))
    workload = TableWorkload(sizes, tables)
    spreads = {names: float(size) for names, size in zip(tables, (12, 7, 30), strict=True)}
    best = workload.shares(spreads)
    least = workload.variance(best, spreads)
    for _ in range(200):
        moved = np.array(list(best.values())) * np.exp(generator.normal(0, 0.3, 3))
        other = dict(zip(tables, (moved / moved.sum()).tolist(), strict=True))
        assert workload.variance(other, spreads) >= least * (1 - 1e-9)


def test_every_arm_keeps_the_contract() -> None:
    for arm in sv.TableViews(RECORD, [("sex", "age"), ("smoker", "age")], 1).start().arms:
        check_mechanism(arm.mechanism)


# --- least squares ---------------------------------------------------------------------------------------------------
def random_tables(generator: np.random.Generator) -> ResidualTables:
    """Arbitrary shares that sum to one in three views of three attributes, of different sizes."""
    sizes = {"sex": 2, "smoker": 2, "age": 3}
    views = []
    for names, n in zip(combinations(sizes, 2), (50, 400, 90), strict=True):
        shares = generator.normal(0.2, 0.3, [sizes[name] for name in names])
        shares += (1 - shares.sum()) / shares.size
        views.append(ViewReading(names, shares, n, ContrastVariance.of(cells(shares.size).channel)))
    return ResidualTables(sizes, tuple(views))


def test_values_are_those_of_generic_least_squares() -> None:
    """A dense weighted regression of all reported cells on the cells of the full table."""
    tables = random_tables(np.random.default_rng(3))
    sizes = tables.sizes
    full = list(product(*(range(size) for size in sizes.values())))
    rows, readings, weights = [], [], []
    for view in tables.views:
        places = [list(sizes).index(name) for name in view.names]
        for cell in np.ndindex(*view.shares.shape):
            rows.append([float(tuple(person[place] for place in places) == cell) for person in full])
            readings.append(view.shares[cell])
            weights.append(view.n / (view.law.free + view.law.slope / view.cells))
    design, root = np.array(rows), np.sqrt(np.array(weights))
    joint = np.linalg.pinv(design * root[:, None]) @ (np.array(readings) * root)
    for names in (*combinations(sizes, 2), ("sex",), ("age",)):
        away = tuple(i for i, name in enumerate(sizes) if name not in names)
        expected = joint.reshape(tuple(sizes.values())).sum(away)
        assert tables.values(names) == pytest.approx(expected, abs=1e-9)


def test_a_sum_over_two_tables_has_the_variance_of_one_sum_over_all_fields() -> None:
    """Each of the three views tells something about one of both tables at least."""
    generator = np.random.default_rng(5)
    tables = random_tables(generator)
    sex, age = generator.normal(size=(1, 2)), generator.normal(size=(1, 3))
    apart = tables.covariance([(("sex",), sex), (("age",), age)])
    together = tables.covariance([(("sex", "age"), sex[:, :, None] + age[:, None, :])])
    assert apart == pytest.approx(together, rel=1e-9)


def test_mean_and_covariance_over_all_reports_of_several_views() -> None:
    """One report about each of three views: every combination is enumerated, with its exact probability."""
    protocol = sv.TableViews(RECORD, combinations(dict(RECORD.fields), 2), 1)
    arms = protocol.start().arms
    person = {"sex": "m", "smoker": "yes", "age": "b"}
    laws = [list(law(arm.mechanism.channel, arm.mechanism.domain.encode(person)).items()) for arm in arms]
    names = ("smoker", "age")
    mean, square = np.zeros(6), np.zeros((6, 6))
    for outcome in product(*laws):
        probability, views = 1.0, []
        for arm, ((words, report), own) in zip(arms, outcome, strict=True):
            probability *= float(own)
            views.append(view_of(arm.mechanism, 1, report_cells(arm.mechanism, report, words)))
        values = ResidualTables(protocol.question.sizes, tuple(views)).values(names).ravel()
        mean += probability * values
        square += probability * np.outer(values, values)
    truth = np.zeros((2, 3))
    truth[1, 1] = 1
    assert mean == pytest.approx(truth.ravel(), abs=1e-9)
    codes = [arm.mechanism.domain.encode(person) for arm in arms]
    exact = ResidualTables(
        protocol.question.sizes,
        tuple(
            ViewReading(
                table,
                np.eye(arm.mechanism.channel.inputs)[code].reshape([protocol.question.sizes[name] for name in table]),
                1,
                ContrastVariance.of(arm.mechanism.channel),
            )
            for table, arm, code in zip(protocol.tables, arms, codes, strict=True)
        ),
    )
    covariance = square - np.outer(mean, mean)
    assert exact.covariance([(names, np.eye(6).reshape(6, 2, 3))]) == pytest.approx(covariance, abs=1e-9)
    assert exact.variances(names).ravel() == pytest.approx(np.diag(covariance), abs=1e-9)


def test_variances_are_the_diagonal_of_the_covariance() -> None:
    tables = random_tables(np.random.default_rng(8))
    positive = [np.abs(view.shares) / np.abs(view.shares).sum() for view in tables.views]
    pairs = zip(tables.views, positive, strict=True)
    views = tuple(ViewReading(one.names, shares, one.n, one.law) for one, shares in pairs)
    tables = ResidualTables(tables.sizes, views)
    for names in (("sex", "age"), ("smoker",)):
        count = tables.cells(names)
        rows = np.eye(count).reshape(count, *(tables.sizes[name] for name in names))
        for target in Target:
            covariance = tables.covariance([(names, rows)], target)
            assert tables.variances(names, target).ravel() == pytest.approx(np.diag(covariance), rel=1e-9)


# --- what an analyst sees --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def estimate() -> sv.Estimate:
    generator = np.random.default_rng(11)
    sex = generator.choice(["f", "m"], 60_000)
    smoker = np.where(generator.random(60_000) < np.where(sex == "m", 0.4, 0.2), "yes", "no")
    age = generator.choice(["a", "b", "c"], 60_000, p=[0.2, 0.5, 0.3])
    people = [{"sex": s, "smoker": y, "age": a} for s, y, a in zip(sex, smoker, age, strict=True)]
    return sv.simulate(sv.TableViews(RECORD, sv.Joint(RECORD).tables, 2), people, seed=4)["tables"]


def test_tables_agree_with_their_marginals_in_any_order(estimate: sv.Estimate) -> None:
    table, turned = estimate.table("sex", "smoker"), estimate.table("smoker", "sex")
    assert table.axes.shape == (2, 2) and table.axes.names == ("sex", "smoker")
    assert table.values.reshape(2, 2) == pytest.approx(turned.values.reshape(2, 2).T)
    assert table.covariance()[1, 2] == pytest.approx(turned.covariance()[2, 1])
    assert table.values.reshape(2, 2).sum(axis=1) == pytest.approx(estimate.table("sex").values)
    assert table.values.sum() == pytest.approx(1)
    start = len(table.values)
    assert estimate.values[:start] == pytest.approx(table.values)
    assert estimate.std_errors[:start] == pytest.approx(table.std_errors)


def test_the_truth_lies_inside(estimate: sv.Estimate) -> None:
    low, high = estimate.table("sex", "smoker").ci(0.999)
    truth = np.array([0.4, 0.1, 0.3, 0.2])
    assert ((low < truth) & (truth < high)).all()
    within = estimate.table("sex", "smoker").shares_within("sex")
    low, high = within.ci(0.999)
    assert ((low <= [0.8, 0.2, 0.6, 0.4]) & (high >= [0.8, 0.2, 0.6, 0.4])).all()
    assert low.min() >= 0 and high.max() <= 1
    pairs = within.values.reshape(2, 2)
    assert pairs.sum(axis=1) == pytest.approx([1, 1])
    ratio = estimate.table("sex", "smoker").relative_risk("yes", "m", "f", level=0.999)
    assert ratio.low < 2 < ratio.high and ratio.low < ratio.value < ratio.high < 3
    odds = estimate.table("sex", "smoker").odds_ratio("yes", "m", "f", level=0.999)
    assert odds.low < 8 / 3 < odds.high < 5
    dependent = estimate.table("sex", "smoker").cramers_v()
    assert dependent.low < 0.2182 < dependent.high and dependent.p_value < 1e-6
    free = estimate.table("sex", "age").cramers_v()
    assert free.low == 0 and free.p_value > 1e-3


def test_few_reports_leave_cramers_v_open() -> None:
    """Three people, and 500 people in a table whose rows and columns are mostly noise: no interval that looks exact."""
    pair = sv.TableViews(RECORD, [("sex", "smoker")], 2)
    few = sv.simulate(pair, [{"sex": "f", "smoker": "no", "age": "a"}] * 3, seed=1)["tables"].table("sex", "smoker")
    wide = sv.Record({"a": sv.Integers(0, 4), "b": sv.Integers(0, 5)})
    people = [{"a": number % 5, "b": number % 6} for number in range(500)]
    noisy = sv.simulate(sv.TableViews(wide, [("a", "b")], 1), people, seed=1)["tables"].table("a", "b")
    for table in (few, noisy):
        one = table.cramers_v()
        assert np.isnan(one.value) and (one.low, one.high, one.p_value) == (0, 1, 1)
        assert one.explain() == "Cramer's V cannot be estimated from so few reports: any value from 0 to 1 is possible."


def test_the_interval_of_cramers_v_has_a_width_where_the_sum_of_squares_is_small() -> None:
    """Equal cells without noise: the sum of squares is zero, less than noise explains."""
    views = [ViewReading(("a", "b"), np.full((2, 2), 0.25), 5_000, ContrastVariance.of(cells(4).channel))]
    table = ResidualTables({"a": 2, "b": 2}, tuple(views))
    record = sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 1)})
    one = cramers_v(TableEvidence(sv.Joint(record), table, ("a", "b")), 0.95)
    assert one.low == 0 and one.high > 0.05 and one.value == 0


def test_the_ratios_are_those_of_the_shares(estimate: sv.Estimate) -> None:
    """By hand from the estimated cells; the correction for noise in products is small here."""
    cells = estimate.table("sex", "smoker").values.reshape(2, 2)
    risk = (cells[1, 1] / cells[1].sum()) / (cells[0, 1] / cells[0].sum())
    assert estimate.table("sex", "smoker").relative_risk("yes", "m", "f").value == pytest.approx(risk, rel=0.01)
    odds = cells[1, 1] * cells[0, 0] / (cells[1, 0] * cells[0, 1])
    assert estimate.table("sex", "smoker").odds_ratio("yes", "m", "f").value == pytest.approx(odds, rel=0.01)
    turned = estimate.table("sex", "smoker").odds_ratio("yes", "m", "f", against="no")
    assert turned == estimate.table("sex", "smoker").odds_ratio("yes", "m", "f")


@pytest.mark.parametrize("seed", range(6))
def test_ratios_that_are_not_rejected(seed: int) -> None:
    """The hull of all ratios on a fine grid whose test does not reject."""
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(2, 2))
    errors, (top, bottom) = root @ root.T, generator.normal(1, 2, 2)
    grid = np.concatenate([np.linspace(0, 20, 200_001), np.geomspace(20, 1e7, 2000)])
    spread = errors[0, 0] - 2 * grid * errors[0, 1] + grid**2 * errors[1, 1]
    kept = grid[(top - grid * bottom) ** 2 <= 1.959963984540054**2 * spread]
    low, high = fieller_above_zero(float(top), float(bottom), errors, 0.95)
    if not len(kept):
        assert low == high == 0
        return
    assert low == pytest.approx(kept[0], abs=1e-3)
    assert np.isinf(high) if kept[-1] > 1e6 else high == pytest.approx(kept[-1], rel=1e-2, abs=1e-3)


# --- mistakes, and plain data ----------------------------------------------------------------------------------------
def test_tables_that_were_not_asked_for_are_refused(estimate: sv.Estimate) -> None:
    with pytest.raises(sv.ParameterError, match=r"No report is about sex and smoker and age together"):
        estimate.table("sex", "smoker", "age")
    with pytest.raises(sv.ParameterError, match=r"different names among sex, smoker, age"):
        estimate.table("sex", "income")
    with pytest.raises(sv.ParameterError, match=r"no such answer\. Known: no, yes"):
        estimate.table("sex", "smoker").relative_risk("maybe", "m", "f")
    with pytest.raises(sv.ParameterError, match=r"some, but not all"):
        estimate.table("sex", "smoker").shares_within("sex", "smoker")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tables": [("sex", "income")]}, "names among sex, smoker, age"),
        ({"tables": []}, "at least one list"),
        ({"ways": 4}, "ways"),
    ],
)
def test_questions_that_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        sv.Joint(RECORD, **options)  # type: ignore[arg-type]


def test_large_tables_and_numbers_are_refused() -> None:
    wide = sv.Record({"a": sv.Integers(0, 99), "b": sv.Integers(0, 99), "c": sv.Interval(0, 1)})
    with pytest.raises(sv.ParameterError, match=r"a x b has 10,000 cells; at most 4,096"):
        sv.Joint(wide, tables=[("a", "b")])
    with pytest.raises(sv.ParameterError, match=r"'c' of a table needs at least two listed answers\. Divide"):
        sv.Joint(wide, tables=[("a", "c")])


def test_a_named_table_inside_another_is_dropped() -> None:
    question = sv.Joint(RECORD, tables=[("sex",), ("smoker", "sex"), ("sex", "smoker")])
    assert question.tables == (("sex", "smoker"),)
    assert question_from_spec(question.spec()) == question


def test_the_protocol_is_plain_data() -> None:
    protocol: Protocol = sv.TableViews(RECORD, [("sex", "age"), ("smoker", "age")], "1.5")
    again = protocol_from_spec(protocol_spec(protocol))
    assert again == protocol and again.start() == protocol.start()
    with pytest.raises(sv.ParameterError, match="2 whole numbers"):
        sv.TableViews(RECORD, [("sex", "age"), ("smoker", "age")], 1, weights=(1, 2, 3))
    with pytest.raises(sv.ParameterError, match="one of which has all names of each table"):
        sv.TableViews(RECORD, [("sex", "age"), ("smoker", "age")], 1, [("sex", "age"), ("smoker",)])
    turned = sv.TableViews(RECORD, [("age", "sex")], 1, [("age", "sex"), ("sex",)])
    assert turned.views == (("sex", "age"), ("sex",)) and protocol_from_spec(protocol_spec(turned)) == turned


def test_views_without_reports() -> None:
    protocol = sv.TableViews(RECORD, [("sex", "age"), ("smoker", "age")], 1)
    with pytest.raises(sv.ParameterError, match="No report is about"):
        sv.simulate(protocol, [{"sex": "f", "smoker": "no", "age": "a"}], seed=1)


def test_tables_with_few_reports_are_called_poor() -> None:
    """A view with 40 reports is poor; a pair that a large view holds, too, is not."""
    protocol = sv.TableViews(RECORD, [("sex", "smoker"), ("sex", "age")], 1, weights=(1, 1000))
    people = [{"sex": "f", "smoker": "no", "age": "a"}] * 20_000
    estimate = sv.simulate(protocol, people, seed=3)["tables"]
    assert estimate.evidence.normal_is_poor().tolist() == [True] * 4 + [False] * 6
    with pytest.warns(sv.PoorIntervalWarning, match="of 4 of 10 cells are poor"):
        estimate.ci()
    with pytest.warns(sv.PoorIntervalWarning, match="The normal intervals are poor: too few reports"):
        estimate.table("smoker", "sex").ci()
    assert not estimate.table("sex").evidence.normal_is_poor().any()


def test_only_rare_cells_are_called_poor_where_reports_hardly_lie() -> None:
    """At epsilon 8 few reports mean a cell that nobody is in. Common cells, and their association, are well known."""
    protocol = sv.TableViews(RECORD, [("sex", "age")], 8)
    people = [{"sex": sex, "smoker": "no", "age": age} for sex in "fm" for age in "aab"] * 300
    estimate = sv.simulate(protocol, [*people, {"sex": "f", "smoker": "no", "age": "c"}], seed=3)["tables"]
    table = estimate.table("sex", "age")
    assert table.evidence.normal_is_poor().tolist() == [False, False, True] * 2
    assert estimate.table("age").evidence.normal_is_poor().tolist() == [False, False, True]
    assert estimate.table("age", "sex").evidence.normal_is_poor().tolist() == [False] * 4 + [True] * 2
    found = table.cramers_v()
    assert found.high < 0.12 and found.p_value > 0.001
    one, other = (sv.simulate(protocol, people[:60], seed=seed)["tables"].evidence for seed in (1, 2))
    assert one.normal_is_poor().all()
    assert one.pooled([other]).normal_is_poor().tolist() == [False, True, True] * 2  # 40, 20 and none in each sex


def test_a_rare_answer_does_not_hide_how_the_others_go_together() -> None:
    """An answer of half a percent does not count in Cramer's V, and that is said."""
    protocol = sv.TableViews(RECORD, [("sex", "age")], 3)
    ages = {"f": [("a", 600), ("b", 380), ("c", 10)], "m": [("a", 400), ("b", 590), ("c", 0)]}
    people = [
        {"sex": sex, "smoker": "no", "age": age} for sex, held in ages.items() for age, n in held for _ in range(2 * n)
    ]
    found = sv.simulate(protocol, people, seed=2)["tables"].table("sex", "age").cramers_v()
    truth = abs(600 * 590 - 400 * 380) / math.sqrt(1000 * 970 * 980 * 990)
    assert found.left_out == (("age", "c"),) and found.low < truth < found.high < found.low + 0.2
    assert found.p_value < 1e-4 and found.explain().endswith("Too rare to count: c.")


def test_the_test_of_independence_without_noise_weighs_cells_by_their_errors() -> None:
    """Two by two answers, hardly any noise: the z-score of the difference of two shares."""
    protocol = sv.TableViews(RECORD, [("sex", "smoker")], 18)
    counts = {("f", "no"): 500, ("f", "yes"): 300, ("m", "no"): 580, ("m", "yes"): 270}
    people = [{"sex": a, "smoker": b, "age": "a"} for (a, b), n in counts.items() for _ in range(n)]
    found = sv.simulate(protocol, people, seed=1)["tables"].table("sex", "smoker").cramers_v()
    first, second = 300 / 800, 270 / 850
    apart = (first - second) / math.sqrt(first * (1 - first) / 800 + second * (1 - second) / 850)
    assert found.p_value == pytest.approx(math.erfc(abs(apart) / math.sqrt(2)), rel=0.05)


def test_weighted_tables_have_the_moments_of_weighted_sums() -> None:
    """Two strata of different sizes: values, covariances and precisions by hand from those of each."""
    law, sizes = ContrastVariance.of(cells(6).channel), {"a": 2, "b": 3}
    generator = np.random.default_rng(1)
    parts = [
        (
            weight,
            ResidualTables(sizes, (ViewReading(("a", "b"), generator.dirichlet(np.ones(6)).reshape(2, 3), n, law),)),
        )
        for weight, n in ((0.8, 900), (0.2, 4_000))
    ]
    both, names = WeightedTables(tuple(parts)), ("a", "b")
    rows = generator.normal(size=(2, 2, 3))
    assert both.values(names) == pytest.approx(0.8 * parts[0][1].values(names) + 0.2 * parts[1][1].values(names))
    for target in (Target.POPULATION, Target.SAMPLE):
        spread = [part.covariance([(names, rows)], target) for _, part in parts]
        assert both.covariance([(names, rows)], target) == pytest.approx(0.64 * spread[0] + 0.04 * spread[1])
        every = both.covariance([(names, np.eye(6).reshape(6, 2, 3))], target)
        assert both.variances(names, target).ravel() == pytest.approx(np.diag(every))
    assert 1 / both.precision(("a",)) == pytest.approx(
        0.64 / parts[0][1].precision(("a",)) + 0.04 / parts[1][1].precision(("a",))
    )
    assert both.precision(("a", "c")) == 0 and both.n == 4_900 and both.joined([both]) is None
    singles = {block.names: block for block in both.blocks()}
    assert singles["a",].residual == pytest.approx(both.values(("a",)) - 0.5)
    assert singles["a",].precision == pytest.approx(both.precision(("a",)) * 2)
