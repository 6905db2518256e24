"""Experiments in study files: read, planned, simulated, compared, and never added."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from scipy.special import ndtri

import sottovoce as sv
from sottovoce.client.tick import Untimed
from sottovoce.core.domain import Pair
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange.experiment import ExperimentArm
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.specs import canonical
from sottovoce.study.display.experiment import comparison_sentence, crowd_sentence, study_cards
from sottovoce.study.display.findings import Verdict
from sottovoce.study.documents.report import ReportDocument
from sottovoce.study.dossier.write import audited_facts, document_parts
from sottovoce.study.effects import effect_texts
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.study.experiments.comparisons import compared_arms
from sottovoce.study.experiments.planned import experiment_texts, people_in_arms, watched_difference
from sottovoce.study.export import codebook_text, publication, write_export
from sottovoce.study.questions import study_question
from sottovoce.study.reading import check_study, parse_study
from sottovoce.study.simulating import drawn_in_arms, simulate_study
from sottovoce.study.words import LANGUAGES, words
from tests.service.studies import TODAY

ROOT = Path(__file__).parents[3]
SOURCE = """[study]
name = "reminder"
owner = "A health office"
contact = "privacy@example.org"
purpose = "Which reminder helps."
unit = "person"
epsilon = "4"
participants = 6000

[experiment.usual]
share = 2

[experiment.new]
text = "Your pharmacy vaccinates without an appointment."

[questions.plans]
ask = "frequency"
text = "Do you plan it?"
categories = ["yes", "no"]

[population.plans]
shares = { yes = 0.4 }

[experiment.new.population.plans]
shares = { yes = 0.6 }
"""
HOURS = """
[questions.hours]
ask = "mean"
text = "How long?"
low = 0
high = 14
unit = "hours"

[population.hours]
law = "normal"
mean = 7
sd = 1.5
"""


def mistakes(source: str) -> list[str]:
    return [str(one) for one in parse_study(source.encode())[1]]


def test_the_arms_of_a_study_file() -> None:
    study = check_study(SOURCE.encode())
    assert study.experiment is not None
    assert [(arm.name, arm.share, arm.text("en")) for arm in study.experiment.arms] == [
        ("usual", 2, ""),
        ("new", 1, "Your pharmacy vaccinates without an appointment."),
    ]
    assert study.experiment.smallest * 3 == 1 and str(study) == "reminder: 1 questions, 2 arms, epsilon 4 per person"
    expected = study.experiment.expected("new", study.population)["plans"]
    assert expected.shares == (0.6, 0.4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('text = "Your', 'texts = "Your'), "line 14: This key is not known here. Do you mean text?"),
        (("share = 2", "share = 0"), "line 11: The 'share' parameter of arm usual must be an integer in [1, 1000]."),
        (('text = "Your pharmacy vaccinates without an appointment."', ""), "No arm of the experiment has a text"),
        (('unit = "person"', 'unit = "event"'), "An experiment compares different people"),
        (("new.population.plans]", "new.population.plan]"), "line 24: This question is not in the study."),
    ],
)
def test_mistakes_are_told_with_their_line(change: tuple[str, str], said: str) -> None:
    assert any(said in one for one in mistakes(SOURCE.replace(*change, 1))), mistakes(SOURCE.replace(*change, 1))


def test_texts_are_in_all_languages_and_directions_have_no_arms() -> None:
    spoken = SOURCE.replace('unit = "person"', 'unit = "person"\nlanguages = ["en", "de"]')
    assert any("The text is not in all languages of the study." in one for one in mistakes(spoken))
    assert any("An experiment has 2 to 20 arms." in one for one in mistakes(SOURCE.replace("experiment.new", "other")))
    circle = SOURCE + '[questions.bed]\nask = "circular-mean"\nperiod = 24\ntext = "When?"\n'
    assert any("cannot be compared between arms" in one for one in mistakes(circle))


def test_the_manifest_draws_question_and_arm_together() -> None:
    """Ids decide, in proportion to the shares; the manifest is read back, and a device may not swap arms."""
    manifest = check_study((SOURCE + HOURS).encode()).plan(6000).manifest()
    assert [arm.name for arm in manifest.stage.arms] == ["plans: usual", "plans: new", "hours: usual", "hours: new"]
    assert manifest.stage.arms[0].weight == 2 * manifest.stage.arms[1].weight
    again = Manifest.from_spec(manifest.content, device=True)
    assert again.hash == manifest.hash and again.facts.experiment == manifest.facts.experiment
    arms = [manifest.experiment_arm(manifest.arm_of(place.to_bytes(16, "big"))).name for place in range(600)]  # type: ignore[union-attr]
    assert abs(arms.count("new") - 200) < 6 * math.sqrt(600 * 2 / 9)
    plain = manifest.spec()
    plain["arms"][0]["name"] = "plans: other"
    with pytest.raises(SpecError, match="none of the arms of the experiment"):
        Manifest.from_spec(canonical(plain))
    plain = manifest.spec()
    plain["study"]["unit"] = "event"
    with pytest.raises(SpecError, match="answered once"):
        Manifest.from_spec(canonical(plain | {"study": plain["study"] | {"lifetime": "20"}}))


def test_a_device_keeps_its_arm_until_it_has_answered() -> None:
    manifest = check_study(SOURCE.encode()).plan(6000).manifest()
    device = sv.Participant(None, tick=Untimed())
    drawn = {device.experiment_arm(manifest) for _ in range(5)}
    assert len(drawn) == 1
    delivery = device.answer(manifest, {"plans": "yes"}, send=False)
    (entry,) = device.reports()
    assert manifest.experiment_arm(entry.arm) in drawn and manifest.arm_of(delivery.id) == entry.arm


def test_the_plan_is_that_of_the_smallest_arm() -> None:
    """Margins, participants and the smallest difference, against the formulas; and there and back by a goal."""
    study = check_study(SOURCE.encode())
    plan = study.plan(6000)
    (one,) = plan.questions
    alone = sv.plan(one.asked.question, epsilon=4, participants=2000, prior=[0.4, 0.6]).best.std_error
    assert one.half_width == pytest.approx(ndtri(0.975) * alone)
    assert people_in_arms(plan) == {"usual": 4000, "new": 2000} and plan.participants == 6000
    reach = float(ndtri(0.975) + ndtri(0.8))
    assert one.smallest_difference == pytest.approx(reach * alone * math.sqrt(1.5))
    assert "usual 4,000, new 2,000 participants" in plan.text() and "is seen with probability 80 %" in plan.text()
    watched = sv.TestOf(one.asked.question, first=1 / 3, watched=True)
    alike = sv.plan(watched, epsilon=4, participants=6000, prior=[0.4, 0.6], methods=[one.procedure.name])  # type: ignore[union-attr]
    assert watched_difference(plan, one) == pytest.approx(alike.difference, rel=0.01)  # type: ignore[attr-defined]
    assert "if you look up to 20 times and stop early (e-value), the difference must be" in plan.text()
    found = sv.plan_study(study, goals=[f"plans differs by {100 * one.smallest_difference:.6f} points"])
    assert abs(found.participants - 6000) <= 6
    plain = (
        SOURCE[: SOURCE.index("[experiment")] + SOURCE[SOURCE.index("[questions") : SOURCE.index("[experiment.new.pop")]
    )
    with pytest.raises(ParameterError, match="has no \\[experiment\\]"):
        sv.plan_study(check_study(plain.encode()), goals=["plans differs by 2 points"])


def simulated(source: str, seed: int = 1, n: int = 6000):  # type: ignore[no-untyped-def]
    study = check_study(source.encode())
    answers = drawn_in_arms(study, dict(study.population), n, seed)
    return simulate_study(study.plan(n), answers, seed=seed)


def test_a_simulation_has_the_truth_of_each_arm_and_of_their_difference() -> None:
    run = simulated(SOURCE + HOURS)
    frame = run.to_frame().set_index(["question", "arm", "measure", "label"])
    assert frame.loc[("plans", "usual", "share", "yes"), "truth"] == pytest.approx(0.4, abs=0.03)
    assert frame.loc[("plans", "new", "share", "yes"), "truth"] == pytest.approx(0.6, abs=0.03)
    row = frame.loc[("plans", "new less usual", "share difference", "yes")]
    assert row["truth"] == pytest.approx(0.2, abs=0.05) and row["covered"] and row["p_value"] < 0.001
    assert frame.loc[("hours", "new less usual", "mean difference", ""), "p_value"] > 0.01
    with pytest.raises(ParameterError, match="its arms are not added: name one of plans~usual, plans~new"):
        run.results["plans"]
    assert run.results["plans~new"].arm == "new"


def test_a_p_value_is_below_five_per_cent_exactly_if_the_interval_leaves_out_zero() -> None:
    three = SOURCE.replace("[questions", '[experiment.third]\ntext = "Third."\n\n[questions', 1).replace(
        '"no"]', '"no", "maybe"]'
    )
    clear = 0
    for seed in range(6):
        for one in simulated(three.replace("yes = 0.6", "yes = 0.44"), seed, 3000).results.comparisons:
            assert one.count == 6 and len(one.lines) == 3
            for line in one.lines:
                assert (line.low > 0 or line.high < 0) == (line.p_value < 0.05)
                clear += line.p_value < 0.05
            assert one.overall is not None
    assert 0 < clear < 36


def test_cards_report_export_and_dossier_tell_the_comparison(tmp_path: Path) -> None:
    run = simulated(SOURCE + HOURS)
    first, *rest = study_cards(run.results, 6000)
    assert first.compares and first.finding.verdict is Verdict.CLEAR and first.key == "plans"
    assert first.finding.headline == "“yes” is more frequent in arm “new” than in arm “usual”"
    assert [one.key for one in rest] == ["plans~usual", "plans~new", "hours", "hours~usual", "hours~new"]
    assert rest[2].finding.verdict is Verdict.CHANCE and "is seen in 80 of 100 such studies" in rest[2].finding.note
    assert "You may stop early" in first.finding.note and "the evidence so far is" in rest[2].finding.note
    watched = run.results.comparisons[0].watched
    assert watched is not None and watched.e_value is not None and watched.e_value > 20
    clear, alike = ([crowd_sentence([one], language) for language in LANGUAGES] for one in run.results.comparisons)
    assert len({*clear, *alike}) == 2 * len(LANGUAGES) and clear[0].startswith("People gave different answers")
    assert alike == [words(language)["results"]["texts_alike"] for language in LANGUAGES]
    assert (
        f"1 of {math.floor(watched.e_value):,} studies" in clear[0] or watched.e_value > 1e6
    )  # a bound, never rounded up
    assert "p = " in comparison_sentence(run.results.comparisons[1]).replace("\u00a0", " ")
    plan = run.results.study.plan(6000)
    page = ReportDocument(run.results, plan.manifest(), TODAY).to_html()
    assert "What people read" in page and "more frequent in arm “new”" in page and "Bonferroni" in page
    names = {path.name for path in write_export(run.results, tmp_path / "export")}
    assert {"estimates.csv", "estimates.parquet", "codebook.md"} <= names
    assert "new less usual" in (tmp_path / "export" / "estimates.csv").read_text()
    assert "Difference of “new” from “usual”" in publication(run.results)
    assert "| new | 1 | Your pharmacy" in codebook_text(run.results)
    dossier = "".join(document_parts(audited_facts(plan, TODAY)))
    assert "if you look up to 20 times and stop early (e-value)" in dossier  # the watched difference of each question
    assert "that 80 of 100 such studies see" in dossier and "Your pharmacy vaccinates" in dossier


def test_every_kind_of_question_is_compared() -> None:
    """Quantiles, shares of a range, means of groups, and distributions by their mean and quartiles."""
    line, groups = sv.Integers(0, 7), sv.Categories(["a", "b"])
    kinds: dict[str, tuple[sv.Question, sv.Mechanism]] = {
        "quantile": (sv.Quantile(line, (0.5,)), sv.mechanism("haar", line, epsilon=4)),
        "range": (sv.Range(line, 4, 7), sv.mechanism("haar", line, epsilon=4)),
        "distribution": (sv.Distribution(line), sv.mechanism("haar", line, epsilon=4)),
        "group-mean": (sv.GroupMean(groups, line), sv.mechanism("group-bernoulli", Pair(groups, line), epsilon=4)),
        "variance": (sv.Variance(line), sv.mechanism("haar", line, epsilon=4)),
    }
    experiment = StudyExperiment((ExperimentArm("usual"), ExperimentArm("new", 1, (("en", "New."),))))
    labels = {"quantile": [""], "range": [""], "distribution": ["", "0.25", "0.5", "0.75"], "group-mean": ["a", "b"]}
    for kind, (question, mechanism) in kinds.items():
        asked = sv.Asked(kind, question, "What?")
        results = {}
        for arm, least in (("usual", 1), ("new", 3)):
            numbers = [least, least + 1, least + 2] * 2000
            answers = [("ab"[place % 2], one) for place, one in enumerate(numbers)] if kind == "group-mean" else numbers
            estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=least)))
            estimate = estimate.answer(question) if kind == "variance" else estimate
            results[arm] = study_question(asked).answered({kind: estimate})
        (one,) = compared_arms(asked, experiment, results, 0.95)
        assert not one.refused and [found.label for found in one.lines] == labels.get(kind, [""])
        sure = min(found.p_value for found in one.lines) < 0.05
        assert sure == (kind != "variance"), kind


def test_the_page_shows_what_the_commands_print() -> None:
    page = (ROOT / "docs" / "guides" / "compare-two-groups.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "message-test.toml").read_text(encoding="utf-8")
    assert example.partition("\n")[2] in page  # so that a reader in an empty folder has the file
    study = check_study(example.encode())
    plan = study.plan(12_000)
    answers = drawn_in_arms(study, dict(study.population), 12_000, 1)
    said = [comparison_sentence(one) for one in simulate_study(plan, answers, seed=1).results.comparisons]
    for line in (*experiment_texts(plan), *said):
        assert line.replace("\u00a0", " ") in page


def test_many_differences_are_shown_by_their_p_values() -> None:
    """Of 24 answers the 15 surest have a row; a number that is not known has none."""
    many = ", ".join(f'"a{place}"' for place in range(24))
    source = (
        SOURCE.replace('["yes", "no"]', f"[{many}]").replace("yes = 0.4", "a3 = 0.4").replace("yes = 0.6", "a3 = 0.6")
    )
    run = simulated(source)
    card = study_cards(run.results, 6000)[0]
    assert card.picture.count("<tr role") == 16 and "The 15 surest of 24 differences." in card.picture
    assert len(card.numbers) == 24 and "“a3” is more frequent in arm “new”" in card.finding.headline


def test_differences_are_shown_inside_their_possible_range() -> None:
    """An unbiased difference may exceed 100 points, or the length of a scale; no page, report or export shows it so."""
    told = SOURCE.replace("yes = 0.4", "yes = 0.0").replace("yes = 0.6", "yes = 1.0").replace("6000", "900")
    hours = HOURS.replace("mean = 7\nsd = 1.5", "mean = 0\nsd = 0.1")
    hours += '\n[experiment.new.population.hours]\nlaw = "normal"\nmean = 14\nsd = 0.1\n'
    results = simulated(told + hours).results
    lines = {one.asked.name: one.lines[0] for one in results.comparisons}
    assert lines["plans"].high > 1 and lines["hours"].high > 14  # the numbers themselves are not changed
    texts = [comparison_sentence(one) for one in results.comparisons]
    texts += [text for one in study_cards(results, 900) if one.compares for _, text in one.rows]
    texts.append(publication(results).split("Difference of", 1)[1])
    shown = ReportDocument(results, results.study.plan(900).manifest(), TODAY).to_html()
    texts += re.findall(r"by \d+[^<]*", shown)
    assert len(texts) >= 7
    for text in texts:
        ends = [float(end) for pair in re.findall(r"(\d+\.?\d*) to (\d+\.?\d*)", text) for end in pair]
        assert ends and max(ends) <= (100 if "point" in text else 14), text
    assert re.search(r"by \d+\spoints \(\d+ to 100\)", texts[0]) and re.search(r"to 14(\.0)?\)", texts[1])


def heads() -> tuple[str, str]:
    """The tables of the study and of its arms."""
    return SOURCE[: SOURCE.index("[experiment")], SOURCE[SOURCE.index("[exp") : SOURCE.index("[questions")]


def test_plans_say_the_smallest_association_and_difference_in_tables() -> None:
    """Cramer's V is that of the test's own plan, and a cell has the margin of the plan."""
    table = (
        '[questions.life]\nask = "table"\ntext = "Habits?"\n[questions.life.attributes.smoker]\ntext = "Smoke?"\n'
        'categories = ["no", "yes"]\n[questions.life.attributes.age]\ntext = "Age?"\nlow = 0\nhigh = 2\nwhole = true\n'
    )
    head, arms = heads()
    plain = check_study((head + table).encode()).plan(6000)
    test = sv.TestOf(plain.questions[0].asked.question, test="independence")
    seen = sv.plan(test, epsilon=4, participants=6000, methods=["table-views"]).difference  # type: ignore[attr-defined]
    (said,) = effect_texts(plain)
    assert said == (
        f"life: two attributes with a Cramer's V of {seen:.2g} are seen to depend on each other with probability 80 %."
    )
    assert "people are too few to see" in effect_texts(check_study((head + table).encode()).plan(20))[0]
    both = check_study((head + arms + table).encode()).plan(6000)
    (one,) = both.questions
    reach = float(ndtri(1 - 0.025 / 6) + ndtri(0.8))  # six cells
    assert one.smallest_difference == pytest.approx(one.half_width / ndtri(0.975) * math.sqrt(1.5) * reach)
    assert "points in a cell (root mean square over all) from the arm usual" in both.text()


@pytest.mark.slow
def test_plans_say_the_smallest_difference_of_the_mean_of_a_distribution() -> None:
    """The error is that of the interval on the dashboard, but for the width of buckets in the larger arm."""
    (head, arms), hours = heads(), HOURS.replace('"mean"', '"distribution"')
    spread = check_study((head + arms + hours).encode())
    plan = spread.plan(6000)
    (one,) = plan.questions
    assert f"a difference of {one.smallest_difference:.3g} hours in the mean from the arm usual" in plan.text()
    run = simulate_study(plan, drawn_in_arms(spread, dict(spread.population), 6000, 1), seed=1)
    low, high = run.results.comparisons[0].parts["mean"].ci()
    width = float(high[0] - low[0]) / 2 / ndtri(0.975)
    reach = float(ndtri(1 - 0.025 / 4) + ndtri(0.8))  # the mean and three quartiles
    assert one.smallest_difference == pytest.approx(reach * width, rel=0.1)
    with pytest.raises(ParameterError, match="ask for a mean or a median"):
        sv.plan_study(spread, goals=["hours differs by 2 points"])
    dossier = "".join(document_parts(audited_facts(plan, TODAY)))
    assert "hours in the mean from the arm usual" in dossier
