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
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.memory import K, mechanism, peak_megabytes
from benchmarks.partitions import measured
from benchmarks.timing import environment, table
from sottovoce.engines.session import spark_session

SIZES = (10**6, 10**9, 10**12)
GIGABYTE = 10**9
TARGET_RATIO, TARGET_MEGABYTES = 1.5, 1000
MARKS = "<!-- scale: begin -->", "<!-- scale: end -->"


@dataclass(frozen=True)
class Assumptions:
    """What is not measured here."""

    storage_price: float = 0.023
    core_price: float = 0.05
    collector_rate: float = 10_000

    def rows(self) -> list[list[str]]:
        return [
            ["object storage, --storage-price", f"{self.storage_price:g}", "dollars for a gigabyte and month"],
            ["a core, --core-price", f"{self.core_price:g}", "dollars an hour"],
            ["one collector, --collector-rate", f"{self.collector_rate:,.0f}", "reports/s; see benchmarks.collector"],
        ]


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


def steps(size: float, plain: float, unique: float, assumed: Assumptions) -> list[list[str]]:
    """Bytes, time and money of each step."""
    rows = []
    for reports in SIZES:
        stored = reports * size / GIGABYTE
        for step, seconds, gigabytes in (
            ("receive, one collector", reports / assumed.collector_rate, stored),
            ("store for a month", 0.0, stored),
            ("count, without ids", reports / plain, stored),
            ("count, each id once", reports / unique, stored),
        ):
            stores = step.startswith("store")
            money = assumed.storage_price * gigabytes if stores else assumed.core_price * 2 * seconds / 3600
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
    for one in fields(Assumptions):
        option = f"--{one.name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=one.default, help=f"assumed; {one.default:g} by default")
    parser.add_argument("--page", metavar="FILE", help="write the tables between the marks of this page")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        count_with(*args.child)
        return 0
    assumed = Assumptions(args.storage_price, args.core_price, args.collector_rate)
    with tempfile.TemporaryDirectory(prefix="sottovoce-scale-") as text:
        folder = Path(text)
        first, plain = from_parquet(args.reports, folder)
        second, size, unique = with_ids(args.ids, folder)
        with spark_session() as session:
            third = measured(session, folder)
    found = ", ".join(f"{name} {one}" for name, one in environment("numpy", "pyarrow", "duckdb", "pysail").items())
    parts = [
        found,
        table(["measure", "value", "unit"], [*first, *second, *third]),
        table(["assumption", "value", "unit"], assumed.rows()),
        table(["reports", "step", "GB", "time on two cores", "dollars"], steps(size, plain, unique, assumed)),
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
