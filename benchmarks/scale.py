"""``python -m benchmarks.scale``: what each step costs for a million, a billion and a thousand billion reports.

Rates are measured here, on this machine: counting GRR reports from Parquet by our own stream and by DuckDB, each in a
process of its own; finding repeated ids in DuckDB; a partition of Spark, on pysail; and drawing whole tallies for the
error of the estimate. The rest is arithmetic with assumptions, which are printed, and which options change.
``--page FILE`` writes the tables between the marks of a page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.costs import SIZES, Assumptions, Rates, steps
from benchmarks.memory import K, mechanism, peak_megabytes
from benchmarks.partitions import measured
from benchmarks.timing import environment, table
from scripts.spark_session import spark_session
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.wire import Batch
from sottovoce.tally.tally import MAX_CELL, MAX_REPORTS

TARGET_RATIO, TARGET_MEGABYTES = 1.5, 1000
MARKS = "<!-- scale: begin -->", "<!-- scale: end -->"


# --- children: a peak of memory once reached never falls again -------------------------------------------------
def count_with(engine: str, path: str) -> None:
    from sottovoce.engines import duckdb
    from sottovoce.files.reports import read_reports

    m = mechanism()
    work = {
        "stream": lambda: m.tally_batches(read_reports(path, m)),
        "duckdb": lambda: duckdb.fold(duckdb.count(path, m), m),
        "unique": lambda: duckdb.fold(duckdb.count(path, m), m),
    }[engine]
    start = time.perf_counter()
    tally = work()
    print(time.perf_counter() - start, peak_megabytes(), tally.n, tally.cells.sum(), *tally.cells[:3])


def counted(engine: str, path: Path) -> tuple[float, float, list[str]]:
    """Seconds, peak of memory, and what was counted."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", engine, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak, *counts = done.stdout.split()
    return float(seconds), float(peak), counts


# --- measures --------------------------------------------------------------------------------------------------
def from_parquet(reports: int, folder: Path) -> tuple[list[list[str]], float]:
    """Our stream and DuckDB on one file, best of three, in turns; and the rate of DuckDB."""
    path = folder / "reports.parquet"
    subprocess.run([sys.executable, "-m", "benchmarks.memory", "write", str(path), str(reports)], check=True)
    runs: dict[str, list[tuple[float, float, list[str]]]] = {"stream": [], "duckdb": []}
    for _ in range(3):
        for engine, found in runs.items():
            found.append(counted(engine, path))
    path.unlink()
    if len({tuple(one[2]) for found in runs.values() for one in found}) != 1:
        raise SystemExit("The engines counted different integers.")
    seconds = {engine: min(one[0] for one in found) for engine, found in runs.items()}
    peak = max(one[1] for one in runs["duckdb"])
    ratio = seconds["duckdb"] / seconds["stream"]
    verdict = "ok" if ratio <= TARGET_RATIO and peak < TARGET_MEGABYTES else "missed"
    rows = [
        [f"{reports:.0e} GRR reports by our stream", f"{seconds['stream']:.2f}", "s"],
        [f"{reports:.0e} GRR reports by DuckDB", f"{seconds['duckdb']:.2f}", "s"],
        ["DuckDB beside our stream", f"{ratio:.2f}", f"times; at most {TARGET_RATIO}: {verdict}"],
        ["peak of memory with DuckDB", f"{peak:.0f}", f"MB; below {TARGET_MEGABYTES}: {verdict}"],
    ]
    return rows, reports / seconds["duckdb"]


def with_ids(reports: int, folder: Path) -> tuple[list[list[str]], float, float]:
    """Finding repeated ids among shuffled ones: bytes of a report on disk, and the rate of DuckDB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "ids.parquet"
    ids = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), reports, [None, pa.py_buffer(os.urandom(16 * reports))])
    codes = np.random.default_rng(1).integers(0, K, reports).astype(np.uint8)
    pq.write_table(pa.table({"id": ids, "report": pa.array(codes)}), path, use_dictionary=False)
    seconds, peak, _ = counted("unique", path)
    size = path.stat().st_size / reports
    path.unlink()
    rows = [
        ["one report with its id in Parquet", f"{size:.1f}", "bytes"],
        [f"{reports:.0e} reports with ids, each id once, by DuckDB", f"{seconds:.2f}", f"s, peak {peak:.0f} MB"],
    ]
    return rows, size, reports / seconds


def errors() -> tuple[list[list[str]], float]:
    """The error of the estimates of so many reports, from tallies that are drawn whole; seconds of an estimate."""
    m, rows, taken = mechanism(), [], []
    for size in SIZES:
        held = np.full(K, size // K)
        start = time.perf_counter()
        tally = sv.simulate_counts(m, held, seed=1)
        drawn = time.perf_counter()
        estimate = m.estimate(tally)
        largest = float(estimate.std_errors.max())
        taken.append(time.perf_counter() - drawn)
        error = float(np.abs(estimate.values - held / held.sum()).max())
        rows.append([f"{size:.0e}", f"{largest:.1e}", f"{error:.1e}", f"{drawn - start:.3f} s"])
    return rows, min(taken)


def most_reports() -> list[list[str]]:
    """How many reports one tally may add up."""
    squares: Any = sv.VarianceRounds(sv.Interval(0, 1), 4, method="split-eps", mechanism="piecewise")
    noise = sv.mechanism("she", sv.Integers(0, K - 1), epsilon=1)
    rows = []
    for name, m in (
        ("counts of outputs, GRR", mechanism()),
        ("sums of noise, she", noise),
        ("squares of numbers, piecewise", squares.start().arms[0].mechanism),
    ):
        most = m.statistic.limits(m.channel).most
        each = most if isinstance(most, int) else max(most)
        rows.append([name, f"{each:,}", f"{min(MAX_REPORTS, MAX_CELL // each):.1e}"])
    return rows


def wire_bytes() -> int:
    """Bytes of a batch with one report, as a device sends it."""
    message = mechanism().randomize(0)
    batch = Batch(bytes(8), 2617, 1, 0, message[: codec.ID_BYTES], message[codec.ID_BYTES :])
    return len(batch.to_cbor())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--reports", type=int, default=10**8, help="in the file that our stream and DuckDB count")
    parser.add_argument("--ids", type=int, default=10**7, help="in the file with ids")
    for one in fields(Assumptions):
        option = f"--{one.name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=one.default, help=f"{one.metadata['unit']}; %(default)g")
    parser.add_argument("--page", metavar="FILE", help="write the tables between the marks of this page")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        count_with(*args.child)
        return 0
    given = Assumptions(**{one.name: getattr(args, one.name) for one in fields(Assumptions)})
    with tempfile.TemporaryDirectory(prefix="sottovoce-scale-") as text:
        folder = Path(text)
        first, plain = from_parquet(args.reports, folder)
        second, size, once = with_ids(args.ids, folder)
        with spark_session() as session:
            third = measured(session, folder)
    drawn, seconds = errors()
    sent = wire_bytes()
    rates = Rates(sent, size, plain, once, third.once, seconds)
    costs = [step.row(reports) for reports in SIZES for step in steps(reports, rates, given)]
    wire = [["a batch of one report, as it is sent", str(sent), "bytes"]]
    found = ", ".join(f"{name} {one}" for name, one in environment("numpy", "pyarrow", "duckdb", "pysail").items())
    parts = [
        found,
        table(["measure", "value", "unit"], [*first, *wire, *second, *third.rows]),
        table(["assumption", "value", "what it is"], given.rows()),
        table(["reports", "step", "GB", "time", "machines for a day", "dollars"], costs),
        table(["reports", "standard error of a share", "largest error of 128", "drawn in"], drawn),
        table(["one tally of", "most that a report adds", "most reports"], most_reports()),
    ]
    whole = "\n\n".join(parts)
    print(whole)
    if args.page:
        page = Path(args.page)
        begin, end = MARKS
        head, _, rest = page.read_text().partition(begin)
        page.write_text(f"{head}{begin}\n```console\n{whole}\n```\n{end}{rest.partition(end)[2]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
