"""Our package beside pure-ldp and multi-freq-ldpy, in one process: ``scripts/bench-peers.sh``.

Both sides get the same integer codes in the form they take them fastest (Python ints in a list for the
peers' per-item calls, one NumPy array for ours), both are warmed up first (Numba compiles on both sides),
and peer and own measures alternate, so that a machine that slows down slows both. The ratio is the median
over the repeats of own throughput / peer throughput. Ours runs on more items than the peer, because the
same count would leave nothing to time; "same n" is the ratio on the peer's count, where our fixed costs
per call weigh in full. "cores" is what other programs left to us meanwhile: the peers use one core and we
all, so on a busy machine the ratio comes out too low. "per core" compares CPU time instead, which a busy machine
hardly changes: its mean over the pairs, with the standard error.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cases import Case
from benchmarks.timing import Row, calibrate, clock, dump, environment, free_cores, mark, median, si, table

EPSILON = 1.0
#: The reports of one call must fit into a small machine, peers' wide vectors too.
MOST_BYTES = 200_000_000


def codes_for(k: int, n: int) -> np.ndarray:
    """Skewed codes: uniform ones would hide a side that favours one value."""
    weights = 1.0 / np.arange(1, k + 1)
    return np.random.default_rng(20_24).choice(k, size=n, p=weights / weights.sum()).astype(np.int64)


def most_reports(mechanism: str, k: int, peer: bool) -> int:
    """Peers spend eight bytes on every bit or member of a report; ours packs bits."""
    wide = {"sue": k, "oue": k, "subset": k // 3 + 1}
    if mechanism not in wide:
        return MOST_BYTES // (100 if peer else 16)  # a Python tuple of two ints takes about 100 bytes
    return MOST_BYTES // (8 * wide[mechanism] if peer else wide[mechanism])


class Own:
    """Our side of a case."""

    def __init__(self, case: Case) -> None:
        import sottovoce as sv

        self.case = case
        options = dict(case.options)
        self.mechanism = sv.mechanism(case.mechanism, sv.Integers(0, case.k - 1), epsilon=EPSILON, **options)

    def make(self, codes: np.ndarray) -> Callable[[], object]:
        m = self.mechanism
        if self.case.operation == "privatize":
            return lambda: m.privatize(codes)
        reports = m.privatize(codes)
        if self.case.operation == "tally":
            return lambda: m.tally(reports)
        return lambda: m.estimate(m.tally(reports)).values


@dataclass
class Options:
    seconds: float
    repeats: int
    peers_only: bool = False


def clock_cpu(call: Callable[[], object], loops: int) -> tuple[float, float]:
    """Seconds of one call, and its CPU seconds on all cores together."""
    start = time.process_time()
    wall = clock(call, loops)
    return wall, max((time.process_time() - start) / loops, 1e-9)


def compare(case: Case, options: Options) -> list[Row]:
    most = most_reports(case.mechanism, case.k, peer=True)
    n_peer, peer_loops = calibrate(lambda n: case.make(codes_for(case.k, n)), options.seconds, 200, most)
    if options.peers_only:
        call = case.make(codes_for(case.k, n_peer))
        rate = median(n_peer / clock(call, peer_loops) for _ in range(options.repeats))
        return [Row(f"{case.peer}: {case.name}", rate, "reports/s", extra={"peer": case.peer, "n_peer": n_peer})]
    own = Own(case)
    # A third of the peer's time suffices: ours is vectorised and its timings scatter less.
    most = most_reports(case.mechanism, case.k, peer=False)
    n_own, own_loops = calibrate(lambda n: own.make(codes_for(case.k, n)), options.seconds / 3, 20_000, most)

    peer_call = case.make(codes_for(case.k, n_peer))
    own_call = own.make(codes_for(case.k, n_own))
    same_call = own.make(codes_for(case.k, n_peer))
    peer_rates, own_rates, ratios, same, per_core = [], [], [], [], []
    for call in (own_call, same_call):
        call()
    cores = [free_cores()]
    for _ in range(options.repeats):
        peer_wall, peer_cpu = clock_cpu(peer_call, peer_loops)
        own_wall, own_cpu = clock_cpu(own_call, own_loops)
        peer_rates.append(n_peer / peer_wall)
        own_rates.append(n_own / own_wall)
        ratios.append(own_rates[-1] / peer_rates[-1])
        per_core.append(peer_cpu / n_peer / (own_cpu / n_own))
        # Often well below a millisecond, so one interruption must not decide it.
        same.append(n_peer / median(clock(same_call) for _ in range(5)) / peer_rates[-1])
        cores.append(free_cores())

    per_report = case.k if case.mechanism == "olh" and case.operation != "privatize" else 1
    extra = {
        "peer": case.peer,
        "own_per_second": median(own_rates),
        "peer_per_second": median(peer_rates),
        "ratio_same_n": median(same),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "per_core": statistics.mean(per_core),
        "per_core_standard_error": statistics.stdev(per_core) / math.sqrt(len(per_core)),
        "pairs": len(per_core),
        "free_cores": median(cores),
        "n_own": n_own,
        "n_peer": n_peer,
    }
    if per_report > 1:
        extra["own_checks_per_second"] = median(own_rates) * per_report
        extra["peer_checks_per_second"] = median(peer_rates) * per_report
    rows = [Row(f"{case.peer}: {case.name}", median(ratios), "x", case.target, extra=extra)]
    if per_report > 1 and case.target and case.target > 1:
        # The ratio alone would reward a slow peer, so the rate of support checks has its own bound.
        rows.append(Row("support checks of ours in the row above", median(own_rates) * case.k, "1/s", 1e9))
    return rows


def all_cases(which: str) -> list[Case]:
    from benchmarks import peer_multi_freq, peer_pure_ldp

    modules = {"pure-ldp": peer_pure_ldp, "multi-freq-ldpy": peer_multi_freq}
    return [case for peer, module in modules.items() if which in ("all", peer) for case in module.cases(EPSILON)]


def render(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        if "peer_per_second" not in row.extra:
            target = f">= {si(row.target)}" if row.target else ""
            where = ["", si(row.value)] if "peer" in row.extra else [si(row.value), ""]
            lines.append([row.name, *where, "", "", "", "", target, mark(row.ok)])
            continue
        own, peer = row.extra["own_per_second"], row.extra["peer_per_second"]
        target = f">= {row.target:g}x" if row.target else ""
        cells = [
            si(own),
            si(peer),
            f"{row.value:.4g}x",
            f"{row.extra['ratio_same_n']:.4g}x",
            f"{row.extra['per_core']:.3g} ({row.extra['per_core_standard_error']:.1g})",
            f"{row.extra['free_cores']:.1f}",
            target,
            mark(row.ok),
        ]
        lines.append([row.name, *cells])
    header = ["operation (reports per second)", "ours", "peer", "ratio", "same n", "per core", "cores", "target", ""]
    return table(header, lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--quick", action="store_true", help="shorter measures, for a first look")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--peers-only", action="store_true", help="leave our side out")
    parser.add_argument("--peer", choices=["all", "pure-ldp", "multi-freq-ldpy"], default="all")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows whose name contains TEXT")
    parser.add_argument("--pairs", type=int, metavar="N", help="how often both sides are measured in turn, 2 or more")
    args = parser.parse_args(argv)
    # The peers warn on every estimate of fewer than 10 000 reports.
    warnings.simplefilter("ignore")

    seconds, pairs = (0.3, 3) if args.quick else (1.0, 5)
    options = Options(seconds, max(2, args.pairs or pairs), args.peers_only)
    rows: list[Row] = []
    for case in all_cases(args.peer):
        if args.only not in f"{case.peer}: {case.name}":
            continue
        print(f"  {case.peer}: {case.name}", file=sys.stderr, flush=True)
        rows += compare(case, options)
    found = environment("sottovoce", "pure-ldp", "multi-freq-ldpy", "numpy", "numba", "xxhash")
    if args.json:
        print(dump({"environment": found, "rows": [row.as_dict() for row in rows]}))
    else:
        print(", ".join(f"{name} {version}" for name, version in found.items()))
        print(render(rows))
    return int(args.check and any(row.ok is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
