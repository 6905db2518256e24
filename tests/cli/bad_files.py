"""Files that are broken in every way, and good ones to break others with; all hold the same answer somewhere."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import sottovoce as sv
from sottovoce.core.specs import canonical
from sottovoce.files.writer import Writer


def bad_texts(answer: str) -> dict[str, str]:
    """What stands in the files that are texts."""
    return {
        "good.csv": f"v,text\n1,{answer}\n2,b\n",
        "twice.csv": f"v,v\n{answer},2\n",
        "empty.csv": "",
        "broken.csv": "\x1b[2Jq," + "a" * 99 + ",1" * 29 + f",{answer}\n",
        "mac.csv": f"c,v\r{answer},1\r",
        "ragged.csv": f"v,w\n1,{answer}\n1,{answer},3\n",
        "outside.csv": f"v\n1\n10\n{answer}x\n2\n1.0\n",
        "data.xls": f"v\n{answer}\n",
        "reports.csv": "report\n01\n",
        "hex.csv": "report\n0g\n",
        "wide.csv": "report\n001\n",
        "fake.parquet": f"PAR1 is how it begins, {answer}",
        "fake.tally": "sottovoce tally 9\n" + answer * 99,
        "lines.json": f'{{"name": "Bob", "v": "{answer}"}}\n{{"name": "Eve", "v": "{answer}"}}\n',
        "object.json": f'{{"name": "Bob", "{answer}": 1}}',
        "headless.csv": f"Bob,{answer}\nEve,{answer}\n",
        "open quote.csv": f'v,text\n1,"{answer}\n2,b\n',
        "short.csv": f"v,w\n{answer}\n1,{answer}\n",
        "nul.csv": f"v,w\n1,{answer}\0\n{answer}\0,2\n",
        "hex text.csv": f"report\n{answer}\n",
        "extra hex.csv": f"report\n01,{answer}\n",
        "other columns.csv": f"id,{answer}\n01,02\n",
    }


def write_bad_files(folder: Path, answer: str = "1") -> Path:
    """All of them, in one folder."""
    (folder / "folder").mkdir()
    for name, text in bad_texts(answer).items():
        (folder / name).write_text(text, newline="")
    (folder / "latin.csv").write_bytes(f"v,text\n1,{answer}\xe9\n".encode("latin-1"))
    (folder / "wide text.csv").write_bytes(f"v,text\n1,{answer}\n".encode("utf-16"))
    columns = {"v": [1, 2], "null": [1, None], "float": [1.0, 2.0], "list": [[1], [2]], "texts": [answer, "b"]}
    columns["struct"] = [{answer: 1}, {answer: 2}]
    for name, column in columns.items():
        pq.write_table(pa.table({"v": column}), folder / f"{name}.parquet")
    pq.write_table(pa.table({answer: [1, 2]}), folder / "named.parquet")
    pq.write_table(pa.table({"report": [{answer: 1}]}), folder / "structured.parquet")
    table = pa.table({"v": [answer, "b"], answer: [1, 2]})
    with pa.ipc.new_stream(folder / "texts.arrow", table.schema) as stream:
        stream.write_table(table)
    (folder / "half.arrow").write_bytes((folder / "texts.arrow").read_bytes()[:-200])
    (folder / "cut.parquet").write_bytes((folder / "v.parquet").read_bytes()[:-9])
    _write_reports(folder)
    return folder


def _write_reports(folder: Path) -> None:
    good, other = (sv.mechanism("grr", sv.Integers(0, 9), epsilon=epsilon) for epsilon in (1, 2))
    spec = good.spec()
    (folder / "spec.json").write_bytes(canonical(spec))
    (folder / "liar.json").write_bytes(canonical({**spec, "epsilon": "0.5"}))
    (folder / "impure.json").write_bytes(canonical({**spec, "guarantee": "idealised"}))
    for name, mechanism in {"good": good, "other": other}.items():
        with open(folder / f"{name}.parquet", "wb") as file, Writer(file, "parquet", mechanism, seeded=False) as writer:
            writer.write(mechanism.privatize([1, 2, 3], seed=1))
    tally = other.tally(other.privatize([1, 2], seed=1)).to_bytes()
    (folder / "other.tally").write_bytes(tally)
    (folder / "cut.tally").write_bytes(tally[:-1])
    schema = pq.read_schema(folder / "good.parquet")
    pq.write_table(pa.table({"report": pa.array([1, 10, 2], pa.uint8())}, schema=schema), folder / "forged.parquet")
    with pa.ipc.new_stream(folder / "cut.arrow", schema) as stream:  # whole for Arrow, but its end is missing
        stream.write_batch(pa.record_batch({"report": pa.array([1, 2, 3, 4], pa.uint8())}, schema=schema))
