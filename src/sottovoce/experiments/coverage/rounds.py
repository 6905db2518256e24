"""Coverage of the intervals of vectors and of protocols, as a page.

`python -m sottovoce.experiments.coverage.rounds --write FILE` writes it. Sections take minutes, so `--only` computes a
few again and leaves the others of the page as they are.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sottovoce.experiments.coverage import adaptive as coverage_adaptive
from sottovoce.experiments.coverage import gaussian as coverage_gaussian
from sottovoce.experiments.coverage import ranges as coverage_range
from sottovoce.experiments.coverage import sparse as coverage_sparse
from sottovoce.experiments.coverage import sphere as coverage_sphere
from sottovoce.experiments.coverage import variance as coverage_variance
from sottovoce.experiments.coverage import vector as coverage_vector

HEAD = """\
# Coverage of 95 % intervals: vectors and rounds

Simulated by `make coverage`, each run with the estimate and the interval that ship. Shares and single means are on
[a page of their own](coverage.md).
"""
SECTIONS: dict[str, Callable[[], str]] = {
    "vectors": lambda: coverage_vector.markdown(list(coverage_vector.table())),
    "balls": lambda: coverage_sphere.markdown(list(coverage_sphere.table())),
    "sparse": lambda: coverage_sparse.markdown(coverage_sparse.rows()),
    "variances": lambda: coverage_variance.markdown(list(coverage_variance.table())),
    "adaptive": lambda: coverage_adaptive.markdown(list(coverage_adaptive.table())),
    "ranges": lambda: coverage_range.markdown(coverage_range.range_coverage_rows()),
    "gaussian": lambda: coverage_gaussian.markdown(list(coverage_gaussian.table())),
}
_MARK = re.compile(r"<!-- section: (\w+) -->\n")


def sections(page: str) -> dict[str, str]:
    """The sections of a page by name."""
    pieces = _MARK.split(page)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def page(old: str, only: Sequence[str]) -> str:
    """The page with the sections asked for computed again."""
    known = sections(old)
    for name in only:
        print(f"{name} ...", file=sys.stderr, flush=True)
        known[name] = SECTIONS[name]()
    return HEAD + "".join(f"<!-- section: {name} -->\n{known[name]}" for name in SECTIONS if name in known)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command behind `make coverage`."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of vectors and protocols.")
    parser.add_argument("--write", type=Path, help="write the page to this file; else it is printed")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), help="these sections")
    options = parser.parse_args(arguments)
    old = options.write.read_text(encoding="utf-8") if options.write and options.write.exists() else ""
    for name in options.only:  # one after another, so that what is computed is kept
        old = page(old, [name])
        if options.write:
            options.write.write_text(old, encoding="utf-8")
    if not options.write:
        print(old)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
