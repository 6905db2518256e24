"""Studies of answers that are round numbers, or times of a day: from the file to the page and to results."""

import json
from datetime import date

import numpy as np
import pytest
from starlette.requests import Request

import sottovoce as sv
from sottovoce.service.pages.participant import participant_page
from sottovoce.study.reading import parse_study

FILE = """\
[study]
name = "sleep-2027"
owner = "Institute of Sleep"
contact = "privacy@example.org"
purpose = "How long people sleep."
analysts = "Two statisticians"
start = 2027-01-01
end = 2027-03-31
unit = "person"
epsilon = "1"
lifetime = "1"
languages = ["en"]

[questions.hours]
ask = "mean"
text = "How many hours do you sleep?"
low = 0
high = 12
step = 0.5
"""
ABOUT = {"unit": "person", "owner": "Institute", "contact": "privacy@example.org", "purpose": "Sleep."}
LOANS = np.repeat([0, 5_000, 10_000, 15_000, 20_000.0], [300, 100, 400, 100, 100])


def test_a_step_goes_from_the_file_to_the_manifest_and_to_the_page() -> None:
    study, mistakes = parse_study(FILE.encode())
    assert study is not None and mistakes == []
    assert study.question("hours").question.domain == sv.Interval(0, 12, step="0.5")
    manifest = study.plan(1_000).manifest()
    assert json.dumps(manifest.spec()).count('"step": "0.5"') == 2 and manifest.from_spec(manifest.spec()) == manifest
    request = Request({"type": "http", "query_string": b"", "headers": []})
    page = participant_page(request, "sleep", manifest, today=date(2027, 1, 1)).body
    assert b'data-low="0" data-high="12" data-step="0.5"' in page
    assert b"in steps of 0.5" in page


@pytest.mark.parametrize("step", ["0", "-1", "0.7", '"often"', "true", "nan"])
def test_a_bad_step_is_one_sentence_at_its_line(step: str) -> None:
    study, mistakes = parse_study(FILE.replace("step = 0.5", f"step = {step}").encode())
    assert study is None
    assert [(one.line, one.what.count("step")) for one in mistakes] == [(19, 1)]
    assert "a number above 0 of which high - low is a multiple" in mistakes[0].what or "must be" in mistakes[0].what


def test_whole_numbers_have_no_other_step() -> None:
    _, mistakes = parse_study(FILE.replace("step = 0.5", "step = 2\nwhole = true").encode())
    assert [one.what for one in mistakes] == ["Whole numbers have the step 1."]


@pytest.mark.slow
def test_a_simulated_study_of_round_answers_holds_the_truth_that_it_shows() -> None:
    domain, parts = sv.Interval(0, 20_000), [0, 5_000, 10_000, 20_000]
    asked = [sv.Asked("loan", sv.Cdf(domain, parts)), sv.Asked("half", sv.Quantile(domain, ["0.5"]), attribute="loan")]
    plan = sv.Study("loans", epsilon=3, questions=asked, **ABOUT).plan(len(LOANS))  # type: ignore[arg-type]
    frames = [sv.simulate_study(plan, {"loan": LOANS}, seed=seed).to_frame() for seed in range(10)]
    shown = [[float(one) for one in frame["truth"]] for frame in frames]
    assert shown == [[0.3, 0.4, 0.8, 1.0, 10_000.0]] * 10
    assert sum(frame["covered"].sum() for frame in frames) >= 45  # of 50; without the share up to 0, 40 at most


@pytest.mark.slow
def test_an_arc_over_the_end_of_a_circle_holds_times_on_either_side() -> None:
    times = np.random.default_rng(1).normal(0.02, 1.2, 3_000) % 24
    study = sv.Study("bed", epsilon=2, questions=[sv.Asked("bedtime", sv.CircularMean(sv.Circle(24)))], **ABOUT)  # type: ignore[arg-type]
    plan = study.plan(3_000, priors={"bedtime": times.tolist()})
    frames = [sv.simulate_study(plan, {"bedtime": times}, seed=seed).to_frame() for seed in range(8)]
    assert any(frame["low"][0] < 24 < frame["high"][0] and frame["truth"][0] < 1 for frame in frames)
    assert all(frame["covered"][0] for frame in frames)
