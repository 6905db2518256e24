"""Studies of coverage that `docs/results/coverage-of-shares.md` shows: shares at three levels, decoded estimates.

Declared apart from what computes them, so that they can be listed without loading it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from sottovoce_experiments.coverage.declared.studies import SHARE_KINDS
from sottovoce_experiments.coverage.study import study, summary
from sottovoce_experiments.experiment import Row
from sottovoce_experiments.page import Page, PageColumn, Section, percent

PAGE = Page(
    "results/coverage-of-shares.md",
    """\
# Coverage of intervals for shares: levels, and all values at once

Written by `make coverage`. [Coverage](coverage.md) shows single shares at 95 %; here are other levels, intervals that
hold for all values at once, and the intervals of decoders.
""",
)
ONE, ALL = "one share", "all shares"
LEVELS = (0.9, 0.95, 0.99)
SHARES = (0.0, 1e-4, 0.01, 0.3)
# Every oracle of the registry whose intervals follow from the law of a count or a sum, one of each law.
ORACLES = (
    *("grr", "subset", "sue", "oue", "olh", "hadamard", "blh", "slh", "flh", "she", "the", "rue", "rlh"),
    *("rws", "projective", "o-rr", "o-rappor", "cms", "hcms"),
)
# Others, whose counts have the same two rates at every size and budget, so that their intervals cover as often.
SAME_LAW = {
    "distortion": "grr",
    "compression": "grr",
    "urr": "grr",
    "urap": "sue",
    "unary": "oue",
    "basic-rappor": "oue",
    "hrr": "blh",
    "shist": "blh",
    "pcs": "blh",
}
LARGEST = {"o-rr": 1024, "o-rappor": 1024}  # codes that they take, of these sizes
SIZES, BUDGETS, PEOPLE = (16, 1024, 13_929), (0.5, 1.0, 3.0), (1_000, 10_000, 100_000, 1_000_000)
FOUND = ("mechanism", "k", "epsilon", "n")
GRID = tuple(one for one in product(ORACLES, SIZES, BUDGETS, PEOPLE) if one[1] <= LARGEST.get(one[0], max(SIZES)))


def named(share: float) -> str:
    """What the rows of a share are called."""
    return f"share {share:g}"


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
        text="Computed from the law of the counts, not simulated: the least coverage in percent over the shares 0,"
        " 0.0001, 0.01 and 0.3, over epsilon 0.5, 1 and 3 and over 1,000, 10,000, 100,000 and 1,000,000 participants,"
        " wherever `ci` gives the interval without a warning; empty if it warns everywhere. All other values are held"
        " equally often. Columns are method, target (p for the population, s for the sample) and level. *All* are"
        " intervals with `simultaneous=True`: one less the sum of the misses of all k intervals, which is a lower bound"
        " of how often all of them hold. Counts with the same two rates have the same intervals: "
        + ", ".join(f"`{name}` as `{other}`" for name, other in SAME_LAW.items())
        + ". Given how many were asked about a value, `d-bit-flip` has the intervals of `sue` with as many"
        " participants. The rows that the command writes have every epsilon and n by itself.",
        lead=("mechanism", "k"),
        columns=(
            *(
                percent(
                    f"{'all, ' if of == ALL else ''}{method}, {target[0]}, {100 * level:g}",
                    least=True,
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
    runs=2_000,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="## Projected and likelihood estimates",
        text="Simulated, 2,000 runs a line; the standard errors near 90, 95 and 99 are 0.7, 0.5 and 0.2. Intervals of"
        " the decoders `simplex` and `em`: *bounded* is the exact interval of the unbiased share, moved into [0, 1],"
        " *own* that of the decoder, which is given at these three levels only. Columns are true share, or *all* for"
        " `simultaneous=True`, and level; *width* is the mean of intervals of 95 %. Empty: `ci` warns there.",
        lead=("mechanism", "k", "epsilon", "n", PageColumn("interval", "method")),
        columns=(
            *(
                percent(f"{share:g}, {100 * level:g}", 1, of=named(share), level=level)
                for share, level in product(DECODED, LEVELS)
            ),
            *(percent(f"all, {100 * level:g}", 1, of=ALL, level=level) for level in LEVELS),
            PageColumn("width", "width", ".4f", (("of", named(DECODED[0])), ("level", 0.95))),
        ),
    ),
)

# --- cohorts -------------------------------------------------------------------------------------------------------
COHORT_KINDS = (("normal", "population"), ("normal", "sample"))
COHORTS = tuple(product(("rappor", "one-time-rappor"), (16,), BUDGETS, PEOPLE))
FEW_HELD = dict(zip(SHARES, (4, 4, 4, 2), strict=True))  # how many values of a domain have each share
COHORT_RUNS = 6_000

COHORTS_STUDY = study(
    "cohorts",
    "Intervals for shares of Bloom filters with two hashes",
    cell="cohorts:cell",
    grid=((FOUND, COHORTS),),
    quick=((FOUND, COHORTS[:1]),),
    runs=COHORT_RUNS,
    quick_runs=50,
    section=Section(
        page=PAGE,
        heading="## Bloom filters",
        text=f"Simulated, {COHORT_RUNS:,} crowds a line; `rappor` and `one-time-rappor` with two hashes, whose"
        " intervals are normal ones. Coverage in percent at the shares 0, 0.0001 and 0.01, of four values each, and"
        " 0.3, of two: the least of them. Their standard errors are up to 0.3 at 90, 0.2 at 95 and 0.1 at 99 %, and"
        " the least of four is lower than each of them. *All*: crowds in which all k intervals hold, with standard"
        " errors of 0.4, 0.3 and 0.1. Empty: `ci` warns there.",
        lead=FOUND,
        columns=(
            *(
                percent(
                    f"{'all, ' if of == ALL else ''}{method}, {target[0]}, {100 * level:g}",
                    1,
                    of=of,
                    method=method,
                    target=target,
                    level=level,
                )
                for of, (method, target), level in product((ONE, ALL), COHORT_KINDS, LEVELS)
            ),
        ),
    ),
)

# --- many values ---------------------------------------------------------------------------------------------------
MANY, HASHED = 1024, 128  # values up to which functions are balanced, and the hashed cohorts of more
MANY_HELD = dict(zip(SHARES, (250, 250, 4, 3), strict=True))
MANY_VALUES = (
    *product(("rappor", "one-time-rappor"), (MANY,), BUDGETS, PEOPLE),
    *product(("rappor", "one-time-rappor", "o-rr", "o-rappor"), (13_929,), BUDGETS, PEOPLE),
)
MANY_RUNS = 250
ALLOWED = 0.01  # below the level
MANY_TEXT = (
    f"Simulated, {MANY_RUNS} crowds for each of epsilon 0.5, 1 and 3 and of 1,000 to 1,000,000 participants."
    " With 1,024 values public functions are balanced; 13,929 values are more than balanced cohorts take, so"
    f" {HASHED} hashed cohorts are given. Which values have which share is drawn anew for each crowd. Coverage"
    " in percent by true share and level, of intervals that `ci` gives without a warning, about the population"
    " and the sample. *Least*: the least of all kinds of crowds and both targets, of 250 values of this share"
    " in each. The others are means over all crowds: 0.01 has four values in a crowd, 0.3 has three, so that"
    " standard errors near 90, 95 and 99 are 0.3, 0.2 and 0.1. *All*: how often all intervals with"
    " `simultaneous=True` hold, on average; standard errors 0.5, 0.4 and 0.2, or more where `ci` warns of many"
    " of them. Empty: it warns everywhere. The rows that the command writes have every epsilon and n by"
    " itself, and it prints which of them is furthest below its level less a point, in its own standard"
    " errors."
)


def lowest(rows: Sequence[Row]) -> str:
    """The cell that is furthest below its level less `ALLOWED`, in standard errors."""
    held = {named(share): count for share, count in MANY_HELD.items()}
    known = [row for row in rows if row["coverage"] is not None]
    below = [
        (row["level"] - ALLOWED - row["coverage"])
        / math.sqrt(row["level"] * (1 - row["level"]) / (row["runs"] * held.get(row["of"], 1)))
        for row in known
    ]
    worst = known[below.index(max(below))]
    return (
        f"Of {len(known):,} single coverages {sum(one > 0 for one in below)} are more than a point below their level;"
        f" the furthest in its own standard errors is {100 * worst['coverage']:.1f} at {100 * worst['level']:g}"
        f" ({worst['mechanism']}, {worst['k']:,} values, epsilon {worst['epsilon']:g}, n = {worst['n']:,},"
        f" {worst['of']}, {worst['target']}), {max(below):.1f} of them below."
    )


def many_summary(rows: Sequence[Row]) -> list[str]:
    """The usual lines, and the furthest cell."""
    return [*summary(rows), lowest(rows)]


MANY_COHORTS_STUDY = replace(
    study(
        "many-cohorts",
        "Intervals for shares of Bloom filters and cohorts with 1,024 and 13,929 values",
        cell="cohorts:by_share",
        grid=((FOUND, MANY_VALUES),),
        quick=((FOUND, (("rappor", MANY, 3.0, 1_000),)),),
        runs=MANY_RUNS,
        quick_runs=2,
        section=Section(
            page=PAGE,
            heading="## Bloom filters with many values",
            text=MANY_TEXT,
            lead=("mechanism", "k"),
            columns=(
                *(
                    percent(f"{share:g}, {100 * level:g}, least", 1, least=True, of=named(share), level=level)
                    for share, level in product(SHARES[:2], LEVELS)
                ),
                *(
                    percent(f"{share:g}, {100 * level:g}", 1, mean=True, of=named(share), level=level)
                    for share, level in product(SHARES[2:], LEVELS)
                ),
                *(percent(f"all, {100 * level:g}", 1, mean=True, of=ALL, level=level) for level in LEVELS),
            ),
        ),
    ),
    summary=many_summary,
)

STUDIES = (LEVELS_STUDY, COHORTS_STUDY, MANY_COHORTS_STUDY, DECODED_STUDY)
