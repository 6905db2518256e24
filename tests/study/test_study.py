"""A whole study: planned, simulated, exported. Predictions are compared with what simulations achieve."""

import json
import math
import re
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

import sottovoce as sv
from sottovoce.core.domain.reasons import ANSWERED
from sottovoce.study.export import LABELS, publication, write_export
from sottovoce.study.goals import read_goals
from sottovoce.study.results import COLUMNS
from sottovoce.study.sharing import shrinkage

pytestmark = pytest.mark.slow

ABOUT = {
    "unit": "person",
    "owner": "Institute",
    "contact": "privacy@example.org",
    "purpose": "How people sleep.",
}
HOURS = sv.Asked("hours", sv.Mean(sv.Interval(0, 14)), missing=("don't know",), unit="hours")
SMOKER = sv.Asked("smoker", sv.Frequency(sv.Categories(["yes", "no"])), missing=("refused",))
AGE = sv.Asked("age", sv.Mean(sv.Integers(18, 100)), share=2)
RANKS = sv.Asked("rank", sv.Frequency(sv.Integers(1, 5)))


def study(*asked, epsilon=1):
    return sv.Study("sleep", epsilon=epsilon, questions=list(asked), **ABOUT)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    n = 30_000
    return pd.DataFrame(
        {
            "hours": np.where(rng.random(n) < 0.1, np.nan, np.clip(rng.normal(7, 1.5, n), 0, 14)),
            "smoker": rng.choice(["yes", "no", "refused"], n, p=[0.25, 0.7, 0.05]),
            "age": rng.integers(18, 101, n),
            "rank": rng.integers(1, 6, n),
        }
    )


@pytest.fixture(scope="module")
def plan():
    return study(HOURS, SMOKER, AGE, RANKS).plan(30_000)


def test_participants_are_split_and_the_budget_is_not(plan):
    assert [one.participants for one in plan.questions] == [6000, 6000, 12000, 6000]
    assert all(one.procedure.claimed == 1 for one in plan.questions)
    assert [branch.name for branch in plan.protocol.branches] == ["hours", "smoker", "age", "rank"]
    manifest = plan.manifest()
    manifest.check()
    weights = {arm.name: arm.weight for arm in manifest.stage.arms}
    assert weights["age"] == 2 * weights["rank"]


def test_reasons_for_giving_no_answer_cost_and_the_plan_says_so(plan):
    hours = plan.question("hours")
    assert hours.without_reasons < hours.half_width
    assert f"+- {hours.without_reasons:.3g}" in hours.text()
    assert plan.question("age").without_reasons is None
    assert 'wider for allowing "don\'t know"' in plan.advice


def test_predicted_errors_are_those_of_simulations(plan, people):
    """The mean standard error of 12 runs lies within 6 % of the prediction, and intervals hold the truth."""
    quantile = 1.959963984540054
    runs = [sv.simulate_study(plan, people, seed=seed).to_frame() for seed in range(12)]
    for asked, measure, label in (
        ("hours", "mean", ""),
        ("age", "mean", ""),
        ("smoker", "share", "yes"),
        ("rank", "share", "3"),
    ):
        lines = [frame.set_index(["question", "measure", "label"]).loc[(asked, measure, label)] for frame in runs]
        expected = plan.question(asked).half_width / quantile
        assert np.mean([line.std_error for line in lines]) == pytest.approx(expected, rel=0.06), asked
    known = pd.concat(runs).dropna(subset=["truth"])
    # About 200 intervals at 95 %; 85 % would be seen with probability above 0.999.
    assert known["covered"].mean() > 0.9


def test_missing_answers_are_bounded(plan, people):
    """Both ends of what the missing answers could hide lie within the stated bounds, noise and all."""
    some = people[:3000]
    hours, silent = some["hours"].mean(), some["hours"].isna().mean()
    yes, refused = ((some["smoker"] == one).mean() for one in ("yes", "refused"))
    held, sizes = [], []
    for seed in range(40):
        frame = sv.simulate_study(plan, some, seed=seed).to_frame().set_index(["question", "measure", "label"])
        mean, share = frame.loc["hours", "mean", ""], frame.loc["smoker", "share", "yes"]
        assert math.isnan(frame.loc[("smoker", "share", "refused"), "could_be_low"])
        ends = (1 - silent) * hours, (1 - silent) * hours + 14 * silent
        held.append(mean.could_be_low <= ends[0] and ends[1] <= mean.could_be_high)
        held.append(share.could_be_low <= yes and yes + refused <= share.could_be_high)
        assert 0 <= mean.could_be_low < mean.could_be_high <= 14
        assert mean.could_be_low < max(0, mean.low) or mean.could_be_low == 0
        sizes.append(share.could_be_high - share.could_be_low)
    # At 95 % fewer than 65 of 80 are seen with probability below 1e-6; bounds without noise hold about half of them.
    assert np.sum(held) >= 65 and np.mean(sizes) < 0.6


def test_a_reason_that_nobody_gave_has_a_true_share_of_zero(plan, people):
    some = people[:3000].dropna().assign(smoker="no")
    frame = sv.simulate_study(plan, some, seed=1).to_frame().set_index(["question", "label"])
    for place in (("hours", "don't know"), ("smoker", "refused"), ("smoker", "yes")):
        assert frame.loc[place, "truth"] == 0
    assert frame["truth"].notna().all()


def test_a_distribution_of_few_has_guarded_intervals_and_its_quantiles_are_doubted():
    """Ten reports: normal intervals would hold about 85 % of the shares."""
    asked = sv.Asked("age", sv.Distribution(sv.Interval(18, 100), buckets=8))
    results = sv.simulate_study(study(asked).plan(100), {"age": [40.0] * 10}, seed=1).results
    estimate = results["age"].estimates["age"]
    assert results.doubts == ()
    np.testing.assert_array_equal(estimate.ci(), estimate.ci(method="guarded"))
    with pytest.warns(sv.PoorIntervalWarning, match="poor"):
        estimate.ci(method="normal")
    with pytest.warns(sv.PoorIntervalWarning, match="poor"):
        estimate.quantile([0.5]).ci()


def test_goals_find_participants_and_epsilon():
    asked = study(SMOKER, AGE)
    found = sv.plan_study(asked, goals=["smoker +- 2 points", "age +- 1.5"])
    assert found.solved_for == "participants"
    assert [one.half_width for one in found.questions] == pytest.approx([0.02, 1.5], rel=1e-3)
    more = sv.plan_study(asked, 3 * found.participants, goals=["smoker +- 2 points", "age +- 1.5"])
    assert more.solved_for == "epsilon"
    assert more.epsilon < 1
    assert all(one.half_width <= float(one.goal) * (1 + 1e-9) for one in more.questions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hours", "A goal is a question"),
        ("hours +- 2 points", "does not fit question 'hours'"),
        ("weight +- 1", "no such question"),
        ("hours +- 0", "must be above 0"),
    ],
)
def test_goals_that_make_no_sense(text, words):
    with pytest.raises(sv.ParameterError, match=words):
        read_goals(study(HOURS).question, [text])
    with pytest.raises(sv.ParameterError, match="one goal"):
        read_goals(study(HOURS).question, ["hours +- 1", "hours ± 2"])


def test_answers_become_what_the_domain_takes():
    assert HOURS.answer(7.5) == (ANSWERED, 7.5)
    assert HOURS.answer("don't know") == ("don't know", 0)
    assert SMOKER.answer("yes") == "yes"
    ranked = sv.Asked("rank", sv.Frequency(sv.Integers(1, 5)), missing=("none",))
    assert ranked.answer(3.0) == "3"
    assert ranked.full_question.domain == sv.Categories(["1", "2", "3", "4", "5", "none"])
    weight = sv.Asked("w", sv.GroupMean(sv.Categories(["f", "m"]), sv.Interval(30, 250)), missing=("no",))
    assert weight.answer(("f", 60)) == ("f", 60)
    assert weight.answer("no") == ("no", 30)
    for asked, wrong in ((HOURS, 15), (HOURS, "refused"), (SMOKER, "maybe"), (ranked, 6), (ranked, None)):
        with pytest.raises(sv.DomainError):
            asked.full_question.domain.encode(asked.answer(wrong))


def test_a_simulation_writes_the_export_of_the_real_study(plan, people, tmp_path):
    results = sv.simulate_study(plan, people, seed=1).results
    paths = write_export(results, tmp_path / "out")
    assert [path.name for path in paths] == [
        "codebook.json", "codebook.md", "estimates.R", "estimates.csv", "estimates.dta", "estimates.parquet",
        "estimates.sav", "estimates.sps", "publication.md",
    ]  # fmt: skip
    folder = tmp_path / "out"
    as_csv = pd.read_csv(folder / "estimates.csv")
    table = pq.read_table(folder / "estimates.parquet")
    stata = pd.read_stata(folder / "estimates.dta")
    assert list(as_csv.columns) == table.column_names == list(stata.columns) == list(COLUMNS)
    assert as_csv["estimate"].to_numpy() == pytest.approx(table["estimate"].to_numpy())
    assert stata["estimate"].to_numpy() == pytest.approx(table["estimate"].to_numpy())
    assert table.schema.field("low").metadata[b"label"].decode() == LABELS["low"]
    with pd.read_stata(folder / "estimates.dta", iterator=True) as reader:
        assert reader.variable_labels()["estimate"] == LABELS["estimate"][:80]
    spss, about = pyreadstat.read_sav(folder / "estimates.sav", apply_value_formats=True)
    assert spss["estimate"].to_numpy() == pytest.approx(table["estimate"].to_numpy())
    assert about.column_names_to_labels["low"] == LABELS["low"]
    assert set(spss["question"]) == {f"{name}: {name}" for name in ("hours", "smoker", "age", "rank")}
    book = json.loads((folder / "codebook.json").read_text())
    assert book["questions"]["hours"]["missing"] == ["don't know"]
    assert set(book["columns"]) == {*COLUMNS}


def test_publication_leaves_out_what_is_too_uncertain(people):
    asked = (sv.Asked("age", sv.Mean(sv.Integers(0, 100000))), sv.Asked("naps", sv.Quantile(sv.Integers(0, 7), [0.5])))
    answers = {"age": people["age"].head(40), "naps": [0, 1] * 20}
    results = sv.simulate_study(study(*asked, epsilon="0.1").plan(40), answers, seed=1).results
    with warnings.catch_warnings():
        # A collector computes these in threads: nothing may go through Python's warnings, which would stop it here.
        warnings.simplefilter("error")
        text = publication(results)
    (doubt,) = results.doubts
    with pytest.warns(sv.PoorIntervalWarning) as said:
        results["naps"].estimates["naps"].ci()
    assert doubt == f"naps: {said[0].message}"
    assert doubt in text
    assert "| mean | .. | .. |" in text
    (left_out,) = re.findall(r"(\d+) numbers? (?:is|are) left out", text)
    assert int(left_out) == text.count("| .. | .. |")
    assert text.count("Methods: SIMULATION. 40 participants") == 1


def test_questions_about_one_answer_have_one_heading_in_the_publication(people):
    asked = (
        sv.Asked("age", sv.Mean(sv.Integers(0, 100)), "How old are you?"),
        sv.Asked("old", sv.Range(sv.Integers(0, 100), 60, 100), attribute="age"),
        sv.Asked("bed", sv.CircularMean(sv.Circle(24)), "When do you go to bed?"),
    )
    answers = {"age": people["age"].head(600), "bed": [22.5] * 600}
    prior = {"bed": sv.Prior.uniform(20, 23)}
    text = publication(sv.simulate_study(study(*asked, epsilon=2).plan(600, priors=prior), answers, seed=1).results)
    assert text.count("## How old are you?") == 1 and "| circular mean | " in text


@pytest.mark.parametrize(
    ("ratios", "words"), [((0.71,), "29 %"), ((0.71, 0.8), "20 to 29 %"), ((0.71, 1.0), "up to 29 %"), ((1.02,), "0 %")]
)
def test_how_much_margins_shrink(ratios, words):
    assert shrinkage(*ratios) == words


@pytest.mark.slow
def test_the_mean_of_a_group_without_an_estimate_is_left_out():
    group = sv.Asked("age", sv.GroupMean(sv.Categories(["a", "b"]), sv.Integers(0, 100)))
    answers = {"age": [20, 40] * 10, "age/by": ["a", "b"] * 10}
    text = publication(sv.simulate_study(study(group, epsilon="0.1").plan(20), answers, seed=1).results)
    assert "| mean a | .. | .. |" in text and "nan" not in text


def test_refusals_of_answers(plan, people):
    with pytest.raises(sv.ParameterError, match="no column hours"):
        sv.simulate_study(plan, {"smoker": ["yes"]})
    with pytest.raises(sv.DomainError) as caught:
        sv.simulate_study(plan, people.assign(smoker="perhaps"), seed=1)
    assert "perhaps" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unit": "family"}, "unit of privacy"),
        ({"contact": "nobody"}, "contact"),
        ({"owner": ""}, "owner"),
        ({"lifetime": "0.1"}, "lifetime"),
        ({"start": date(2027, 2, 1), "end": date(2027, 1, 1)}, "end before"),
        ({"questions": {}}, "1 to 200 questions"),
    ],
)
def test_studies_that_are_refused(change, words):
    with pytest.raises(sv.ParameterError, match=words):
        sv.Study("sleep", **{"epsilon": 1, **ABOUT, "questions": {"hours": HOURS}, **change})
