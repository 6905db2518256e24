"""Files as people have them: truth values, whole floats, empty cells, other delimiters, several columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.specs import canonical
from sottovoce.files.answer_rows import layout, read_rows
from sottovoce.files.answers import Outside, column_names
from tests.cli.test_files import Done, call, tallied

pytestmark = pytest.mark.slow

N = 200
FRAME = pd.DataFrame(
    {
        "who": range(N),
        "sex": ["f", "m"] * (N // 2),
        "bmi": np.round(np.random.default_rng(1).uniform(10, 60, N), 2),
        "age": np.random.default_rng(2).integers(18, 98, N),
        "smokes": [True, False, False, False] * (N // 4),
    }
)


def write(folder: Path, frame: pd.DataFrame, kind: str = "csv", **options: Any) -> Path:
    path = folder / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False, **options)
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=37)
    return path


def privatized(path: Path, *asked: object) -> tuple[Done, sv.Tally]:
    """What the command says, and the tally of its reports; the seed is 5."""
    folder = path.parent
    done = call("privatize", path, *asked, "--seed", 5, "-o", folder / "r.parquet", "--force")
    assert done.code == 0, done.err
    assert call("tally", folder / "r.parquet", "-o", folder / "out.tally", "--force").code == 0
    return done, tallied(folder)


def expected(mechanism: sv.Mechanism, values: Any) -> sv.Tally:
    return mechanism.tally(mechanism.privatize(values, seed=5))


# --- cells ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_column_of_truth_values_is_read_as_the_domain_says_it(kind: str, tmp_path: Path) -> None:
    path, smokes = write(tmp_path, FRAME, kind), FRAME["smokes"]
    asked = ["--column", "smokes", "--method", "grr", "--epsilon", 1]
    for labels in (["true", "false"], ["False", "True"], ["no", "TRUE", "false"]):
        mechanism = sv.mechanism("grr", sv.Categories(labels), epsilon=1)
        values = [next(label for label in labels if label.lower() == str(value).lower()) for value in smokes]
        assert privatized(path, *asked, "--categories", ",".join(labels))[1] == expected(mechanism, values)
    mechanism = sv.mechanism("grr", sv.Integers(0, 1), epsilon=1)
    assert privatized(path, *asked, "--low", 0, "--high", 1, "--whole")[1] == expected(mechanism, smokes.astype(int))
    for domain in (["--categories", "yes,no"], ["--low", 0, "--high", 9, "--whole"]):
        done = call("privatize", path, *asked, *domain, "-o", "-")
        assert done.code == 2 and f"{N} of {N} values" in done.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("method", ["grr", "bernoulli"])
def test_whole_floats_are_whole_numbers(kind: str, method: str, tmp_path: Path) -> None:
    path = write(tmp_path, FRAME.astype({"age": float}), kind)
    mechanism = sv.mechanism(method, sv.Integers(18, 97), epsilon=1)
    asked = ["--column", "age", "--method", method, "--epsilon", 1, "--low", 18, "--high", 97, "--whole"]
    assert privatized(path, *asked)[1] == expected(mechanism, FRAME["age"])
    (tmp_path / "half").mkdir()
    half = write(tmp_path / "half", FRAME.assign(age=[18.5, *[20.0] * (N - 1)]), kind)
    done = call("privatize", half, *asked, "-o", "-")
    assert done.code == 2 and f"1 of {N} values" in done.err and "row 1 of the data. An answer must be" in done.err


def with_gaps(**columns: list[Any]) -> pd.DataFrame:
    frame = FRAME.astype({"age": object, "smokes": object})
    for name, cells in columns.items():
        frame[name] = [*cells, *frame[name][len(cells) :]]
    return frame


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_empty_cells_are_refused_or_skipped_with_a_count(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, with_gaps(bmi=[20.0, np.nan, 30.0, np.nan]), kind)
    asked = ["--column", "bmi", "--method", "piecewise", "--epsilon", 1, "--low", 10, "--high", 60]
    done = call("privatize", path, *asked, "-o", "-")
    assert done.code == 2 and f"2 of {N} values" in done.err and "row 2 of the data" in done.err
    if kind == "csv":
        assert "an empty cell. An answer must be a number in [10, 60]. --missing says" in done.err
    mechanism = sv.mechanism("piecewise", sv.Interval(10, 60), epsilon=1)
    kept = [20.0, 30.0, *FRAME["bmi"][4:]]
    done, tally = privatized(path, *asked, "--missing", "skip")
    assert tally == expected(mechanism, kept)
    assert f"2 of {N} rows with empty cells left out; a missing report shows who did not answer." in done.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("listed", ["f,m", "f,missing,m"])
def test_empty_cells_may_be_a_category(kind: str, listed: str, tmp_path: Path) -> None:
    path = write(tmp_path, with_gaps(sex=["f", None, "m", None]), kind)
    labels = listed.split(",") if "missing" in listed else ["f", "m", "missing"]
    mechanism = sv.mechanism("grr", sv.Categories(labels), epsilon=1)
    asked = ["--column", "sex", "--method", "grr", "--epsilon", 1, "--categories", listed, "--missing", "category"]
    done, tally = privatized(path, *asked)
    assert tally == expected(mechanism, ["f", "missing", "m", "missing", *FRAME["sex"][4:]])
    assert f"2 of {N} cells empty: these are reported as the category 'missing'." in done.err
    (tmp_path / "s.json").write_bytes(canonical(mechanism.spec()))
    assert privatized(path, "--column", "sex", "--spec", tmp_path / "s.json", "--missing", "category")[1] == tally
    (tmp_path / "t.json").write_bytes(canonical(sv.mechanism("grr", sv.Categories(["f", "m"]), epsilon=1).spec()))
    done = call("privatize", path, "--column", "sex", "--spec", tmp_path / "t.json", "--missing", "category", "-o", "-")
    assert done.code == 2 and "needs the category 'missing'" in done.err


def test_a_file_without_empty_cells_says_nothing_of_them(tmp_path: Path) -> None:
    path = write(tmp_path, FRAME)
    asked = ["--column", "sex", "--method", "grr", "--epsilon", 1, "--categories", "f,m", "--missing", "skip"]
    assert "empty" not in privatized(path, *asked)[0].err


def test_an_empty_text_that_is_a_category_is_not_missing() -> None:
    domain = sv.Categories(["", "a"])
    mechanism = sv.mechanism("grr", domain, epsilon=1)
    column = pa.array(["", "a", None, ""]).dictionary_encode()
    rows = read_rows(mechanism, layout(domain, ["v"]), [column], "skip")
    assert rows.codes.tolist() == [0, 1, 0] and rows.empty == 1


def test_the_first_one_outside_is_counted_among_all_rows() -> None:
    domain = sv.Integers(0, 9)
    mechanism = sv.mechanism("grr", domain, epsilon=1)
    column = pa.array([1, None, None, 99, 4, 77])
    rows = read_rows(mechanism, layout(domain, ["v"]), [column], "skip")
    assert rows.codes == Outside(2, 3, False) and rows.empty == 2


# --- delimiters -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("delimiter", "shown"), [(";", ";"), ("\t", r"\t"), ("|", "|")])
def test_another_delimiter_is_suggested(delimiter: str, shown: str, tmp_path: Path) -> None:
    path = write(tmp_path, FRAME, sep=delimiter)
    asked = ["--method", "grr", "--epsilon", 1, "--categories", "f,m", "-o", tmp_path / "r.parquet"]
    for column in ("sex", "SEX"):
        done = call("privatize", path, "--column", column, *asked)
        assert done.code == 2 and f"seems to have another delimiter: try --delimiter '{shown}'." in done.err
    assert call("privatize", path, "--column", "sex", *asked, "--delimiter", shown).code == 0


def test_no_delimiter_is_suggested_where_the_column_is_just_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, FRAME)
    done = call("privatize", path, "--column", "SEX", "--epsilon", 1, "--categories", "f,m", "-o", "-")
    assert done.code == 2 and "delimiter" not in done.err


# --- several columns --------------------------------------------------------------------------------------
def test_columns_are_named_with_commas() -> None:
    assert column_names("bmi") == ("bmi",)
    assert column_names("sex, bmi") == ("sex", "bmi")
    assert column_names('"a,b",c') == ("a,b", "c")
    assert column_names('the "v"') == ('the "v"',)
    for wrong in ("a,a", "a,", "a,,b"):
        with pytest.raises(sv.ParameterError, match="--column names a column twice, or one without a name"):
            column_names(wrong)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_pair_is_two_columns(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, FRAME, kind)
    domain = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(10, 60))
    mechanism = sv.mechanism("group-bernoulli", domain, epsilon=2)
    described = ["--epsilon", 2, "--categories", "f,m", "--low", 10, "--high", 60]
    done, tally = privatized(path, "--column", "sex,bmi", "--method", "group-bernoulli", *described)
    assert tally == expected(mechanism, FRAME[["sex", "bmi"]])
    assert "Epsilon is that of these columns together: budgets add up" in done.err
    rows = json.loads(call("estimate", tmp_path / "out.tally", "--json").out)["rows"]
    assert [row["value"] for row in rows] == ["f", "m"]
    done = call("privatize", path, "--column", "bmi,sex", "--method", "group-bernoulli", *described, "-o", "-")
    assert done.code == 2 and f"{N} of {N} values of columns 3, 2 of 5 lie outside the domain" in done.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_record_is_read_by_names_and_a_vector_in_order(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, FRAME, kind)
    record = sv.Record({"age": sv.Interval(18, 97), "bmi": sv.Interval(10, 60)})
    mechanism = sv.mechanism("split-n", record, epsilon=1, inner="bernoulli")
    asked = ["--method", "split-n", "--epsilon", 1, "--option", "inner=bernoulli"]
    described = ["--low", "18,10", "--high", "97,60"]
    tally = expected(mechanism, FRAME[["age", "bmi"]])
    assert privatized(path, "--column", "age,bmi", *asked, *described)[1] == tally
    (tmp_path / "s.json").write_bytes(canonical(mechanism.spec()))
    assert privatized(path, "--column", "bmi,age", "--spec", tmp_path / "s.json")[1] == tally
    box = sv.mechanism("duchi-linf", sv.Box(0, 100, 2), epsilon=1)
    plain = ["--method", "duchi-linf", "--epsilon", 1, "--low", 0, "--high", 100]
    found = privatized(path, "--column", "bmi,age", *plain)[1]
    assert found == expected(box, FRAME[["bmi", "age"]].to_numpy())
    done = call("privatize", path, "--column", "bmi,age", *plain[:-1], 50, "-o", "-")
    wrong = int(((FRAME["bmi"] > 50) | (FRAME["age"] > 50)).sum())
    assert done.code == 2 and f"{wrong} of {N} values of columns 3, 4 of 5" in done.err
    assert "a list of 2 numbers in [0, 50]" in done.err


def test_a_sparse_vector_has_a_column_for_each_place(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [0, 0.5, 0], "b": [0, 0, -1.0], "c": [1, 0, 0]})
    mechanism = sv.mechanism("one-sparse", sv.Sparse(3, 1), epsilon=1)
    (tmp_path / "s.json").write_bytes(canonical(mechanism.spec()))
    for kind in ("csv", "parquet"):
        path = write(tmp_path, frame, kind)
        found = privatized(path, "--column", "a,b,c", "--spec", tmp_path / "s.json")[1]
        assert found == expected(mechanism, frame.to_numpy())


def test_rows_of_several_columns_are_skipped_together(tmp_path: Path) -> None:
    path = write(tmp_path, with_gaps(sex=["f", None], bmi=[20.0, 30.0, np.nan]))
    domain = sv.Pair(sv.Categories(["f", "m"]), sv.Interval(10, 60))
    described = ["--epsilon", 2, "--categories", "f,m", "--low", 10, "--high", 60, "--method", "group-nprr"]
    done = call("privatize", path, "--column", "sex,bmi", *described, "-o", "-")
    assert f"2 of {N} values of columns 2, 3 of 5" in done.err and "row 2 of the data: an empty cell." in done.err
    done, tally = privatized(path, "--column", "sex,bmi", *described, "--missing", "skip")
    kept = [("f", 20.0), *zip(FRAME["sex"][3:], FRAME["bmi"][3:], strict=True)]
    assert tally == expected(sv.mechanism("group-nprr", domain, epsilon=2), kept)
    assert f"2 of {N} rows with empty cells left out" in done.err
    done = call("privatize", path, "--column", "sex,bmi", *described, "--missing", "category", "-o", "-")
    assert done.code == 2 and "--missing category is for categories" in done.err


@pytest.mark.slow
def test_the_plan_chooses_for_pairs_and_vectors_too(tmp_path: Path) -> None:
    path = write(tmp_path, FRAME)
    described = ["--epsilon", 2, "--categories", "f,m", "--low", 10, "--high", 60]
    done, tally = privatized(path, "--column", "sex,bmi", *described)
    assert "The plan chose group-" in done.err and tally.mechanism.question.kind == "group-mean"
    done, tally = privatized(path, "--column", "bmi,age", "--epsilon", 2, "--low", 0, "--high", 100, "--whole")
    assert "The plan chose " in done.err and tally.mechanism.question.kind == "vector-mean"


# --- budgets ----------------------------------------------------------------------------------------------
def test_budgets_of_several_columns_add_up(tmp_path: Path) -> None:
    asked = ["--column", "sex", "--method", "grr", "--epsilon", 1, "--categories", "f,m"]
    said = "budgets add up if other columns of the same people are privatized too, or the same ones again."
    assert f"Epsilon is that of this column: {said}" in privatized(write(tmp_path, FRAME), *asked)[0].err
    assert "budgets" not in privatized(write(tmp_path, FRAME[["sex"]]), *asked)[0].err


# --- tables in Python -------------------------------------------------------------------------------------
@pytest.mark.parametrize("table", [pd.DataFrame, lambda columns: pa.table(dict(columns))])
def test_tables_of_pairs_are_read_by_name_or_in_order(table: Any) -> None:
    mechanism = sv.mechanism("group-bernoulli", sv.Pair(sv.Categories(["f", "m"]), sv.Interval(10, 60)), epsilon=2)
    pairs = [("f", 20.0), ("m", 30.0), ("f", 50.5)]
    groups, values = map(list, zip(*pairs, strict=True))
    same = list(mechanism.privatize(pairs, seed=1))
    assert list(mechanism.privatize(table({"sex": groups, "bmi": values}), seed=1)) == same
    assert list(mechanism.privatize(table({"group": groups, "value": values}), seed=1)) == same
    assert list(mechanism.privatize(table({"value": values, "group": groups}), seed=1)) == same
    for wrong in (table({"sex": groups}), table({"who": [1, 2, 3], "sex": groups, "bmi": values})):
        with pytest.raises(sv.DomainError, match="Pairs come as a table of two columns, the group first"):
            mechanism.privatize(wrong)
