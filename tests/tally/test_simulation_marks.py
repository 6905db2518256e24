"""What came from a seed says so: reports, files of every kind, tallies, estimates and what is printed of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.core.domain import Box, Pair, Select
from sottovoce.core.question import Question
from sottovoce.estimate.group_mean.within import group_frequencies
from sottovoce.fast.batch import from_messages
from sottovoce.files.arrow import from_arrow, to_arrow
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.play import State
from sottovoce.protocols.simulate import play_round
from tests.cli.test_files import call

AGES = sv.Integers(0, 9)
ANSWERS = [number % 10 for number in range(200)]
MECHANISMS = {name: sv.mechanism(name, AGES, epsilon=1) for name in ("grr", "oue", "olh", "bernoulli")}
GRR = MECHANISMS["grr"]


def made(name: str, *, simulated: bool) -> Any:
    return MECHANISMS[name].privatize(ANSWERS, seed=1 if simulated else None)


def tally(*, simulated: bool, name: str = "grr") -> sv.Tally:
    found: sv.Tally = MECHANISMS[name].tally(made(name, simulated=simulated))
    return found


# --- reports ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_keep_the_mark_on_every_way(name: str, simulated: bool, tmp_path: Path) -> None:
    mechanism, reports = MECHANISMS[name], made(name, simulated=simulated)
    assert reports.simulated is reports[3:7].simulated is simulated
    batch = to_arrow(reports)
    path = tmp_path / "reports.parquet"
    pq.write_table(pa.Table.from_batches([batch]), path)
    with pa.ipc.new_stream(buffer := io.BytesIO(), batch.schema) as stream:
        stream.write_batch(batch)
    piped = pa.ipc.open_stream(buffer.getvalue()).read_all()
    for batches in ([batch], [batch[5:]], piped.to_batches(), pq.read_table(path).to_batches()):
        assert all(from_arrow(mechanism, one).simulated is simulated for one in batches)
        assert mechanism.tally_batches(batches).simulated is simulated
    assert mechanism.tally_batches(sv.read_reports(path, mechanism)).simulated is simulated
    assert mechanism.tally(reports).simulated is simulated


def test_the_mark_changes_no_report_and_no_fingerprint() -> None:
    reports = made("olh", simulated=True)
    plain = replace(reports, simulated=False)
    assert to_arrow(reports).equals(to_arrow(plain)) and (reports.payloads() == plain.payloads()).all()
    one, other = (MECHANISMS["olh"].tally(batch) for batch in (reports, plain))
    assert one == other and one.fingerprint == other.fingerprint and hash(one) == hash(other)


def test_messages_of_devices_are_no_simulation() -> None:
    assert not from_messages(GRR, [GRR.randomize(3)]).simulated


# --- tallies ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("simulated", [True, False])
def test_tallies_keep_the_mark_in_bytes_and_rows(simulated: bool) -> None:
    found = tally(simulated=simulated)
    assert sv.Tally.from_bytes(found.to_bytes()).simulated is simulated
    assert sv.Tally.from_rows(GRR, found.to_rows()).simulated is simulated
    assert ("simulation" in repr(found)) is simulated
    assert ((-2, 1) in list(found.to_rows())) is simulated
    begun = State.first(AskEveryone(found.mechanism)).counted((found,))
    assert resume(checkpoint(begun)).begun[0].simulated is simulated


def test_a_mark_that_is_none_is_refused() -> None:
    data = bytearray(tally(simulated=True).to_bytes())
    assert data[len(b"sottovoce tally 2\n")] == 1
    data[len(b"sottovoce tally 2\n")] = 0  # the digest covers the mark: nobody takes it off by one byte
    with pytest.raises(sv.ReportError, match="damaged"):
        sv.Tally.from_bytes(bytes(data))


def test_a_sum_is_a_simulation_where_any_part_is() -> None:
    parts = [tally(simulated=False), tally(simulated=True), tally(simulated=False)]
    empty = sv.Tally.empty(GRR)
    for a in parts:
        assert (a + empty).simulated is (empty + a).simulated is a.simulated
        for b in parts:
            assert (a + b).simulated is (b + a).simulated is (a.simulated or b.simulated)
            for c in parts:
                left, right = (a + b) + c, a + (b + c)
                assert left == right and left.simulated is right.simulated
    rows = [row for part in parts for row in part.to_rows()]
    assert sv.Tally.from_rows(GRR, rows).simulated and parts[0].update(made("grr", simulated=True)).simulated


def test_tallies_that_are_drawn_are_marked() -> None:
    assert sv.simulate_counts(GRR, np.full(10, 20), seed=1).simulated


# --- estimates --------------------------------------------------------------------------------------------
NUMBERS = sv.Interval(0, 1)
QUESTIONS: dict[type[Question], tuple[sv.Mechanism, Any]] = {
    sv.Frequency: (GRR, ANSWERS),
    sv.Mean: (MECHANISMS["bernoulli"], ANSWERS),
    sv.VectorMean: (sv.mechanism("duchi-linf", Box(0, 1, 3), epsilon=1), [[0.1, 0.2, 0.3]] * 100),
    sv.GroupMean: (
        sv.mechanism("group-bernoulli", Pair(sv.Categories(["f", "m"]), NUMBERS), epsilon=4),
        [("f", 0.2), ("m", 0.7)] * 2_000,
    ),
}


def test_every_question_is_asked() -> None:
    assert {type(mechanism.question) for mechanism, _ in QUESTIONS.values()} == set(QUESTIONS)


def says_simulation(estimate: Any, simulated: bool) -> None:
    assert estimate.simulated is simulated
    assert ("simulation" in repr(estimate)) is simulated
    assert estimate.explain().startswith("This is a simulation") is simulated
    assert ("simulation" in estimate.to_frame().columns) is simulated


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_estimates_say_simulation(question: type[Question], simulated: bool) -> None:
    mechanism, answers = QUESTIONS[question]
    found = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=1 if simulated else None)))
    says_simulation(found, simulated)
    if question is sv.Frequency:
        says_simulation(found.project("simplex"), simulated)
        says_simulation(
            mechanism.estimate(mechanism.privatize(answers, seed=1 if simulated else None), decoder="em"), simulated
        )


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_parts_of_an_estimate_by_group_say_simulation(simulated: bool) -> None:
    pairs = Pair(sv.Categories(["f", "m"]), NUMBERS)
    mechanism = sv.mechanism("group-piecewise", pairs, epsilon=4)
    reports = mechanism.privatize([("f", 0.2), ("m", 0.7)] * 2_000, seed=1 if simulated else None)
    found = mechanism.estimate(mechanism.tally(reports))
    tables = [found.shares, found.sizes, found.sums, found.means, found.variances, found.all_pairs()]
    texts = [found.shares, found.means.project("range"), found.difference("f", "m"), found.test_equality()]
    assert all(part.simulated is simulated for part in (*tables, *texts))
    assert all(("simulation" in part.to_frame().columns) is simulated for part in tables)
    assert all(part.explain().startswith("This is a simulation") is simulated for part in texts)
    assert found.explain().count("This is a simulation") == simulated


@pytest.mark.parametrize("simulated", [True, False])
def test_shares_within_groups_say_simulation(simulated: bool) -> None:
    record = sv.Record({"group": sv.Categories(["f", "m"]), "value": sv.Categories(["no", "yes"])})
    mechanism = sv.mechanism("grr", Select(record, ["group", "value"]), epsilon=4)
    answers = [{"group": "f", "value": "no"}, {"group": "m", "value": "yes"}] * 500
    joint = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=1 if simulated else None)))
    assert ("simulation" in group_frequencies(joint).to_frame().columns) is simulated


@pytest.mark.parametrize("seed", [1, None])
def test_simulated_protocols_say_so(seed: int | None) -> None:
    protocol = sv.AdaptiveMeanRounds(NUMBERS, epsilon=2, participants=400)
    answers = [0.25] * 400
    found = sv.simulate(protocol, answers, seed=seed)
    says_simulation(found["mean"], True)
    assert all(one.simulated for one in play_round(protocol.start(), answers, seed=seed))


def test_a_protocol_of_secure_reports_is_no_simulation() -> None:
    protocol = sv.VarianceRounds(NUMBERS, epsilon=2)
    stage, past = protocol.start(), []
    while hasattr(stage, "arms"):
        past.append(tuple(arm.mechanism.tally(arm.mechanism.privatize([0.25, 0.75] * 300)) for arm in stage.arms))
        stage = protocol.advance(tuple(past))
    for found in stage.values():
        says_simulation(found, False)
    seeded = [tuple(replace(one, simulated=True) for one in past[0]), *past[1:]]
    for found in protocol.advance(tuple(seeded)).values():
        says_simulation(found, True)


# --- the command line -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["reports.parquet", "reports.arrow", "reports.csv"])
def test_files_and_prints_of_the_command_line_say_simulation(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("v\n" + "".join(f"{answer}\n" for answer in ANSWERS))
    path, spec, counted = tmp_path / name, tmp_path / "spec.json", tmp_path / "t.tally"
    asked = [
        "--column",
        "v",
        "--method",
        "olh",
        "--epsilon",
        1,
        "--low",
        0,
        "--high",
        9,
        "--whole",
        "--write-spec",
        spec,
    ]
    for seed in (["--seed", 1], []):
        simulated = bool(seed)
        assert call("privatize", tmp_path / "a.csv", *asked, *seed, "-o", path, "--force").code == 0
        done = call("tally", path, "--spec", spec, "-o", counted, "--force")
        assert done.code == 0 and done.err.count("came from a seed") == simulated
        assert sv.Tally.from_bytes(counted.read_bytes()).simulated is simulated
        for source in (path, counted):
            printed = call("estimate", source, "--spec", spec)
            assert (b"200 simulated reports through olh" in printed.out) is simulated
            assert json.loads(call("estimate", source, "--spec", spec, "--json").out)["simulation"] is simulated
            header = call("estimate", source, "--spec", spec, "--csv").out.split(b"\n")[0]
            assert header.endswith(b",simulation") is simulated
    if name.endswith(".csv"):
        lines = path.read_text().splitlines()
        assert lines[0] == "report,id,mechanism"


def test_rows_of_a_simulation_cannot_join_others_unseen(tmp_path: Path) -> None:
    """Cut, sorted or appended to secure rows, each row still has its mark or one cell too many."""
    (tmp_path / "a.csv").write_text("v\n" + "3\n" * 20)
    asked = ["--column", "v", "--method", "grr", "--epsilon", 1, "--low", 0, "--high", 9, "--whole"]
    spec, files = tmp_path / "spec.json", {True: tmp_path / "s.csv", False: tmp_path / "r.csv"}
    for simulated, path in files.items():
        seed = ["--seed", 1] if simulated else []
        asked_here = [*asked, *seed, "--write-spec", spec, "--force"]
        assert call("privatize", tmp_path / "a.csv", *asked_here, "-o", path).code == 0
    seeded, secure = (files[simulated].read_text().splitlines() for simulated in (True, False))
    assert seeded[0] == "report,mechanism,simulation" and all(row.endswith(",true") for row in seeded[1:])
    both = tmp_path / "both.csv"
    both.write_text("\n".join([seeded[0], *(f"{row},false" for row in secure[1:]), seeded[1]]) + "\n")
    assert sv.Tally.from_bytes(call("tally", both, "--spec", spec, "-o", "-").out).simulated
    both.write_text("\n".join([seeded[0], *(f"{row},false" for row in secure[1:])]) + "\n")
    assert not sv.Tally.from_bytes(call("tally", both, "--spec", spec, "-o", "-").out).simulated
    both.write_text("\n".join([*secure, *seeded[1:]]) + "\n")
    assert call("tally", both, "--spec", spec, "-o", "-").code == 2
