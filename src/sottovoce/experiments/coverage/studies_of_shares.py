"""Studies of coverage that `docs/coverage-of-shares.md` shows: shares at three levels, and of decoded estimates.

Declared apart from what computes them, so that they can be listed without loading it.
"""

from __future__ import annotations

from itertools import product

from sottovoce.experiments.coverage.studies import SHARE_KINDS
from sottovoce.experiments.coverage.study import study
from sottovoce.experiments.page import Page, PageColumn, Section, percent

PAGE = Page(
    "coverage-of-shares.md",
    """\
# Coverage of intervals for shares: levels, and all values at once

Written by `make coverage`. [Coverage](coverage.md) shows single shares at 95 %; here are other levels, intervals that
hold for all values at once, and the intervals of decoders.
""",
)
ONE, ALL = "one share", "all shares"
LEVELS = (0.9, 0.95, 0.99)
SHARES = (0.0, 1e-4, 0.01, 0.3)
ORACLES = ("grr", "subset", "oue", "olh", "hadamard")
SIZES, BUDGETS, PEOPLE = (16, 1024, 13_929), (0.5, 1.0, 3.0), (1_000, 10_000, 100_000, 1_000_000)
FOUND = ("mechanism", "k", "epsilon", "n")
# The law of a Hadamard sum has two counts, whose table is too large to be summed up beyond a thousand reports.
GRID = tuple(
    one
    for one in product(ORACLES, SIZES, BUDGETS, PEOPLE)
    if one[0] != "hadamard" or (one[1] <= 1024 and one[3] <= 1_000)
)

LEVELS_STUDY = study(
    "levels",
    "Intervals for shares at 90, 95 and 99 %, one by one and all at once, summed over the law of the counts",
    cell="levels:cell",
    grid=((FOUND, GRID),),
    quick=((FOUND, (("oue", 16, 1.0, 1_000), ("grr", 16, 3.0, 1_000))),),
    runs=1,
    quick_runs=1,
    section=Section(
        page=PAGE,
        heading="## Three levels, one by one and all at once",
        text="Computed from the law of the counts, not simulated: the least coverage over the shares 0, 0.0001, 0.01"
        " and 0.3, in percent; all other values are held equally often. Columns are method, target (p for the"
        " population, s for the sample) and level. *All* are intervals with `simultaneous=True`: one less the sum of"
        " the misses of all k intervals, which is a lower bound of how often all of them hold. Empty: `ci` warns there,"
        " and nothing is promised.",
        by=FOUND,
        columns=(
            PageColumn("mechanism", "mechanism"),
            PageColumn("k", "k"),
            PageColumn("epsilon", "epsilon", "g"),
            PageColumn("n", "n"),
            *(
                percent(
                    f"{'all, ' if of == ALL else ''}{method}, {target[0]}, {100 * level:g}",
                    of=of,
                    method=method,
                    target=target,
                    level=level,
                )
                for of, (method, target), level in product((ONE, ALL), SHARE_KINDS, LEVELS)
            ),
        ),
    ),
)

# --- decoded shares ------------------------------------------------------------------------------------------------
DECODED = (0.0, 0.01, 0.3)  # the shares whose coverage is shown; all others are equal
DECODED_KINDS = (("simplex", "bounded"), ("simplex", "own"), ("em", "bounded"), ("em", "own"))
CROWDS = (
    ("grr", 4, 1.0, 1_000),
    ("grr", 16, 1.0, 10_000),
    ("hadamard", 16, 1.0, 1_000),
    ("hadamard", 16, 1.0, 10_000),
)

DECODED_STUDY = study(
    "decoded",
    "Intervals of projected and of likelihood estimates of shares",
    cell="decoded:cell",
    grid=((FOUND, CROWDS),),
    quick=((FOUND, CROWDS[:1]),),
    runs=400,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="## Projected and likelihood estimates",
        text="Simulated, 400 runs a line; the standard error of a coverage near 95 is 1.1. Intervals of 95 % of the"
        " decoders `simplex` and `em`: *bounded* is the exact interval of the unbiased share, moved into [0, 1], *own*"
        " that of the decoder. Columns are decoder, method and true share, then mean widths. Empty: `ci` warns there.",
        by=FOUND,
        columns=(
            PageColumn("mechanism", "mechanism"),
            PageColumn("k", "k"),
            PageColumn("epsilon", "epsilon", "g"),
            PageColumn("n", "n"),
            *(
                percent(f"{decoder}, {method}, {share:g}", 1, of=f"share {share:g}", method=f"{decoder}, {method}")
                for (decoder, method), share in product(DECODED_KINDS, DECODED)
            ),
            *(
                PageColumn(f"width, {decoder}, {method}", "width", ".4f", (("method", f"{decoder}, {method}"),))
                for decoder, method in DECODED_KINDS
            ),
        ),
    ),
)

STUDIES = (LEVELS_STUDY, DECODED_STUDY)
