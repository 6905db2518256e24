"""From devices to a tally: lines of `answer`, binary messages, repeated ids, invalid messages, equal inputs."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.client import Client
from sottovoce.client.tick import Untimed
from sottovoce.core.specs import canonical
from tests.cli.test_files import Done, call, tallied

pytestmark = pytest.mark.slow

GRR = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1)
ANSWERS: dict[str, Any] = {"grr": "owl", "olh": 7, "flh": 7, "oue": 7}
MECHANISMS = pytest.mark.parametrize("name", ANSWERS)


def built(name: str) -> sv.Mechanism:
    return GRR if name == "grr" else sv.mechanism(name, sv.Integers(0, 99), epsilon=2)


def sent(m: sv.Mechanism, count: int = 5) -> list[bytes]:
    """Messages as a device makes them, without waiting for a tick."""
    client = Client(m, tick=Untimed())
    return [client.report(ANSWERS[m.name]) for _ in range(count)]


def count(m: sv.Mechanism, folder: Path, *arguments: object, stdin: bytes = b"") -> Done:
    (folder / "spec.json").write_bytes(canonical(m.spec()))
    output = ["-o", folder / "out.tally", "--force"]
    return call("tally", *arguments, "--spec", folder / "spec.json", *output, stdin=stdin)


def lines(messages: list[bytes]) -> str:
    return "".join(f"{message.hex()}\n" for message in messages)


# --- the loop ---------------------------------------------------------------------------------------------
def test_what_answer_prints_is_counted(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_bytes(canonical(GRR.spec()))
    printed = b"".join(call("answer", tmp_path / "spec.json", stdin=b"owl\n").out for _ in range(3))
    (tmp_path / "answers").write_bytes(printed)
    for source in (tmp_path / "answers", "-"):
        done = count(GRR, tmp_path, source, stdin=printed)
        assert (done.code, done.err) == (0, "")
        assert tallied(tmp_path) == GRR.tally([bytes.fromhex(line) for line in printed.decode().split()])
    shown = call("estimate", tmp_path / "answers", "--spec", tmp_path / "spec.json")
    assert shown.code == 0 and b"3 reports through grr" in shown.out


@MECHANISMS
@pytest.mark.parametrize("file", ["answers.hex", "answers.txt", "answers", "answers.bin", "messages", "-"])
def test_the_kind_follows_from_the_name_or_the_content(name: str, file: str, tmp_path: Path) -> None:
    m = built(name)
    messages = sent(m)
    data = b"".join(messages) if file in ("answers.bin", "messages") else lines(messages).encode()
    if file != "-":
        (tmp_path / file).write_bytes(data)
    done = count(m, tmp_path, file if file == "-" else tmp_path / file, stdin=data)
    assert (done.code, done.err) == (0, "")
    assert tallied(tmp_path) == m.tally(messages)


@pytest.mark.parametrize("first", [b"s", b"P", b"\xff", b"re", b"\n", b"a0", b"a\n", b"report\r\n"])
def test_an_id_that_begins_like_another_kind_is_still_an_id(first: bytes, tmp_path: Path) -> None:
    messages = [first + bytes([128 + place]) * (16 - len(first)) + b"\x01" for place in range(4)]
    assert count(GRR, tmp_path, "-", stdin=b"".join(messages)).code == 0
    assert tallied(tmp_path) == GRR.tally(messages)


def test_the_format_may_be_given(tmp_path: Path) -> None:
    messages = sent(GRR)
    (tmp_path / "odd.csv").write_text(lines(messages))
    assert "use --format hex" in count(GRR, tmp_path, tmp_path / "odd.csv").err
    assert count(GRR, tmp_path, tmp_path / "odd.csv", "--format", "hex").code == 0
    assert tallied(tmp_path) == GRR.tally(messages)
    assert count(GRR, tmp_path, "-", "--format", "messages", stdin=b"".join(messages)).code == 0
    assert tallied(tmp_path) == GRR.tally(messages)


def test_lines_as_people_keep_them(tmp_path: Path) -> None:
    """A mark at the beginning, capitals, blanks, empty lines, no end of the last line."""
    a, b, c = sent(GRR, 3)
    text = f"\ufeff{a.hex().upper()}\r\n\r\n  {b.hex()}  \n\n{c.hex()}"
    (tmp_path / "lines").write_bytes(text.encode())
    assert count(GRR, tmp_path, tmp_path / "lines").code == 0
    assert tallied(tmp_path) == GRR.tally([a, b, c])


@MECHANISMS
def test_pieces_are_counted_like_the_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.files.messages.BATCH_BYTES", 100)
    m = built(name)
    messages = sent(m, 23)
    for data in (lines(messages).encode(), b"".join(messages)):
        assert count(m, tmp_path, "-", stdin=data).code == 0
        assert tallied(tmp_path) == m.tally(messages)


# --- repeated ids -----------------------------------------------------------------------------------------
def test_a_repeated_id_is_counted_once_and_reported(tmp_path: Path) -> None:
    messages = sent(GRR)
    (tmp_path / "all.hex").write_text(lines([*messages, messages[0]]))
    (tmp_path / "some.bin").write_bytes(b"".join(messages[:2]))
    done = count(GRR, tmp_path, tmp_path / "all.hex", tmp_path / "some.bin")
    assert done == Done(0, b"", "sottovoce: 3 messages with an id that came before: each id is counted once.\n")
    assert tallied(tmp_path) == GRR.tally(messages)
    assert "1 message with an id that came before: each" in count(GRR, tmp_path, tmp_path / "all.hex").err


def test_a_repeated_id_with_another_payload_is_reported_as_such(tmp_path: Path) -> None:
    report_id = secrets.token_bytes(16)
    same = [report_id + payload for payload in (b"\x00", b"\x01", b"\x00")]
    done = count(GRR, tmp_path, "-", stdin=lines(same).encode())
    assert "2 messages with an id that came before, 1 with another payload: each id" in done.err
    assert tallied(tmp_path) == GRR.tally(same[:1])


def test_an_invalid_message_does_not_take_an_id(tmp_path: Path) -> None:
    report_id = secrets.token_bytes(16)
    both = lines([report_id + b"\x09", report_id + b"\x02"]).encode()
    assert count(GRR, tmp_path, "-", stdin=both).code == 0
    assert tallied(tmp_path) == GRR.tally([report_id + b"\x02"])


# --- invalid messages -------------------------------------------------------------------------------------
BAD_LINES = {
    "length": ("00" * 5, "Line 3 has 10 hexadecimal digits, expected 34."),
    "digits": ("g" * 34, "Line 3 must hold 34 hexadecimal digits only."),
    "text": ("owl", "Line 3 must hold 34 hexadecimal digits only."),
    "long": ("0" * 10_000, "Line 3 is too long."),
    "payload": ("00" * 16 + "03", "Report 2 is invalid for this mechanism"),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES)
def test_an_invalid_line_is_refused_or_left_out(line: str, said: str, tmp_path: Path) -> None:
    messages = sent(GRR, 4)
    (tmp_path / "some.hex").write_text(f"{lines(messages[:2])}{line}\n{lines(messages[2:])}")
    refused = count(GRR, tmp_path, tmp_path / "some.hex", "--strict")
    assert refused.code == 2 and refused.err.startswith(f"sottovoce: The input: {said}"), refused.err
    assert not (tmp_path / "out.tally").exists()
    left_out = count(GRR, tmp_path, tmp_path / "some.hex", "--refused", tmp_path / "refused.csv")
    assert left_out.code == 0 and left_out.err.startswith("sottovoce: 1 of 5 reports left out as invalid: 1 ")
    assert tallied(tmp_path) == GRR.tally(messages)
    reason = left_out.err.removesuffix(".\n").rpartition(": 1 ")[2]
    assert (tmp_path / "refused.csv").read_text() == f"input,row,reason\n1,3,{reason}\n"


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    bad = "\n".join(["00", "zz", "yy", "00" * 16 + "03"]) + "\n"
    reasons = "2 not hexadecimal, 1 with a payload that no device sends, 1 of a wrong length"
    done = count(GRR, tmp_path, "-", stdin=(lines(sent(GRR, 4)) + bad).encode())
    found = done.err.removeprefix("sottovoce: 4 of 8 reports left out as invalid: ").removesuffix(".\n")
    assert set(found.split(", ")) == set(reasons.split(", ")) and found.startswith("2 ")


def test_an_id_that_no_device_uses_is_a_reason(tmp_path: Path) -> None:
    """2**53 is not a multiple of three: the id that is all ones chooses no coordinate of three."""
    m = sv.mechanism("sampled", sv.Box(-1, 1, 3), epsilon=1)
    client = Client(m, tick=Untimed())
    messages = [client.report([0, 0, 1]) for _ in range(3)]
    data = b"".join([*messages, b"\xff" * 16 + messages[0][16:]])
    assert count(m, tmp_path, "-", "--strict", stdin=data).code == 2
    done = count(m, tmp_path, "-", stdin=data)
    assert done.err == "sottovoce: 1 of 4 reports left out as invalid: 1 with an id that no device uses.\n"


def test_a_cut_message_is_refused_or_left_out(tmp_path: Path) -> None:
    messages = sent(GRR, 3)
    data = b"".join(messages)[:-1]
    refused = count(GRR, tmp_path, "-", "--strict", stdin=data)
    assert refused.code == 2 and "has 17 bytes; the last 16 of this input are fewer" in refused.err
    assert count(GRR, tmp_path, "-", "--refused", tmp_path / "refused.csv", stdin=data).code == 0
    assert tallied(tmp_path) == GRR.tally(messages[:2])
    assert (tmp_path / "refused.csv").read_text().splitlines()[1:] == ["1,3,of a wrong length"]


def test_nothing_but_invalid_reports_is_refused(tmp_path: Path) -> None:
    done = count(GRR, tmp_path, "-", stdin=lines([b"\xff" * 17] * 2).encode())
    assert done.code == 2 and "None of 2 reports is valid for this mechanism (2 with a payload" in done.err
    assert not (tmp_path / "out.tally").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_files_of_reports_are_counted_without_their_invalid_rows(kind: str, tmp_path: Path) -> None:
    """Reports of ten categories, some of which are invalid for four, and cells that hold no report at all."""
    made, m = tmp_path / f"reports.{kind}", sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    reports = sv.mechanism("grr", sv.Integers(0, 9), epsilon=1).privatize([1, 2, 3] * 10, seed=1)
    valid = [report for report in reports if report < 4]
    table = pa.table({"report": pa.array([None, *map(int, reports)], pa.uint8())})
    if kind == "csv":
        made.write_text("report\n" + '""\n' + "".join(f"{report:02x}\n" for report in reports) + "zz\n")
    elif kind == "parquet":
        pq.write_table(table, made)
    else:
        with pa.ipc.new_stream(made, table.schema) as stream:
            stream.write_table(table, max_chunksize=7)
    assert count(m, tmp_path, made, "--strict").code == 2
    done = count(m, tmp_path, made, "--refused", tmp_path / "refused.csv")
    listed = {row + 2: "with a payload that no device sends" for row, report in enumerate(reports) if report > 3}
    listed |= {1: "of a wrong length"} | ({32: "not hexadecimal"} if kind == "csv" else {})
    assert done.err.startswith(f"sottovoce: {len(listed)} of {31 + (kind == 'csv')} reports left out as invalid: ")
    rows = [line.split(",") for line in (tmp_path / "refused.csv").read_text().splitlines()[1:]]
    assert {int(row): reason for _, row, reason in rows} == listed and {one for one, _, _ in rows} == {"1"}
    assert tallied(tmp_path) == m.tally([bytes(16) + bytes([report]) for report in valid])


def test_refused_rows_of_all_inputs_are_listed_beside_resumed_ones(tmp_path: Path) -> None:
    messages, hexes = sent(GRR, 2), tmp_path / "b.hex"
    (tmp_path / "a.csv").write_text("report\n00\nff\n01\n")
    hexes.write_text(f"{lines(messages)}\n00\n")
    inputs = [tmp_path / "a.csv", hexes, "--resume", tmp_path / "kept"]
    for _ in range(2):
        done = count(GRR, tmp_path, *inputs, "--refused", tmp_path / "refused.csv", "--force")
        assert done.code == 0 and "2 of 6 reports left out as invalid" in done.err
        found = (tmp_path / "refused.csv").read_text().splitlines()
        assert found == ["input,row,reason", "1,2,with a payload that no device sends", "2,4,of a wrong length"]
    assert "1 of 2 files counted before" in count(GRR, tmp_path, *inputs, "--force").err


def test_no_line_is_shown(tmp_path: Path) -> None:
    private = "sextuple-secret"
    for text in (private, f"{lines(sent(GRR, 1))}{private}\n", f"{private}\n" * 40):
        for more in ([], ["--strict"], ["--refused", str(tmp_path / "refused.csv"), "--force"]):
            assert private not in count(GRR, tmp_path, "-", *more, stdin=text.encode()).err
            assert not (tmp_path / "refused.csv").exists() or private not in (tmp_path / "refused.csv").read_text()


def test_messages_need_a_specification(tmp_path: Path) -> None:
    done = call("tally", "-", "-o", tmp_path / "out.tally", stdin=lines(sent(GRR)).encode())
    assert done.code == 2
    assert done.err.endswith("Messages do not say what made them: add --spec FILE, or name the mechanism.\n")


# --- the same input twice ---------------------------------------------------------------------------------
def test_the_same_input_twice_is_warned_of(tmp_path: Path) -> None:
    reports = GRR.privatize(["owl", "lark", "owl"])
    one, two, none = (tmp_path / f"{rows}.tally" for rows in (3, 2, 0))
    for rows, path in ((3, one), (2, two), (0, none)):
        path.write_bytes(GRR.tally(reports[:rows]).to_bytes())
    done = count(GRR, tmp_path, one, two, one, none, none)
    said = "Inputs 1 and 3 have the same counts: if they hold the same reports, these are counted repeatedly."
    assert done == Done(0, b"", f"sottovoce: {said}\n")
    assert tallied(tmp_path).n == 8
    assert "Inputs 1, 2 and 3 have" in call("estimate", one, one, one).err
    assert count(GRR, tmp_path, one, two).err == ""
