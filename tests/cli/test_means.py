"""The command line on files of numbers: the same reports, tallies and estimates as the library, and no clipping."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.core.specs import canonical
from sottovoce.files.answers import Outside, batch
from tests.cli.test_cli import BARE, process
from tests.cli.test_files import call, tallied

pytestmark = pytest.mark.slow

N = 1_500
HOURS = np.round(np.random.default_rng(8).uniform(0, 14, N), 3)
HOURS[:2] = 0, 14
ASKED = ["--low", 0, "--high", 14, "--epsilon", "1.5"]


def built(name: str = "piecewise") -> sv.Mechanism:
    return sv.mechanism(name, sv.Interval(0, 14), epsilon="1.5")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same numbers in every kind of file."""
    folder = tmp_path_factory.mktemp("numbers")
    texts = list(map(repr, HOURS.tolist()))
    (folder / "people.csv").write_text("who,hours\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    table = pa.table({"hours": HOURS})
    pq.write_table(table, folder / "people.parquet", row_group_size=400)
    pq.write_table(pa.table({"hours": [Decimal(text) for text in texts]}), folder / "decimals.parquet")
    pq.write_table(pa.table({"hours": texts}), folder / "texts.parquet")
    with pa.ipc.new_stream(folder / "people.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=333)
    return folder


# --- round trips ------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("name", sv.names(sv.Mean))
def test_a_file_gives_the_tally_and_the_estimate_of_the_library(name: str, raw: Path, tmp_path: Path) -> None:
    mechanism = built(name)
    expected = mechanism.tally(mechanism.privatize(HOURS, seed=5))
    asked = ["--column", "hours", "--method", name, *ASKED, "--seed", 5]
    done = call("privatize", raw / "people.csv", *asked, "-o", tmp_path / "r.csv", "--write-spec", tmp_path / "s.json")
    assert done.code == 0, done.err
    assert (tmp_path / "s.json").read_bytes().strip() == canonical(mechanism.spec())
    spec = ["--spec", tmp_path / "s.json"]
    assert call("tally", tmp_path / "r.csv", *spec, "-o", tmp_path / "out.tally").code == 0
    assert tallied(tmp_path) == expected
    estimate = mechanism.estimate(expected)
    shown = json.loads(call("estimate", tmp_path / "out.tally", "--json").out)
    low, high = estimate.ci()
    assert (shown["question"], shown["method"], shown["n"]) == ("mean", "normal", N)
    assert shown["rows"] == [
        {
            "value": "mean",
            "estimate": estimate.values[0],
            "std_error": estimate.std_errors[0],
            "low": low[0],
            "high": high[0],
        }
    ]


@pytest.mark.parametrize(
    "source", ["people.csv", "people.parquet", "decimals.parquet", "texts.parquet", "people.arrow"]
)
def test_every_kind_of_input_gives_the_same_reports(source: str, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(canonical(built().spec()))
    asked = ["--column", "hours", "--spec", tmp_path / "s.json", "--seed", 2]
    stream = call("privatize", raw / source, *asked, "-o", "-").out
    found = sv.Tally.from_bytes(call("tally", "-", "-o", "-", stdin=stream).out)
    assert found == built().tally(built().privatize(HOURS, seed=2))


def test_whole_numbers_have_a_mean_too(tmp_path: Path) -> None:
    ages = list(range(18, 100)) * 5
    pq.write_table(pa.table({"age": ages}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("age\n" + "\n".join(map(str, ages)) + "\n")
    mechanism = sv.mechanism("hybrid", sv.Integers(18, 99), epsilon=2)
    expected = mechanism.tally(mechanism.privatize(ages, seed=1))
    asked = [
        "--column",
        "age",
        "--mechanism",
        "hybrid",
        "--epsilon",
        2,
        "--low",
        18,
        "--high",
        99,
        "--whole",
        "--seed",
        1,
    ]
    for source in ("a.parquet", "a.csv"):
        stream = call("privatize", tmp_path / source, *asked, "-o", "-").out
        assert sv.Tally.from_bytes(call("tally", "-", "-o", "-", stdin=stream).out) == expected
    (tmp_path / "half.csv").write_text("age\n20\n20.5\n")
    refused = call("privatize", tmp_path / "half.csv", *asked, "-o", "-")
    assert refused.code == 2 and "in row 2 of the data. An answer must be a whole number in [18, 99]." in refused.err


def test_pieces_of_a_file_share_no_words(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.files.reports.MAX_ROWS", 13)
    monkeypatch.setattr("sottovoce.files.answers.ROWS", 101)
    asked = ["--column", "hours", "--method", "staircase", *ASKED, "--seed", 9]
    stream = call("privatize", raw / "people.parquet", *asked, "-o", "-").out
    mechanism = built("staircase")
    expected = mechanism.tally(mechanism.privatize(HOURS, seed=9))
    assert sv.Tally.from_bytes(call("tally", "-", "-o", "-", stdin=stream).out) == expected


# --- estimates --------------------------------------------------------------------------------------------
def test_methods_targets_and_levels_of_a_mean(tmp_path: Path) -> None:
    mechanism = built()
    tally = replace(
        mechanism.tally(mechanism.privatize(HOURS, seed=5)), simulated=False
    )  # which would be a second line
    (tmp_path / "out.tally").write_bytes(tally.to_bytes())
    estimate = mechanism.estimate(tally)
    for method in ("normal", "betting", "hoeffding", "bernstein", "anytime"):
        for target in ("population", "sample"):
            done = call(
                "estimate", tmp_path / "out.tally", "--json", "--interval", method, "--target", target, "--level", "0.9"
            )
            if (method, target) == ("anytime", "sample"):
                assert done.code == 2 and "about the population" in done.err and done.err.count("\n") == 1
                continue
            (row,) = json.loads(done.out)["rows"]
            low, high = estimate.ci(0.9, method=method, target=target)
            assert (row["low"], row["high"]) == (low[0], high[0])
    lines = call("estimate", tmp_path / "out.tally").out.decode().splitlines()
    assert lines[0].split() == ["value", "estimate", "std", "error", "low", "high"] and lines[1].startswith("mean ")
    assert lines[2] == f"{N} reports through piecewise, epsilon 1.5; 0.95 normal interval for the population."
    header, row = call("estimate", tmp_path / "out.tally", "--csv").out.decode().splitlines()
    assert header == "value,estimate,std_error,low,high" and row.startswith("mean,")
    for wrong, said in (
        (["--interval", "exact"], "one of normal, betting"),
        (["--decoder", "simplex"], "Known here: linear, range"),
    ):
        done = call("estimate", tmp_path / "out.tally", *wrong)
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1


# --- what is refused --------------------------------------------------------------------------------------
PRIVATE = "13.98765"
BAD = {
    "above": "14.000001",
    "far above": "9999",
    "below": "-0.5",
    "hardly above": "14.00000000000000000001",
    "no number": "x" + PRIVATE,
    "not a number": "nan",
    "endless": "inf",
    "huge": "1e9999",
    "decimal comma": '"13,5"',
    "grouped": "1_3",
    "hexadecimal": "0x1p1",
    "empty": "",
    "other digits": "\u0663",
    "long": "1" * 150,
}


@pytest.mark.parametrize("cell", BAD.values(), ids=BAD.keys())
def test_bad_cells_are_counted_and_never_shown(cell: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(f"hours\n1\n{cell}\n2.5\n{cell}\n")
    done = call("privatize", tmp_path / "bad.csv", "--column", "hours", "--method", "piecewise", *ASKED, "-o", "-")
    assert done.code == 2 and done.err.count("\n") == 1
    assert "2 of 4 values of column 1 of 1 lie outside" in done.err and "the first in row 2 of the data" in done.err
    assert "An answer must be a number in [0, 14]." in done.err
    assert not cell.strip('"') or cell.strip('"') not in done.err.replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0, float("nan")], "in row 2 of the data."),
        ([1.0, None], "in row 2 of the data: an empty cell."),
        ([1, 15], "in row 2 of the data."),
        ([True, False], "2 of 2 values"),
        ([[1.0], [2.0]], "cannot be read as answers"),
        (pa.array([1, 2], pa.timestamp("s")), "2 of 2 values"),
    ],
    ids=str,
)
def test_bad_columns_of_parquet_are_refused(column: Any, said: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"hours": column}), tmp_path / "bad.parquet")
    done = call("privatize", tmp_path / "bad.parquet", "--column", "hours", "--method", "nprr", *ASKED, "-o", "-")
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1


def test_only_entries_of_a_dictionary_that_rows_use_must_be_in_the_range() -> None:
    mechanism = built()
    used = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), pa.array(["7", "99", "0.5", None]))
    rounding = mechanism.channel.rounding
    assert rounding is not None
    assert batch(mechanism, used).tolist() == [rounding.position(sv.Interval(0, 14).encode(x)) for x in (0.5, 7, 0.5)]
    wrong = pa.DictionaryArray.from_arrays(pa.array([2, 3, None, 1], pa.int8()), used.dictionary)
    assert batch(mechanism, wrong) == Outside(3, 1, True)


# --- text -------------------------------------------------------------------------------------------------
def test_numbers_are_read_exactly() -> None:
    domain = sv.Interval(0, "0.3")
    for text in ("0.1", "+.1", " 1e-1 ", "0.10", "0.3", "0.29999999999999998", "0.1000000000000000055511151231257827"):
        assert domain.encode(domain.typed(text)) == Decimal(text.strip()), text
    assert isinstance(domain.typed("0.1"), float)  # of which many are read at once
    for text in ("0.30000000000000001", "nan", "-inf", "1e", "e1", ".", "", "0,1", "1_0", "\u0663"):
        with pytest.raises(sv.DomainError):
            domain.encode(domain.typed(text))


# --- answer -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sv.names(sv.Mean))
def test_a_device_answers_with_a_number(name: str, tmp_path: Path) -> None:
    mechanism = built(name)
    (tmp_path / "s.json").write_bytes(canonical(mechanism.spec()))
    kept = mechanism.claimed_forever is not None  # a memo: each of these answers is that of another device
    for place, value in enumerate(("0", "14", "7.25", "1e-3", "13.99999999999999999999")):
        memo = ["--memo", tmp_path / f"memo-{place}"] if kept else []
        done = call("answer", tmp_path / "s.json", "--value", value, *memo)
        assert done.code == 0 and mechanism.tally([bytes.fromhex(done.out.decode())]).n == 1
    for value in ("14.5", "-1", "x" + PRIVATE, PRIVATE + "e9", "nan", ""):
        memo = ["--memo", tmp_path / "memo"] if kept else []
        done = call("answer", tmp_path / "s.json", f"--value={value}", *memo)
        assert done.code == 2 and done.out == b"" and done.err.count("\n") == 1
        assert "must be a number in [0, 14]" in done.err and PRIVATE not in done.err


@pytest.mark.parametrize("name", ["piecewise", "designed"])
def test_a_number_is_answered_on_the_bare_install(name: str, tmp_path: Path) -> None:
    """A designed table too: its specification holds all of it, and nothing is solved again."""
    (tmp_path / "s.json").write_bytes(canonical(built(name).spec()))
    code, out, err = process("answer", str(tmp_path / "s.json"), stdin=b"7.5\n", program=BARE)
    assert (code, err) == (0, "epsilon 1.5, computed from the channel\n")
    assert built(name).tally([bytes.fromhex(out)]).n == 1
