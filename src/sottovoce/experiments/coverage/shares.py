"""How often intervals for shares cover, computed from the law of the counts. No simulation.

For each possible count (or pair of counts) the shipped interval is evaluated, and the probabilities of those that
cover the truth are added up. `python -m sottovoce.experiments.coverage.shares --write FILE` writes the table, and that
of means.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sottovoce.core.domain import Integers
from sottovoce.core.registry import fits, names
from sottovoce.core.registry import mechanism as build
from sottovoce.experiments.coverage import group as coverage_group
from sottovoce.experiments.coverage import mean as coverage_mean
from sottovoce.experiments.coverage import shown as coverage_shown
from sottovoce.testing.coverage import coverage

SIZES = (16, 256)
EPSILONS = (0.5, 1.0, 3.0)
PARTICIPANTS = (500, 50_000)
SHARES = (0.0, 0.01, 0.1, 0.4)
KINDS = (
    ("exact", "population"),
    ("exact", "sample"),
    ("wilson", "population"),
    ("normal", "population"),
    ("normal", "sample"),
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """One cell of the table."""

    mechanism: str
    k: int
    epsilon: float
    n: int
    share: float
    method: str
    target: str
    coverage: float


def table(
    methods: Sequence[str] | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    epsilons: Sequence[float] = EPSILONS,
    participants: Sequence[int] = PARTICIPANTS,
    shares: Sequence[float] = SHARES,
) -> Iterator[Coverage]:
    """Every cell of the grid."""
    for name in methods or names("frequency"):
        for k in sizes:
            if not fits(name, Integers(0, k - 1)):
                continue
            for epsilon in epsilons:
                mechanism = build(name, Integers(0, k - 1), epsilon=epsilon)
                for n in participants:
                    for share in shares:
                        for method, target in KINDS:
                            covered = coverage(mechanism, n, share, method, target)
                            yield Coverage(name, k, epsilon, n, share, method, target, covered)


def markdown(rows: Sequence[Coverage]) -> str:
    """The table as a documentation page."""
    lines = [
        "# Coverage of 95 % intervals",
        "",
        "Computed from the law of the counts, not simulated, by `make coverage`. All values other than the one shown"
        " are held equally often. Percentages; columns are method and target.",
        "",
        "| mechanism | k | epsilon | n | share | " + " | ".join(f"{m}, {t}" for m, t in KINDS) + " |",
        "|---" * (5 + len(KINDS)) + "|",
    ]
    for start in range(0, len(rows), len(KINDS)):
        group = rows[start : start + len(KINDS)]
        first = group[0]
        cells = " | ".join(f"{100 * row.coverage:.2f}" for row in group)
        lines.append(f"| {first.mechanism} | {first.k} | {first.epsilon:g} | {first.n} | {first.share:g} | {cells} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command behind `make coverage`."""
    parser = argparse.ArgumentParser(description="Coverage of intervals, computed from the law.")
    parser.add_argument("--write", type=Path, help="write the table as Markdown to this file")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(arguments)
    rows = []
    for row in table():
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} cells", end="", file=sys.stderr)
    means = []
    for mean in coverage_mean.table():
        means.append(mean)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} cells of shares, {len(means)} of means", end="", file=sys.stderr)
    groups = coverage_group.group_coverage_rows()
    shown = coverage_shown.rows()
    if options.write:
        page = markdown(rows) + coverage_mean.markdown(means) + coverage_group.markdown(groups)
        page += coverage_shown.markdown(shown)
        options.write.write_text(page, encoding="utf-8")
    if options.json:
        print(json.dumps([asdict(row) for row in (*rows, *means, *groups, *shown)]))
    worst = {kind: min(r.coverage for r in rows if (r.method, r.target) == kind) for kind in KINDS}
    best = {kind: max(r.coverage for r in rows if (r.method, r.target) == kind) for kind in KINDS}
    for kind in KINDS:
        print(f"{kind[0]:>7} {kind[1]:<11} from {100 * worst[kind]:.2f} to {100 * best[kind]:.2f} %", file=sys.stderr)
    for method, target in coverage_mean.KINDS:
        found = [mean.coverage for mean in means if (mean.method, mean.target) == (method, target)]
        print(f"mean, {method} {target} from {100 * min(found):.2f} to {100 * max(found):.2f} %", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
