"""`sottovoce reproduce`: published tables come out again; work is resumed, shared by processes, and repeatable."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.channel import Keyed
from sottovoce.core.channel.facets import readings
from sottovoce.core.coins import SeededCoins
from sottovoce_experiments import experiment, runner
from sottovoce_experiments.catalogue import EXPERIMENTS, find
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.group_means import real as group_real
from sottovoce_experiments.group_means import synthetic as group_synthetic
from sottovoce_experiments.group_means.counts import GroupMoments, Law, draw_means
from sottovoce_experiments.group_means.tables import DEVIATIONS, EPSILONS, ERRORS, RATIOS, required
from sottovoce_experiments.group_means.variants import group_nprr, group_piecewise
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import Job, compute, portable
from sottovoce_experiments.sources import SOURCES

pytestmark = pytest.mark.slow  # linear programs and simulations; the quick part has the contract

computed: list[float] = []


def square(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    if point["x"] == 3 and not computed:
        raise ArithmeticError("the power went off")
    computed.append(point["x"])
    return [{"y": point["x"] ** 2 + np.random.default_rng(seed).random(), "runs": runs, "published": None}]


TOY = Experiment(
    id="toy",
    paper="none",
    title="Squares",
    data=(),
    methods=("squaring",),
    metric="y",
    grid=(("x", (1, 2, 3, 4)),),
    quick=(("x", (1, 2)),),
    runs=5,
    quick_runs=1,
    cell=square,
    figure=Picture("x", "y"),
    columns=("x", "y"),
)


@pytest.fixture(autouse=True)
def fresh() -> None:
    computed[:] = [0.0]  # so that nothing goes wrong


def steps(job: Job, workers: int = 1) -> list[int]:
    return list(job.work(workers))


# --- the runner -------------------------------------------------------------------------------------------------
def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    job = Job(TOY, tmp_path)
    assert steps(job) == [0, 1, 1, 1, 1]
    rows = job.finish()
    assert [row["x"] for row in rows] == [1, 2, 3, 4] and {row["seed"] for row in rows} == {0}
    assert not job.journal.exists()
    assert steps(job) == [4] and job.finish() == rows
    assert len(computed) == 1 + 4


def test_a_crash_loses_the_running_cell_only(tmp_path: Path) -> None:
    job = Job(TOY, tmp_path)
    whole = [compute(TOY, point, 5, 0)[0] for point in TOY.points()]
    working = job.work(1)
    assert [next(working) for _ in range(3)] == [0, 1, 1]
    computed.clear()
    with pytest.raises(ArithmeticError):
        next(working)
    with job.journal.open("a") as file:
        file.write('{"identity": "cut o')
    computed.append(0.0)
    assert steps(job) == [2, 1, 1]
    assert computed == [0.0, 3, 4]
    assert job.finish() == whole


@pytest.mark.parametrize("other", ["seed", "code"])
def test_cells_of_another_run_are_not_taken_over(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Job(TOY, tmp_path)
    steps(first)
    first.finish()
    if other == "code":
        monkeypatch.setattr(experiment, "source_digest", lambda: "of other source")
    again = replace(first, seed=1) if other == "seed" else first
    assert steps(again) == [0, 1, 1, 1, 1]


def test_a_broken_file_is_no_obstacle(tmp_path: Path) -> None:
    job = Job(TOY, tmp_path)
    job.results.write_bytes(b"no parquet")
    assert steps(job)[0] == 0
    assert len(job.finish()) == 4


def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    small = replace(find("group-table-3"), quick_runs=3, quick=(("epsilon", (1.0, 2.0)), ("ratio", (0.5, 0.7))))
    found = []
    for workers in (1, 2):
        job = Job(small, tmp_path / str(workers), 7, True)
        assert sum(steps(job, workers)) == 4
        found.append(job.finish())
    assert found[0] == found[1]
    assert len({row["error"] for row in found[0]}) == 4


class NoProcesses:
    """Stands for a pool whose processes do not come up."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, *_: object) -> None:
        raise BrokenProcessPool("no processes")

    def shutdown(self, **_: object) -> None:
        pass


def test_where_processes_cannot_be_started_the_work_is_done_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    monkeypatch.setattr(runner, "fresh_processes", NoProcesses)
    assert steps(Job(TOY, tmp_path), workers=2) == [0, 1, 1, 1, 1]


def test_without_matplotlib_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sottovoce_experiments.draw", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    job = Job(TOY, tmp_path)
    said = job.draw([])
    assert said is not None and "sottovoce[plot]" in said
    assert not job.picture.exists()


def test_other_processes_can_compute_every_experiment() -> None:
    """What cannot be pickled makes a pool wait for ever."""
    for one in EXPERIMENTS:
        assert pickle.loads(pickle.dumps(portable(one))).grid == one.grid


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_experiments_are_declared_whole(experiment: Experiment) -> None:
    everything = {experiment.key(point) for point in experiment.points()}
    assert {experiment.key(point) for point in experiment.points(quick=True)} <= everything
    assert len(everything) == len(experiment.points())
    assert experiment.published is None or len(experiment.published) == len(everything)
    seeds = {experiment.cell_seed(point, seed) for point in experiment.points() for seed in (0, 1)}
    assert len(seeds) == 2 * len(everything)
    assert len({one.id for one in EXPERIMENTS}) == len(EXPERIMENTS)


# --- the command --------------------------------------------------------------------------------------------------
def test_the_command_prints_rows_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "group-table-3", "--quick", "--json", "--seed", "3", "--folder", str(tmp_path)]
    assert main(command) == 0
    first = capsys.readouterr()
    rows = json.loads(first.out)
    assert len(rows) == 12
    for row in rows:
        assert {"epsilon", "ratio", "error", "std", "published", "runs", "seed", "fingerprint"} <= row.keys()
        assert row["runs"] == 200 and row["seed"] == 3 and row["required"]
        assert row["error"] == pytest.approx(row["published"], rel=0.15)  # 1,600 errors here and there: 2 % each
        assert row["std"] == pytest.approx(row["published_std"], rel=0.2)
    (results,) = tmp_path.glob("*.parquet")
    assert pq.read_table(results).to_pylist() == rows
    (picture,) = tmp_path.glob("*.svg")
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == first.out and "12 of 12 cells were finished before" in again.err


def test_the_command_shows_a_table_to_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "group-errata", "--quick", "--folder", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "nprr, k = 2: up to 1.73 times what is stated (at epsilon 4)." in said and "6.937" in said


def test_the_page_names_every_experiment() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "results/index.md").read_text(encoding="utf-8")
    assert [one.id for one in EXPERIMENTS if f"`{one.id}`" not in page] == []


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [one.id for one in EXPERIMENTS]
    assert {source["file"] for row in rows for source in row["needs"]} == set(SOURCES)
    assert main(["reproduce", "list"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {one.id}: {one.paper}\n" in out for one in EXPERIMENTS if one.paper is not None)
    assert all(f"  {source}\n" in out and "://" in source.where for source in SOURCES.values())


def test_a_run_names_its_paper_and_its_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = replace(TOY, paper="Squares, Table 1", needs=("adult.parquet",))
    monkeypatch.setattr("sottovoce.cli.reproduce.matching", lambda name: [toy])
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    assert main(["reproduce", "toy", "--folder", str(tmp_path)]) == 2
    missing = capsys.readouterr().err
    assert "the file adult.parquet in the folder that SOTTOVOCE_DATA names: adult.parquet is made of Adult" in missing
    assert "https://doi.org/" in missing and missing.endswith("the page docs/results/index.md says how.\n")
    (tmp_path / "adult.parquet").write_bytes(b"")
    monkeypatch.setenv("SOTTOVOCE_DATA", str(tmp_path))
    monkeypatch.setattr(Job, "draw", lambda *_: None)
    assert main(["reproduce", "toy", "--folder", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "sottovoce: toy computes again: Squares, Table 1."
    assert said[1].startswith("sottovoce: The data: adult.parquet is made of Adult (UCI")


def test_the_page_says_where_data_comes_from() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "results/index.md").read_text(encoding="utf-8")
    for source in SOURCES.values():
        assert f"`{source.file}`" in page and source.where in page
    assert {name for one in EXPERIMENTS for name in one.needs} == set(SOURCES)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["table-3"], "Unknown experiment"),
        (["table-*"], "Unknown experiment"),
        (["group-age-by-sex"], "SOTTOVOCE_DATA"),
        (["coverage-shown-real"], "SOTTOVOCE_DATA"),
        (["coverage-*", "--figure", "x.svg"], "for one experiment"),
        (["coverage-widths", "--quick", "--pages", "docs"], "full runs"),
    ],
)
def test_what_cannot_be_run_gets_one_sentence(
    arguments: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    assert main(["reproduce", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == "" and text in told.err and told.err.count("\n") == 1


# --- the tables of the group-means paper ------------------------------------------------------------------------------
def test_published_numbers_are_those_of_the_paper() -> None:
    half = {
        2: (6.39e-2, 2.74e-2, 1.13e-2, 4.28e-3, 1.58e-3),
        8: (2.61e-1, 9.28e-2, 2.97e-2, 7.55e-3, 1.94e-3),
    }
    for groups, numbers in half.items():
        assert tuple(ERRORS[groups][epsilon, 0.5] for epsilon in (0.5, 1, 2, 4, 8)) == numbers
    cells = [(epsilon, ratio) for epsilon in EPSILONS for ratio in RATIOS]
    for table in (*ERRORS.values(), *DEVIATIONS.values()):
        assert list(table) == cells
    assert {d: sum(required(d, *where) for where in cells) for d in ERRORS} == {2: 54, 8: 51, 64: 31}
    # An absolute value of a normal error deviates by 0.756 of its mean, a mixture of several by more.
    stable = [DEVIATIONS[d][where] / ERRORS[d][where] for d in ERRORS for where in cells if required(d, *where)]
    assert min(stable) > 0.7 and np.median(stable) == pytest.approx(0.76, abs=0.03)


def by_participants(channel: Keyed, sample: list[np.ndarray], runs: int, seed: int) -> np.ndarray:
    """Counts and sums of the readings of group 0, from the scalar sampler: one report for every participant."""
    scales = channel.inner.scales()
    assert scales is not None
    numbers = [float(number) for number in readings(scales, channel.inner_outputs)]
    codes = [(group, sv.Interval(-1, 1).encode(float(x))) for group, members in enumerate(sample) for x in members]
    coins, found = SeededCoins(seed), []
    for _ in range(runs):
        count, total = 0, 0.0
        for code in codes:
            coins.begin(channel.words)
            key, within = channel.split(channel.sample(code, coins))
            count, total = (count + 1, total + numbers[within]) if key == 0 else (count, total)
        found.append((count, total))
    return np.array(found)


def statistics(sample: list[np.ndarray], channel: Keyed) -> GroupMoments:
    moments = [np.array([[float(m) for m in channel.inner.moments(sv.Interval(-1, 1).encode(float(x)))] for x in each])
               for each in sample]  # fmt: skip
    noise = np.array([(each[:, 1] - each[:, 0] ** 2).mean() for each in moments])
    return GroupMoments(np.array([float(len(each)) for each in sample]), np.array([each.mean() for each in sample]),
                 np.array([each.var() for each in sample]), noise)  # fmt: skip


@pytest.mark.parametrize("runs", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_counts_are_drawn_like_those_of_participants(runs: int, seed: int) -> None:
    """Sums and sizes have the same means, variances and covariance; so have the estimated means, roughly.

    Five standard errors each, so a false alarm is less than one in a million for one number.
    """
    rng = np.random.default_rng(seed)
    sample = [np.round(rng.uniform(-1, 1, 60), 3), np.full(90, 0.5)]
    channel = group_piecewise("1", "2")
    law, members = Law.of(channel), statistics(sample, channel)
    seen = by_participants(channel, sample, runs, seed)
    kept, arrived = rng.binomial(60, law.own, 200_000), rng.binomial(90, law.other, 200_000)
    variance = kept * (members.noise[0] + (60 - kept) / 59 * members.spread[0]) + arrived * law.neutral
    drawn = np.stack([kept + arrived, kept * members.mean[0] + np.sqrt(variance) * rng.standard_normal(200_000)])
    for power in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1)):
        theirs, ours = (
            (both[0] - drawn[0].mean()) ** power[0] * (both[1] - drawn[1].mean()) ** power[1]
            for both in (seen.T, drawn)
        )
        assert abs(theirs.mean() - ours.mean()) < 5 * ours.std() / np.sqrt(runs), power
    sizes = (seen[:, 0] - 150 * law.other) / (law.own - law.other)
    estimates = seen[:, 1] / law.own / sizes
    many = draw_means(law, members, 100_000, rng)[:, 0]
    for share in (0.25, 0.5, 0.75):
        below = (estimates < np.quantile(many, share)).mean()
        assert abs(below - share) < 5 * np.sqrt(share * (1 - share) / runs), share


@pytest.mark.parametrize("channel", [group_piecewise("0.5", "4"), *(group_nprr("4", k) for k in (1, 2, 3, 8))])
@pytest.mark.parametrize("groups", [2, 64])
@pytest.mark.parametrize("name", group_synthetic.DATA)
def test_statistics_of_the_data_sets_are_those_of_their_values(
    name: str, groups: int, channel: Keyed, seed: int
) -> None:
    found = group_synthetic.crowd(name, groups, channel.inner, np.random.default_rng(seed), size=40)
    rng = np.random.default_rng(seed)
    sample = [group_synthetic.values(name, mean, groups, rng, 40) for mean in group_synthetic.group_means(groups)]
    direct = statistics(sample[:2], channel)
    for each in ("mean", "spread", "noise"):
        assert getattr(found, each)[:2] == pytest.approx(getattr(direct, each), abs=1e-7)
    assert np.abs(found.mean).max() <= 1


STABLE = {3: [(1.0, 0.5), (2.0, 0.2), (4.0, 0.9), (8.0, 0.5), (10.0, 0.3)],
          4: [(1.0, 0.3), (2.0, 0.5), (4.0, 0.1), (8.0, 0.5)],
          5: [(2.0, 0.7), (4.0, 0.5), (8.0, 0.2), (10.0, 0.9)]}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("table", STABLE)
def test_stable_cells_come_within_a_tenth(table: int) -> None:
    experiment = find(f"group-table-{table}")
    for epsilon, ratio in STABLE[table]:
        (row,) = compute(experiment, {"epsilon": epsilon, "ratio": ratio}, 2000, 0)
        assert row["required"] and row["error"] == pytest.approx(row["published"], rel=0.1)


# --- real patients --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "kind"),
    [("250.83", "diabetes"), ("428", "circulatory"), ("785", "circulatory"), ("V57", "other"), ("?", "other"),
     ("486", "respiratory"), ("648", "other"), ("996", "injury"), ("174", "neoplasms"), ("715", "musculoskeletal"),
     ("584", "genitourinary"), ("578", "digestive"), ("788", "genitourinary"), ("276", "other")],
)  # fmt: skip
def test_first_diagnoses_have_a_kind(code: str, kind: str) -> None:
    assert group_real.diagnosis(code) == kind


def test_bands_of_age_have_a_middle() -> None:
    assert [group_real.band_middle(band) for band in ("[0-10)", "[90-100)")] == [5, 95]


@pytest.mark.slow
@pytest.mark.parametrize("id_", [one.id for one in group_real.EXPERIMENTS])
def test_real_groups_are_estimated(id_: str, tmp_path: Path, shared_data: Callable[[str], Path]) -> None:
    path = shared_data(group_real.FILE)
    experiment = replace(find(id_), quick=(("method", ("group-bernoulli", group_real.PUBLISHED)), ("epsilon", (4.0,))))
    job = Job(experiment, tmp_path, quick=True)
    assert sum(steps(job)) == 2
    rows = job.finish()
    question = experiment.cell.keywords["question"]  # type: ignore[attr-defined]
    frame = pq.read_table(path).to_pandas()
    frame["group"] = frame[question.group].map(question.read_group)
    truth = frame[question.value].map(question.read_value).groupby(frame["group"]).agg(["mean", "size"])
    for row in rows:
        assert (row["truth"], row["members"]) == (
            pytest.approx(truth["mean"][row["group"]]),
            truth["size"][row["group"]],
        )
        assert row["median"] < 0.05
    assert job.draw(rows) is None and job.picture.exists()
