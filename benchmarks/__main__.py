"""``python -m benchmarks``: how fast this package is on this machine."""

from __future__ import annotations

import argparse
import sys

from benchmarks import own
from benchmarks.timing import Row, dump, environment, mark, si, table


def line(row: Row) -> list[str]:
    units = f"{row.extra['units']:.3g}" if "units" in row.extra else ""
    sign = ">=" if row.sense == "min" else "<"
    target = f"{sign} {si(row.target)}" if row.target is not None else ""
    return [row.name, si(row.value), row.unit, units, target, mark(row.ok)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter measures")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--only", default="", metavar="TEXT", help="only parts whose name contains TEXT")
    args = parser.parse_args(argv)

    rows: list[Row] = []
    for name, part in own.PARTS.items():
        if args.only in name:
            print(f"  {name}", file=sys.stderr, flush=True)
            rows += part(args.quick)
    found = environment("sottovoce", "numpy", "numba", "pyarrow")
    if args.json:
        print(dump({"environment": found, "rows": [row.as_dict() for row in rows]}))
    else:
        print(", ".join(f"{name} {version}" for name, version in found.items()))
        print(table(["measure", "value", "unit", "units*", "target", ""], [line(row) for row in rows]))
        print("* one unit: the time NumPy takes to draw as many uniform integers, in the same run")
    return int(args.check and any(row.ok is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
