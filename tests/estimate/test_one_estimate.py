"""The one estimate: sources, decoders by name, other questions of the same tally, candidates, plain data, words."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import sottovoce as sv
from scripts.fuzz.brute import report_cells
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Histogram, Subset, Table, Then
from sottovoce.core.domain import Domain
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate import decoder as decoders
from sottovoce.estimate.by_group import ByGroup
from sottovoce.estimate.evidence import Offer
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.of_distribution import OfDistribution
from sottovoce.estimate.show.tables import number
from sottovoce.estimate.sources import EstimateSource, sources_of
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce.testing.statistics import ALPHA

NUMBERS = sv.Integers(-1, 2)
GROUPS = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(0, 10))
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LAW = np.array([0.4, 0.3, 0.2, 0.1])


def counted(name: str, values: object = None, *, domain: Domain = NUMBERS, epsilon: float = 2.0) -> sv.Tally:
    mechanism = sv.mechanism(name, domain, epsilon=epsilon)
    drawn = np.random.default_rng(1).choice([-1, 0, 1, 2], 4000, p=LAW) if values is None else values
    found: sv.Tally = mechanism.tally(mechanism.privatize(drawn, seed=1))
    return found


# --- decoders --------------------------------------------------------------------------------------------------------
def test_a_decoder_is_one_file_that_is_named_like_it() -> None:
    folder = Path(decoders.decoders.__path__[0])
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--"}
    assert (
        {*decoders.names()} == files >= {"linear", "em", "simplex", "norm-sub", "norm-mul", "base-cut", "range", "ball"}
    )
    for name in decoders.names():
        found = sv.decoder(name)
        assert found.name == name and found == sv.decoder(name) and found.spec()["name"] == name
        assert found.needs <= {*Offer}


def test_a_decoder_is_given_by_name_or_as_an_object() -> None:
    tally = counted("grr")
    m = tally.mechanism
    by_name, rough = m.estimate(tally, decoder="em"), m.estimate(tally, decoder=sv.decoder("em", tolerance=1e-3))
    assert by_name.fit.gap < 1e-9 and rough.fit.iterations <= by_name.fit.iterations
    assert rough.decoder.spec() == {"name": "em", "tolerance": 1e-3, "max_iterations": 20_000, "stop": None}
    same = m.estimate(tally, decoder="simplex"), m.estimate(tally).project("simplex")
    assert np.array_equal(same[0].values, same[1].values) and same[0].fit is None
    assert np.array_equal(m.estimate(tally, decoder="linear").values, m.estimate(tally).values)
    for wrong in ("cone", "../em", "Em", 3):
        with pytest.raises(
            sv.ParameterError,
            match="em, ems, fitted, gmm, grid-prior, independence, joint-em, lasso, latent-classes, linear, lopub",
        ):
            m.estimate(tally, decoder=wrong)


@pytest.mark.parametrize(
    ("name", "values", "domain", "known"),
    [
        ("grr", None, NUMBERS, "base-cut, calibrate, em, linear, norm-mul, norm-sub, normalise, simplex, small-sample"),
        ("rappor", None, NUMBERS, "base-cut, calibrate, lasso, linear, norm-mul, norm-sub, normalise, simplex"),
        ("nprr", None, NUMBERS, "linear, range"),
        ("duchi-linf", [[0.5, -0.5]] * 200, sv.Box(-1, 1, dimensions=2), "linear, range"),
        ("priv-unit", [[0.5, -0.5, 0.1]] * 200, sv.Ball(1, 3), "ball, linear"),
        ("group-nprr", [("f", 3.0), ("m", 5.0)] * 500, GROUPS, "linear, range"),
    ],
)
def test_evidence_says_what_decoders_may_need(name: str, values: object, domain: Domain, known: str) -> None:
    tally = counted(name, values, domain=domain)
    found = tally.mechanism.estimate(tally)
    assert ", ".join(n for n in decoders.names() if sv.decoder(n).needs <= found.evidence.offers) == known
    for one in decoders.names():
        if one in known.split(", "):
            decoded = found.decoded(one)
            assert decoded.decoder.name == one and np.array_equal(decoded.std_errors, found.std_errors, equal_nan=True)
        else:
            with pytest.raises(sv.ParameterError, match=f"The decoder {one} needs .* Known here: {known}"):
                found.decoded(one)


# --- other questions ------------------------------------------------------------------------------------------------
def singles(mechanism: Mechanism) -> tuple[Floats, list[Ints]]:
    """The probabilities of all reports for each code, and the cells of each report."""
    laws = [{report: float(p) for (_, report), p in law(mechanism.channel, code).items()} for code in range(4)]
    reports = sorted({report for one in laws for report in one})
    table = np.array([[one.get(report, 0.0) for report in reports] for one in laws])
    return table, [report_cells(mechanism, report) for report in reports]


@pytest.mark.parametrize("name", ["grr", "subset", "oue", "sue", "hadamard"])
def test_means_and_variances_of_counted_numbers_are_unbiased_over_the_law(name: str) -> None:
    """Of one report the mean, of two the variance, over all reports that can be."""
    mechanism = sv.mechanism(name, NUMBERS, epsilon=1)
    rows, cells = singles(mechanism)
    means = [mechanism.estimate(sv.Tally(mechanism, 1, one), sv.Mean(NUMBERS)).value for one in cells]
    np.testing.assert_allclose(rows @ means, [-1, 0, 1, 2], atol=1e-9)
    seen, expected, error = LAW @ rows, 0.0, 0.0
    for a, b in product(range(len(cells)), repeat=2):
        if a <= b:
            pair = mechanism.estimate(sv.Tally(mechanism, 2, cells[a] + cells[b]), sv.Variance(NUMBERS))
            weight = seen[a] * seen[b] * (1 if a == b else 2)
            expected += weight * pair.value
            error += weight * pair.answer(sv.Mean(NUMBERS)).evidence.spread / 2
    mean = LAW @ [-1, 0, 1, 2]
    assert expected == pytest.approx(LAW @ (np.array([-1, 0, 1, 2]) - mean) ** 2, abs=1e-9)
    assert error == pytest.approx((seen @ np.square(means) - mean**2) / 2, rel=1e-9)


def test_the_mean_of_counted_numbers_covers(seed: int) -> None:
    mechanism = sv.mechanism("grr", NUMBERS, epsilon=1)
    rows, _ = singles(mechanism)
    rng, runs = np.random.default_rng(seed), 400
    held = {"mean": 0, "variance": 0}
    for _ in range(runs):
        tally = sv.Tally(mechanism, 3000, rng.multinomial(3000, LAW @ rows))
        for name, question, truth in (("mean", sv.Mean(NUMBERS), 0.0), ("variance", sv.Variance(NUMBERS), 1.0)):
            (low,), (high,) = mechanism.estimate(tally, question).ci(0.95)
            held[name] += bool(low <= truth <= high)
    for name, hits in held.items():
        assert stats.binom.ppf(ALPHA, runs, 0.95) <= hits <= stats.binom.isf(ALPHA, runs, 0.95), name


def test_shares_of_numbers_answer_like_reports_that_are_read_as_numbers() -> None:
    """A report of k-ary randomized response is read in one way only: behind a grid, or as a share of each number."""
    tally = counted("grr")
    found = tally.mechanism.estimate(tally)
    outputs = sv.mechanism("nprr", NUMBERS, epsilon=2, k=3)
    assert outputs.channel.second == tally.mechanism.channel  # the same law behind a grid of the same numbers
    twin = outputs.estimate(sv.Tally(outputs, tally.n, tally.cells))
    for question in (sv.Mean(NUMBERS), sv.Variance(NUMBERS)):
        one, other = found.answer(question), twin.answer(question)
        assert one.value == pytest.approx(other.value) and one.std_errors == pytest.approx(other.std_errors)
    assert found.evidence.answers(sv.Mean(NUMBERS)) and not found.evidence.answers(sv.Mean(sv.Integers(0, 3)))


def test_what_cannot_be_answered_is_refused_in_one_sentence() -> None:
    whole, hashed = counted("nprr"), counted("olh")
    for tally, question, said in (
        (whole, sv.Frequency(NUMBERS), "counted for a mean do not answer this question of kind frequency"),
        (whole, sv.VectorMean(sv.Box(0, 1, dimensions=2)), "do not answer"),
        (hashed, sv.Mean(NUMBERS), "only pairwise independent"),
        (hashed, sv.Mean(sv.Interval(0, 1)), "counted for a share do not answer"),
        (hashed, "mean", "A question must be an object"),
    ):
        with pytest.raises(sv.SottovoceError, match=said):
            tally.mechanism.estimate(tally, question)


def test_one_protocol_answers_mean_and_variance() -> None:
    found = sv.simulate(sv.VarianceRounds(NUMBERS, 3, method="split-eps"), [-1, 0, 1, 2] * 500, seed=1)
    assert found["variance"].answer(sv.Mean(NUMBERS)).value == found["mean"].value
    assert found["variance"].answer(sv.Variance(NUMBERS)).value == found["variance"].value


# --- candidates ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["grr", "oue", "olh", "flh", "hrr", "hadamard", "subset"])
def test_candidates_are_read_like_all_values(name: str) -> None:
    tally = counted(name)
    m = tally.mechanism
    every, some = m.estimate(tally), m.estimate(tally, candidates=[1, -1])
    assert list(some.labels) == [1, -1] and isinstance(some.evidence, SharesEvidence)
    for target in ("population", "sample"):
        assert np.array_equal(some.ci(target=target).low, every.ci(target=target).low[[2, 0]])
    assert np.array_equal(some.values, every.values[[2, 0]]) and np.array_equal(
        some.std_errors, every.std_errors[[2, 0]]
    )
    if name != "olh":
        assert np.allclose(some.covariance(), every.covariance()[np.ix_([2, 0], [2, 0])], rtol=1e-12, atol=0)
    assert (some.project("base-cut").values >= 0).all()
    with pytest.raises(sv.ParameterError, match="which sum to one"):
        some.project("simplex")
    with pytest.raises(sv.ParameterError, match="do not answer"):
        m.estimate(tally, sv.Mean(NUMBERS), candidates=[1])


def test_candidates_are_different_answers_of_a_question_about_shares() -> None:
    tally, mean = counted("grr"), counted("nprr")
    for wrong in ([], [1, 1]):
        with pytest.raises(sv.ParameterError, match="all different"):
            tally.mechanism.estimate(tally, candidates=wrong)
    with pytest.raises(sv.DomainError):
        tally.mechanism.estimate(tally, candidates=[7])
    with pytest.raises(sv.ParameterError, match="for shares only"):
        mean.mechanism.estimate(mean, candidates=[1])


# --- sources, words, plain data ---------------------------------------------------------------------------------------
def test_sources_are_all_mechanisms_with_their_reports() -> None:
    one, two = counted("grr"), counted("oue", epsilon=1.0)
    empty = sv.Tally.empty(sv.mechanism("grr", NUMBERS, epsilon=3))
    assert sources_of([one, two, empty, one]) == (
        EstimateSource(one.mechanism, 8000),
        EstimateSource(two.mechanism, 4000),
    )
    found = sv.simulate(sv.VarianceRounds(NUMBERS, 2, method="split-n"), [0, 1, 2] * 600, seed=2)["variance"]
    assert len(found.sources) == 2 and sum(source.n for source in found.sources) == 1800
    assert found.epsilon == max(source.mechanism.epsilon for source in found.sources)
    with pytest.raises(sv.ParameterError, match="2 mechanisms: use `sources`"):
        _ = found.mechanism


def each_kind() -> Iterator[sv.Estimate]:
    for name, values, domain in (
        ("grr", None, NUMBERS),
        ("nprr", None, NUMBERS),
        ("duchi-linf", [[0.5, -0.5]] * 400, sv.Box(-1, 1, dimensions=2)),
        ("priv-unit", [[0.5, -0.5, 0.1]] * 400, sv.Ball(1, 3)),
        ("group-piecewise", [("f", 3.0), ("m", 5.0)] * 2000, GROUPS),
    ):
        tally = counted(name, values, domain=domain)
        yield tally.mechanism.estimate(tally)
    yield from sv.simulate(sv.VarianceRounds(NUMBERS, 3, method="split-n"), [-1, 0, 1, 2] * 500, seed=1).values()
    groups = sv.mechanism("group-piecewise", GROUPS, epsilon=3)
    few = groups.estimate(groups.tally(groups.privatize([("f", 3.0)] * 30, seed=1)))
    yield from (few, few.sizes, few.shares, few.sums, few.variances)


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_every_estimate_has_tables_words_and_plain_data() -> None:
    for found in each_kind():
        assert isinstance(found, sv.Estimate) and found.simulated
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert len(plain["rows"]) == len(found.values) == len(found.labels) == len(found.to_frame())
        assert [source["n"] for source in plain["sources"]] == [source.n for source in found.sources]
        assert plain["simulation"] is True and plain["decoder"] == {"name": "linear"}
        text = found.explain()
        factor = f"by at most a factor e^{found.epsilon:.4g} = {math.exp(found.epsilon):.3g}"
        assert text.startswith("This is a simulation") and factor in text and found.evidence.noun.split()[0] in text
        assert "Estimate(" in repr(found)


def test_the_odds_between_two_answers_change_by_at_most_the_factor_for_any_prior() -> None:
    """The sentence of `explain` over all priors and reports: posterior odds over prior odds."""
    mechanism = sv.mechanism("grr", NUMBERS, epsilon=1)
    rows, _ = singles(mechanism)
    most = math.exp(mechanism.epsilon)
    for prior in ([0.25] * 4, [0.97, 0.01, 0.01, 0.01], [1e-6, 0.5, 0.3, 0.2 - 1e-6]):
        after = np.array(prior)[:, None] * rows
        for a, b in product(range(4), repeat=2):
            change = after[a] / after[b] / (prior[a] / prior[b])
            assert change.max() <= most * (1 + 1e-9)
    assert rows.max() / rows.min() == pytest.approx(most)  # and some report reaches it


def members(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - {"needs", "evidence", "values", "answer"}


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_an_estimate_offers_what_its_question_answers() -> None:
    group, distribution = members(ByGroup), members(OfDistribution)
    assert {"difference", "sizes", "power"} <= group and {"cdf", "band", "quantile"} <= distribution
    tally = counted("grr")
    shares = tally.mechanism.estimate(tally)
    curve = shares.answer(sv.Distribution(NUMBERS))
    for found in (*each_kind(), shares, curve, curve.cdf(0), curve.decoded("simplex")):
        offered = group if found.evidence.by_group else distribution if found.evidence.distribution else set()
        assert {*dir(found)} & (group | distribution) == offered
        for name in sorted((group | distribution) - offered):
            assert not hasattr(found, name)
            with pytest.raises(sv.ParameterError, match=r"need an estimate of means by group|not of a distribution"):
                getattr(found, name)
        with pytest.raises(AttributeError, match="no attribute 'cy'"):
            _ = found.cy
        copied = copy.copy(found)
        assert type(copied) is type(found) and copied.values is found.values


def test_reports_that_do_not_depend_on_the_answer_have_no_estimate() -> None:
    """A contrast below the rounding of floats is refused in a sentence, however the reports are counted."""
    least, middle, most = UNIT // 4, UNIT // 2, UNIT // 4
    bins = Histogram(3, Table([[least, middle, most], [least, middle - 1, most + 1]]))  # means 1 and 1 + 2**-53
    mechanism = Mechanism("bins", sv.Frequency(sv.Categories(["a", "b", "c"])), bins, Decimal(1), Sums())
    tally = mechanism.tally(mechanism.privatize(["a", "b", "c"] * 9, seed=1))
    with pytest.raises(sv.ParameterError, match="so there is no estimate: choose a larger epsilon"):
        mechanism.estimate(tally)
    with pytest.raises(sv.ParameterError, match="so there is no estimate"):
        mechanism.variance([0.2, 0.3, 0.5], 100)


def test_only_groups_are_compared() -> None:
    tally = counted("grr")
    found = tally.mechanism.estimate(tally)
    for ask in (
        lambda: found.difference("a", "b"),
        lambda: found.all_pairs(),
        lambda: found.test_equality(),
        lambda: found.estimable,
        lambda: found.sizes,
        lambda: found.power(1, "a", "b"),
    ):
        with pytest.raises(sv.ParameterError, match="means by group; this is one of a share"):
            ask()
    groups = counted("group-piecewise", [("f", 3.0), ("m", 5.0)] * 2000, domain=GROUPS)
    means = groups.mechanism.estimate(groups)
    shares = means.answer(sv.Frequency(GROUPS.group))
    assert np.array_equal(shares.values, means.shares.values) and shares.question == sv.Frequency(GROUPS.group)
    assert np.array_equal(shares.answer(means.question).values, means.values)
    assert shares.difference("f", "m").value == means.difference("f", "m").value


def test_numbers_of_a_table_that_are_none() -> None:
    assert [number(value, "{:.3f}") for value in (1.23456, math.nan, -math.inf)] == ["1.235", "not estimable", "-inf"]


def test_a_mask_of_bits_behind_a_numbered_channel_is_estimated() -> None:
    """The reports of the second channel number all masks, so shares are unbiased over the law."""
    channel = Then(Bits(2, 3 * UNIT // 4, UNIT // 4, "mask", 0), Subset(4, 1, 2 * UNIT // 3))
    method = Mechanism("masks", sv.Frequency(sv.Integers(0, 3)), channel, Decimal(5), CountOutputs())
    truth = np.array([0.1, 0.2, 0.3, 0.4])
    rates = truth @ np.array([law_row(channel, code) for code in range(4)])
    whole = 10**9 * rates
    assert method.estimate(Tally(method, 10**9, np.rint(whole).astype(np.int64))).values == pytest.approx(
        truth, abs=1e-7
    )
