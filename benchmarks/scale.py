"""``python -m benchmarks.scale``: what each step costs for a million, a billion and a thousand billion reports.

Rates are measured here, on this machine: counting GRR reports from Parquet by our own stream and by DuckDB, each in a
process of its own; finding repeated ids in DuckDB; a partition of Spark, on pysail; and drawing whole tallies for the
error of the estimate. The rest is arithmetic with the prices below, which are assumptions.
``--page FILE`` writes the tables between the marks of a page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.memory import K, mechanism, peak_megabytes
from benchmarks.timing import environment, si, table

SIZES = (10**6, 10**9, 10**12)
GIGABYTE = 10**9
STORAGE = 0.023  # dollars for a gigabyte of object storage in a month
CORE_HOUR = 0.05  # dollars
REQUESTS = 25_000  # reports in a second that one collector takes: an assumption
TARGET_RATIO, TARGET_MEGABYTES = 1.5, 1000
MARKS = "<!-- scale: begin -->", "<!-- scale: end -->"


# --- children: a peak of memory once reached never falls again -------------------------------------------------
def count_with(engine: str, path: str) -> None:
    from sottovoce.engines import duckdb
    from sottovoce.tally.stream import read_parquet

    m = mechanism()
    work = {
        "stream": lambda: m.tally_batches(read_parquet(path, m)),
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


def partitions(folder: Path) -> tuple[list[list[str]], float]:
    """What a partition of Spark costs beside its reports: 64 partitions of few rows against one, on pysail."""
    os.environ.setdefault("RUST_LOG", "error")
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    from sottovoce.engines import spark as engine

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    m, many = mechanism(), 64

    def seconds(rows: int, parts: int) -> float:
        path = str(folder / f"{rows}.parquet")
        pq.write_table(pa.table({"report": pa.array(np.zeros(rows, np.uint8))}), path)
        frame = session.read.parquet(path).repartition(parts)
        engine.count(frame, m).toArrow()
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            engine.count(frame, m).toArrow()
            taken.append(time.perf_counter() - start)
        return min(taken)

    each = (seconds(many, many) - seconds(many, 1)) / (many - 1)
    rate = 4 * 10**6 / max(seconds(4 * 10**6, 2) - seconds(many, 2), 1e-9)
    session.stop()
    server.stop()
    rows = [
        ["one partition of Spark beside its reports, on pysail", f"{1000 * each:.1f}", "ms"],
        ["counting on pysail, two cores", si(rate), "reports/s"],
    ]
    return rows, each


def errors() -> list[list[str]]:
    """The error of the estimates of so many reports, from tallies that are drawn whole."""
    import sottovoce as sv

    m, rows = mechanism(), []
    for size in SIZES:
        held = np.full(K, size // K)
        start = time.perf_counter()
        tally = sv.simulate_counts(m, held, seed=1)
        seconds = time.perf_counter() - start
        estimate = m.estimate(tally)
        error = float(np.abs(estimate.values - held / held.sum()).max())
        rows.append([f"{size:.0e}", f"{float(estimate.std_errors.max()):.1e}", f"{error:.1e}", f"{seconds:.3f} s"])
    return rows


def steps(size: float, plain: float, unique: float) -> list[list[str]]:
    """Bytes, time and money of each step."""
    rows = []
    for reports in SIZES:
        stored = reports * size / GIGABYTE
        for step, seconds, gigabytes in (
            ("receive, one collector", reports / REQUESTS, stored),
            ("store for a month", 0.0, stored),
            ("count, without ids", reports / plain, stored),
            ("count, each id once", reports / unique, stored),
        ):
            money = STORAGE * gigabytes if step.startswith("store") else CORE_HOUR * 2 * seconds / 3600
            taken = _time(seconds) if seconds else ""
            rows.append([f"{reports:.0e}", step, f"{gigabytes:,.2f}", taken, f"{money:,.2f}"])
    return rows


def _time(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.2f} s"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--reports", type=int, default=10**8, help="in the file that our stream and DuckDB count")
    parser.add_argument("--ids", type=int, default=10**7, help="in the file with ids")
    parser.add_argument("--page", metavar="FILE", help="write the tables between the marks of this page")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        count_with(*args.child)
        return 0
    with tempfile.TemporaryDirectory(prefix="sottovoce-scale-") as text:
        folder = Path(text)
        first, plain = from_parquet(args.reports, folder)
        second, size, unique = with_ids(args.ids, folder)
        third, _ = partitions(folder)
    found = ", ".join(f"{name} {one}" for name, one in environment("numpy", "pyarrow", "duckdb", "pysail").items())
    parts = [
        found,
        table(["measure", "value", "unit"], [*first, *second, *third]),
        table(["reports", "step", "GB", "time on two cores", "dollars"], steps(size, plain, unique)),
        table(["reports", "standard error of a share", "largest error of 128", "drawn in"], errors()),
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
