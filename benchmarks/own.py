"""What ``python -m benchmarks`` measures: throughput, numbers, vectors, the client, first steps, memory, drawing."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks import distributions, open_domains, tables
from benchmarks.timing import Row, calibrate, clock, median
from sottovoce.design import designed
from sottovoce.fast.batch import CHUNK_BYTES, draw
from sottovoce.fast.words import WordStream

EPSILON = 1.0
MECHANISMS = tuple(name for name in sv.names(sv.Frequency) if name != "rr")  # which takes two categories only
MEANS = tuple(sv.names(sv.Mean))
SIZES = (128, 1024)
#: Where one report is a vector, the batch stays small enough for a small machine.
MOST_BYTES = 200_000_000


def mechanism(name: str, k: int):  # type: ignore[no-untyped-def]

    return sv.mechanism(name, sv.Integers(0, k - 1), epsilon=EPSILON)


def most_reports(name: str, k: int) -> int:
    per_report = {"sue": k, "oue": k, "subset": 2 * k}.get(name, 20)
    return MOST_BYTES // per_report


def timed_row(name: str, make: Callable[[int], Callable[[], object]], k: int, most: int, quick: bool) -> Row:
    """Throughput, beside NumPy's time for as many uniform integers.

    Seconds depend on the machine and on who shares it; the ratio to work that NumPy does in the same moment
    hardly does, so that two runs can be compared by it.
    """
    seconds, repeats = (0.1, 3) if quick else (0.3, 5)
    n, _ = calibrate(make, seconds, 2_000, most)
    call = make(n)
    call()
    rng = np.random.default_rng(7)
    times, units = [], []
    for _ in range(repeats):
        times.append(clock(call))
        units.append(times[-1] / clock(lambda: rng.integers(0, k, size=n), 3))
    return Row(name, n / median(times), "reports/s", extra={"units": median(units), "n": n})


def throughput_of(name: str, k: int, quick: bool) -> list[Row]:
    m = mechanism(name, k)
    rng = np.random.default_rng(1)

    def privatize(n: int) -> Callable[[], object]:
        values = rng.integers(0, k, size=n)
        return lambda: m.privatize(values)

    def tally(n: int) -> Callable[[], object]:
        reports = m.privatize(rng.integers(0, k, size=n))
        return lambda: m.tally(reports)

    rows = [
        timed_row(f"{operation} {name}, k={k}", make, k, most_reports(name, k), quick)
        for operation, make in (("privatize", privatize), ("tally", tally))
    ]
    counted = m.tally(m.privatize(rng.integers(0, k, size=20_000)))
    m.estimate(counted)
    times = [clock(lambda: m.estimate(counted).std_errors, 5) for _ in range(3 if quick else 5)]
    return [*rows, Row(f"estimate {name}, k={k}", 1e3 * median(times), "ms")]


def throughput(quick: bool) -> list[Row]:
    """Privatize, tally and estimate of every mechanism."""
    return [row for k in SIZES for name in MECHANISMS for row in throughput_of(name, k, quick)]


def numbers(quick: bool) -> list[Row]:
    """Ten million floats privatized and tallied by every mechanism for means, and tallies drawn from their law."""
    n = 1_000_000 if quick else 10_000_000
    values = np.random.default_rng(5).uniform(0, 100, n)
    rows = []
    for name in MEANS:
        m = sv.mechanism(name, sv.Interval(0, 100), epsilon=EPSILON)
        histogram = np.random.default_rng(6).multinomial(n, np.full(m.channel.inputs, 1 / m.channel.inputs))
        calls = (
            ("privatize and tally", partial(lambda m: m.tally(m.privatize(values)), m), 2.0 * n / 10_000_000),
            ("simulate", partial(sv.simulate_counts, m, histogram, seed=1), None),
        )
        for operation, call, target in calls:
            call()
            seconds = median(clock(call) for _ in range(3 if quick else 5))
            rows.append(Row(f"{operation} {n // 1_000_000} million numbers, {name}", seconds, "s", target, "max"))
    return rows


def vectors(quick: bool) -> list[Row]:
    """Up to a million vectors privatized and tallied: 32 numbers, or 1,000 places of which at most 3 are held."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(7)
    boxes = rng.uniform(-1, 1, (n, 32))
    balls = boxes[: n // 10] / 6
    places = np.zeros((n // 10, 1000), np.float32)
    np.put_along_axis(places, rng.integers(0, 1000, (n // 10, 3)), 1, axis=1)
    cases = [(name, sv.Box(-1, 1, 32), boxes) for name in ("sampled", "split-epsilon", "duchi-linf")]
    cases += [(name, sv.Ball(1, 32), balls) for name in ("duchi-l2", "priv-unit", "priv-unit-g", "proj-unit")]
    cases += [("sparse", sv.Sparse(1000, 3), places)]
    rows = []
    for name, domain, values in cases:
        m = sv.mechanism(name, domain, epsilon=EPSILON)
        call = partial(lambda m, values: m.tally(m.privatize(values)), m, values)
        call()
        seconds = median(clock(call) for _ in range(3))
        rows.append(
            Row(f"privatize and tally {len(values) // 1000} thousand vectors, {name}", seconds, "s", None, "max")
        )
    return rows


def designs(quick: bool) -> list[Row]:
    """Linear programs from nothing: the bounds of the worst of three objectives at each size."""
    prior = sv.Prior.exponential(6, -1, 1)
    goals = ({"objective": "worst-case"}, {"objective": "balanced"}, {"objective": "prior", "prior": prior})
    rows = []
    for inputs, seconds in ((17, 1.0), (33, 5.0)):
        for epsilon in ("1", "4") if quick else ("0.1", "0.5", "1", "2", "4", "8"):
            taken = []
            for goal in goals:
                designed._solved.cache_clear()
                taken.append(clock(partial(designed.design, epsilon, inputs=inputs, **goal)))
            rows.append(Row(f"design {inputs} inputs, epsilon {epsilon}", max(taken), "s", seconds, "max"))
    return rows


def scalar_client(quick: bool) -> list[Row]:
    """One report at a time, as a device makes it, without NumPy."""
    from sottovoce.client import Client

    values = np.random.default_rng(2).integers(0, 128, size=500 if quick else 4_000).tolist()

    def microseconds(name: str) -> float:
        report = Client.from_spec(mechanism(name, 128).spec()).report

        def run() -> None:
            for value in values:
                report(value)

        run()
        return 1e6 * median(clock(run) for _ in range(5)) / len(values)

    # Only the simplest method has a bound: a device answers one question, not millions.
    targets = {"grr": 20.0}
    return [
        Row(f"client report {name}, k=128", microseconds(name), "us", targets.get(name), "max") for name in MECHANISMS
    ]


def run_python(code: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def imports(quick: bool) -> list[Row]:
    """Import time in fresh processes, alternating with a bare interpreter."""
    timed = (
        "import sys, time; a = time.perf_counter(); import {0}; print(1e3 * (time.perf_counter() - a));"
        "print(len({{'numpy', 'scipy', 'numba', 'pandas', 'pyarrow'}} & set(sys.modules)))"
    )
    rows = []
    for module, target in (("sottovoce.client", 100), ("sottovoce", None)):
        inside, ratios, heavy = [], [], 0
        run_python(timed.format(module))  # writes the bytecode
        for _ in range(3 if quick else 9):
            bare, _ = run_python("pass")
            whole, out = run_python(timed.format(module))
            inside.append(float(out.split()[0]))
            heavy = int(out.split()[1])
            ratios.append(whole / bare)
        rows.append(Row(f"import {module}", median(inside), "ms", target, "max"))
        rows.append(Row(f"process that imports {module}", median(ratios), "x bare python"))
        rows.append(Row(f"array packages that {module} imports", heavy, "packages"))
    return [*rows, client_import(quick)]


def client_import(quick: bool) -> Row:
    """CPU of importing the client, over that of its standard modules: both in one process, so that load cancels."""
    listed = "import sys; a = set(sys.modules); import sottovoce.client; print(*(m for m in sys.modules if m not in a))"
    loaded = run_python(listed)[1].split()
    standard = [name for name in loaded if name.split(".")[0] != "sottovoce"]
    timed = (
        "from time import process_time as now; a = now(); [__import__(name) for name in {0}]; b = now();"
        "import sottovoce.client; print((now() - a) / (b - a))"
    )
    ratios = [float(run_python(timed.format(standard))[1]) for _ in range(5 if quick else 25)]
    own = len(loaded) - len(standard)
    name = f"import sottovoce.client ({own} modules) over its standard modules"
    return Row(name, median(ratios), "x", 3, "max")


def first_batch() -> float:
    """Seconds of processor time, from the start of a process to the table of its last estimate."""
    command = [sys.executable, "-m", "benchmarks.first_batch"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def command_help() -> float:
    """Seconds of processor time of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "sottovoce", "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_steps(quick: bool) -> list[Row]:
    """What a person waits for first, with bytecode and kernels compiled before."""
    rows = []
    for name, measure, target in (
        ("first batch: import to table, four mechanisms", first_batch, 1.5),
        ("sottovoce --help", command_help, 0.3),
    ):
        measure()
        rows.append(Row(name, median(measure() for _ in range(3 if quick else 7)), "s CPU", target, "max"))
    return rows


def memory(quick: bool) -> list[Row]:
    """Peak memory of a process that tallies a Parquet file larger than it may hold."""
    reports = 5_000_000 if quick else 50_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"

        def child(action: str) -> str:
            command = [sys.executable, "-m", "benchmarks.memory", action, str(path), str(reports)]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        child("write")
        megabytes, idle, seconds, counted = (float(x) for x in child("read").split())
        if counted != reports:
            raise SystemExit(f"the stream counted {counted:.0f} of {reports} reports")
    name = f"stream {reports // 1_000_000} million grr reports from Parquet"
    return [
        Row(f"{name}: peak memory", megabytes, "MB", 500, "max"),
        Row("of which imports and setup", idle, "MB"),
        Row(f"{name}: rate", reports / seconds, "reports/s"),
    ]


def command_line(quick: bool) -> list[Row]:
    """The three verbs on a Parquet file, each a process of its own, as an operator runs them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 1_000_000 if quick else 10_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.parquet"
        pq.write_table(pa.table({"age": np.random.default_rng(4).integers(0, 128, n)}), answers)
        for name in ("grr", "olh"):
            reports, tally = Path(folder) / f"{name}.parquet", Path(folder) / f"{name}.tally"
            asked = ["--column", "age", "--low", "0", "--high", "127", "--whole", "--method", name, "--epsilon", "1"]
            verbs = (
                ["privatize", str(answers), *asked, "--output", str(reports)],
                ["tally", str(reports), "--output", str(tally)],
                ["estimate", str(tally), "--json"],
            )
            seconds = []
            for verb in verbs:
                start = time.perf_counter()
                subprocess.run([sys.executable, "-m", "sottovoce", *verb], check=True, capture_output=True)
                seconds.append(time.perf_counter() - start)
            label = f"privatize, tally, estimate {n // 1_000_000} million rows, {name}, command line"
            rows.append(Row(label, sum(seconds), "s", 15, "max"))
    return rows


def simulation(quick: bool) -> list[Row]:
    """Whole populations drawn at the level of counts."""

    people, k = 10_000_000, 128
    weights = 1.0 / np.arange(1, k + 1)
    histogram = np.random.default_rng(3).multinomial(people, weights / weights.sum())

    def milliseconds(name: str) -> float:
        m = mechanism(name, k)
        # The joint law of the cells of these is not tractable at this size; each cell's own law is.
        joint = name not in ("olh", "blh", "slh", "subset")
        simulate = partial(sv.simulate_counts, m, histogram, joint=joint)
        simulate(seed=0)
        repeats = 3 if quick else 7
        return 1e3 * median(clock(partial(simulate, seed=1 + r)) for r in range(repeats))

    return [Row(f"simulate 10^7 people, {name}, k={k}", milliseconds(name), "ms") for name in MECHANISMS]


def costs_of_a_report(quick: bool) -> list[Row]:
    """What a report of `subset` with 128 categories costs on one core: its words, the rest, and all of it.

    Words and reports are measured in turn in 20 rounds, as CPU time; the column of units has the standard error.
    """
    m, count = mechanism("subset", 128), 100_000
    codes = np.random.default_rng(5).integers(0, 128, count).astype(np.uint32)
    stream = WordStream.seeded(m.words, 1)

    def words() -> None:
        for _ in stream.chunks(0, count, CHUNK_BYTES // (8 * m.words)):
            pass

    def cost(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return 1e9 * (time.process_time() - start) / count

    reports = partial(draw, m, codes, stream, threads=1)
    reports()  # compiles
    pairs = np.array([(cost(words), cost(reports)) for _ in range(20)])
    parts = {"words of AES-256-CTR": pairs[:, 0], "the rest": pairs[:, 1] - pairs[:, 0], "a report": pairs[:, 1]}
    errors = {part: times.std(ddof=1) / len(times) ** 0.5 for part, times in parts.items()}
    return [
        Row(f"subset, k=128: {part}", float(times.mean()), f"ns of CPU (se {errors[part]:.2g})")
        for part, times in parts.items()
    ]


#: In the order they are printed; the slow one last.
PARTS: dict[str, Callable[[bool], list[Row]]] = {
    "throughput": throughput,
    "report": costs_of_a_report,
    "numbers": numbers,
    "vectors": vectors,
    "designs": designs,
    "distributions": distributions.decoders,
    "tables": tables.tables,
    "open domains": open_domains.open_domains,
    "client": scalar_client,
    "import": imports,
    "first steps": first_steps,
    "simulation": simulation,
    "memory": memory,
    "command": command_line,
}
