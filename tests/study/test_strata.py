"""Strata of a study file: read, served one by one, and weighted by the sizes of the strata."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.question import WithinGroups
from sottovoce.estimate.distribution.evidence import functional_variances
from sottovoce.estimate.distribution.expected import ExpectedDistribution
from sottovoce.estimate.request import Target
from sottovoce.estimate.strata import StrataDistribution, over_strata
from sottovoce.estimate.survey.evidence import PartScores
from sottovoce.estimate.survey.units import Unit, Units
from sottovoce.service import results
from sottovoce.service.stores import open_store
from sottovoce.study.reading import check_study
from sottovoce.study.simulating import simulate_study
from sottovoce.study.strata import source_of, strata_text
from tests.service.studies import collecting, drawn, send

SOURCE = b"""[study]
name = "pain"
title = { en = "Pain", de = "Schmerz" }
owner = "A clinic"
contact = "privacy@example.org"
purpose = "To learn about pain."
unit = "person"
epsilon = "4"
participants = 3000
languages = ["en", "de"]

[strata.city]
people = 80000
label = { en = "City", de = "Stadt" }
[strata.country]
people = 20000

[questions.type]
ask = "frequency"
text = { en = "What are you?", de = "Was?" }
categories = ["lark", "owl"]
"""


def test_a_stratum_is_a_study_of_its_own() -> None:
    whole, city = check_study(SOURCE), check_study(source_of(SOURCE, "city"))
    assert [one.people for one in whole.strata] == [80000, 20000] and not whole.stratum
    assert (city.name, city.family, city.title, city.stratum) == ("pain-city", "pain", "Pain (City)", "city")
    assert city.facts.title_in("de") == "Schmerz (Stadt)"
    assert check_study(source_of(SOURCE, "country")).title == "Pain (country)"
    assert "in clear" in strata_text(whole) and "City (80,000 people)" in strata_text(whole)
    assert "city 2,400, country 600 participants" in whole.plan(3000).text()


def test_the_variance_of_a_weighted_distribution_is_exact() -> None:
    """At the expected tallies of both strata: the sum of squared weights times the exact variance of each."""
    mechanism = sv.mechanism("binned", sv.Integers(0, 3), epsilon=1)
    shares = [np.array([0.7, 0.1, 0.1, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])]
    rows, weights, counts = np.tri(3, 4), (0.8, 0.2), (400_000_000, 900_000_000)
    parts = [ExpectedDistribution.of(mechanism, one).evidence(n) for one, n in zip(shares, counts, strict=True)]
    units = [
        Unit(h, h, 0, n, w, w**2 / n, PartScores(one))
        for h, (w, one, n) in enumerate(zip(weights, parts, counts, strict=True))
    ]
    together = StrataDistribution(tuple(parts), Units(tuple(units), np.zeros(2), False))
    assert np.allclose(together.values(), 0.8 * shares[0] + 0.2 * shares[1])
    exact = sum(
        w**2 * functional_variances(mechanism, rows, one) / n for w, one, n in zip(weights, shares, counts, strict=True)
    )
    assert np.allclose(together.spreads(rows, Target.POPULATION), exact, rtol=1e-6)
    assert together.answer(sv.Quantile(sv.Integers(0, 3), ("0.5",))).values()[0] == 0


def test_medians_and_shares_within_groups_come_from_weighted_cells() -> None:
    groups = sv.Categories(["f", "m"])
    question = WithinGroups(groups, sv.Frequency(sv.Categories(["yes", "no"])))
    mechanism = sv.plan(question, epsilon=8, participants=4000).best.mechanism
    people = {"a": [("f", "yes")] * 1000 + [("m", "no")] * 1000, "b": [("f", "no")] * 3000 + [("m", "no")] * 1000}
    each = {name: mechanism.estimate(mechanism.tally(mechanism.privatize(own, seed=1))) for name, own in people.items()}
    whole = over_strata(each, {"a": 30000, "b": 10000})
    truth = 0.75 * 0.5 / (0.75 * 0.5 + 0.25 * 0.75)  # of all women those who say yes; the mean of shares is 0.75
    low, high = whole.ci(0.9999)
    assert low[0] < truth < high[0] < 0.75 and whole.values[0] == pytest.approx(truth, abs=0.02)
    numbers = sv.Interval(0, 1)
    spread = sv.mechanism("bernoulli", numbers, epsilon=4)
    variance = spread.estimate(spread.tally(spread.privatize([0.5] * 200, seed=1))).answer(sv.Mean(numbers))
    assert over_strata({"a": variance, "b": variance}, {"a": 500, "b": 500}).values[0] == variance.values[0]


def test_a_simulation_weights_strata_of_unequal_samples() -> None:
    study = check_study(SOURCE)
    names = ["city"] * 1000 + ["country"] * 2000
    answers = {"type": ["lark"] * 1000 + ["owl"] * 2000, "stratum": names}
    frame = simulate_study(study.plan(3000), answers, seed=1).to_frame()
    assert frame["truth"].tolist() == pytest.approx([0.8, 0.2], abs=1e-3) and frame["covered"].all()
    with pytest.raises(sv.ParameterError, match="names a stratum that the study does not have"):
        simulate_study(study.plan(3000), {**answers, "stratum": ["sea"] * 3000}, seed=1)


def test_margins_and_clusters_of_a_study_file() -> None:
    people = b"people = 80000\n"
    margins = SOURCE.replace(people, b'margins = { place = ["city", 60000] }\n').replace(
        b"people = 20000\n", b'margins = { place = ["country", 40000] }\n'
    )
    study = check_study(margins)
    assert [one.people for one in study.strata] == [60000, 40000] and "raking" in strata_text(study)
    answers = {"type": ["lark"] * 1000 + ["owl"] * 2000, "stratum": ["city"] * 1000 + ["country"] * 2000}
    frame = simulate_study(study.plan(3000), answers, seed=1).to_frame()
    assert frame["truth"].tolist() == pytest.approx([0.6, 0.4], abs=1e-3) and frame["covered"].all()
    of = b'cluster_of = "all"\n'
    clusters = check_study(SOURCE.replace(people, people + of).replace(b"people = 20000\n", b"people = 20000\n" + of))
    assert "clusters were drawn" in strata_text(clusters)
    wide = simulate_study(clusters.plan(3000), answers, seed=1).to_frame()
    assert (wide["std_error"] > 10 * frame["std_error"]).all()
    for wrong, words in (
        (SOURCE.replace(people, people + of), "Some strata have margins or cluster_of"),
        (margins.replace(b"60000]", b"-1]"), "must be like"),
        (margins.replace(b'country", 40000', b'city", 40000'), "two numbers of people"),
        (margins.replace(b"60000] }", b"60000] }\npeople = 5"), "people and margins"),
        (SOURCE.replace(people, people + b"cluster_of = 5\n"), "must be the name of a stratum"),
    ):
        with pytest.raises(sv.ParameterError, match=words):
            check_study(wrong)


def test_strata_are_served_apart_and_exported_together(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store.db"), create=True) as store, collecting(store) as collector:
        with pytest.raises(sv.ParameterError, match="Write stratum = NAME"):
            collector.create(SOURCE)
        for seed, (stratum, answers) in enumerate({"city": ["lark"] * 600, "country": ["owl"] * 300}.items()):
            name = collector.create(source_of(SOURCE, stratum))
            for batch in drawn(collector.study(name).manifest, answers, seed):
                assert send(collector, name, batch).accepted
        with store.read() as work:
            whole, parts = results.over_strata_of(work, "pain", 0.95)
            with pytest.raises(sv.ParameterError, match="Name one study with strata"):
                results.over_strata_of(work, "other", 0.95)
    frame = whole.to_frame()
    assert set(parts) == {"city", "country"} and (whole.study.name, whole.study.title) == ("pain", "Pain")
    assert frame["low"][0] <= 0.8 <= frame["high"][0] and frame["n"][0] == whole.reports == 900


def test_both_commands_serve_each_stratum_and_export_the_weighted_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    file, place, folder = tmp_path / "pain.toml", str(tmp_path / "store.sqlite"), tmp_path / "results"
    file.write_bytes(SOURCE)
    assert main(["serve", str(file), "--port", "0", "--store", place]) == 0
    printed = capsys.readouterr()
    assert "served once for each of 2 strata" in printed.err
    identities = {about["study"]: about["id"] for about in map(json.loads, printed.out.splitlines())}
    assert set(identities) == {"pain-city", "pain-country"}
    with open_store(place) as store, collecting(store) as collector:
        for seed, (name, answers) in enumerate({"pain-city": ["lark"] * 600, "pain-country": ["owl"] * 300}.items()):
            for batch in drawn(collector.study(identities[name]).manifest, answers, seed):
                assert send(collector, identities[name], batch).accepted
    assert main(["export", place, "--strata", "--study", "pain", "-o", str(folder)]) == 0

    def lark(table: Path) -> dict[str, str]:
        with table.open(encoding="utf-8", newline="") as rows:
            return next(row for row in csv.DictReader(rows) if row["label"] == "lark")

    whole, city = lark(folder / "estimates.csv"), lark(folder / "stratum-city" / "estimates.csv")
    assert float(whole["low"]) <= 0.8 <= float(whole["high"]) and float(city["low"]) <= 1 <= float(city["high"])
    assert (whole["n"], city["n"]) == ("900", "600")


ARMS = b"""
[experiment.usual]
[experiment.new]
text = { en = "Sleep well.", de = "Schlaf gut." }
"""


def test_an_experiment_inside_strata_compares_weighted_arms() -> None:
    study = check_study(SOURCE + ARMS)
    held = {"city": {"usual": (1_000, 300), "new": (1_000, 500)}, "country": {"usual": (900, 810), "new": (900, 450)}}
    rows = [
        (name, arm, "lark" if place < larks else "owl")
        for name, arms in held.items()
        for arm, (people, larks) in arms.items()
        for place in range(people)
    ]
    names, arms, types = map(list, zip(*np.random.default_rng(1).permutation(rows).tolist(), strict=True))
    run = simulate_study(study.plan(3800), {"type": types, "stratum": names, "arm": arms}, seed=1)
    (compared,) = run.results.comparisons
    line, frame = compared.lines[0], run.to_frame().set_index(["arm", "label"])
    assert frame["truth"]["new less usual", "lark"] == pytest.approx(0.8 * 0.2 - 0.2 * 0.4, abs=0.01)
    assert line.low < 0.08 < line.high and frame["covered"]["new less usual", "lark"]
    # The variance is that of four samples, each with the squared weight of its stratum.
    mechanism = run.results["type~new"].estimates["type"].sources[0].mechanism
    cells = [
        (weight, *held[name][arm]) for name, weight in (("city", 0.8), ("country", 0.2)) for arm in ("usual", "new")
    ]
    shares = [(weight, people, larks / people) for weight, people, larks in cells]
    exact = sum(w**2 * mechanism.variance([share, 1 - share], people)[0] for w, people, share in shares)
    assert line.std_error == pytest.approx(exact**0.5, rel=0.05)
    clusters = (SOURCE + ARMS).replace(b"people = 80000\n", b'people = 80000\ncluster_of = "all"\n')
    with pytest.raises(sv.ParameterError, match="not independent"):
        check_study(clusters.replace(b"people = 20000\n", b'people = 20000\ncluster_of = "all"\n'))


def test_arms_of_served_strata_are_exported_together(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store.db"), create=True) as store, collecting(store) as collector:
        for seed, (stratum, answers) in enumerate({"city": ["lark"] * 600, "country": ["owl"] * 300}.items()):
            name = collector.create(source_of(SOURCE + ARMS, stratum))
            for batch in drawn(collector.study(name).manifest, answers, seed):
                assert send(collector, name, batch).accepted
        with store.read() as work:
            whole, parts = results.over_strata_of(work, "pain", 0.95)
    (compared,) = whole.comparisons
    assert compared.name == "new less usual" and compared.lines[0].low < 0 < compared.lines[0].high
    assert sum(one.n for one in compared.estimates) == whole.reports and len(parts["city"].comparisons) == 1
