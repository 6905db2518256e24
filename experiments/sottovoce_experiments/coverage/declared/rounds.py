"""Studies of coverage that `docs/results/coverage-of-rounds.md` shows: vectors, and protocols of several rounds.

Declared apart from what computes them, so that they can be listed without loading it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sottovoce_experiments.coverage.declared.studies import TARGETS
from sottovoce_experiments.coverage.study import standard_error, study
from sottovoce_experiments.page import Page, PageColumn, Row, Section, kinds, percent

PAGE = Page(
    "results/coverage-of-rounds.md",
    """\
# Coverage of 95 % intervals: vectors and rounds

Simulated by `make coverage`, each run with the estimate and the interval that ship. Shares and single means are on
[a page of their own](coverage.md).
""",
)
AT_ONCE = "all at once"
DIMENSIONS = ("dimensions", "epsilon")

# --- vectors -------------------------------------------------------------------------------------------------------
BOXES = ("sampled", "split-n", "split-epsilon", "duchi-linf")


def _vectors_text(rows: Sequence[Row]) -> str:
    return (
        f"Simulated, {rows[0]['runs']:,} runs a line. Coordinates have different means, some near the end of the range."
        " For the sample the spread of the answers is bounded, not known, so there the interval may cover more often."
    )


VECTORS = study(
    "vectors",
    "Intervals for the means of vectors with a range for each number",
    cell="vector:cell",
    grid=(("mechanism", BOXES), (DIMENSIONS, ((4, 1.0), (4, 4.0), (16, 1.0))), ("n", (10_000,))),
    quick=(("mechanism", BOXES), (DIMENSIONS, ((4, 1.0),)), ("n", (10_000,))),
    runs=1_000,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="## Means of vectors with a range for each number",
        text=_vectors_text,
        lead=("mechanism", PageColumn("d", "dimensions"), "epsilon", "n"),
        columns=(
            percent("population", 1, of="mean", target="population"),
            percent("sample", 1, of="mean", target="sample"),
            percent("all at once", 1, of=AT_ONCE),
        ),
    ),
)

BALLS_HELD = 20  # different vectors in the crowd
BALLS = study(
    "balls",
    "Intervals for the mean of vectors of a ball",
    cell="sphere:cell",
    grid=(
        ("mechanism", ("duchi-l2", "priv-unit", "priv-unit-g", "proj-unit")),
        (DIMENSIONS, ((8, 1.0), (64, 4.0))),
        ("target", TARGETS),
        ("n", (1_000,)),
    ),
    quick=(
        ("mechanism", ("duchi-l2", "priv-unit")),
        (DIMENSIONS, ((8, 1.0),)),
        ("target", ("population",)),
        ("n", (1_000,)),
    ),
    runs=1_000,
    quick_runs=100,
    section=Section(
        page=PAGE,
        heading="## Means of vectors of a ball",
        text=f"Simulated. {BALLS_HELD} vectors of lengths from 0.3 to 1 are held equally often. Percentages: the mean"
        " over coordinates, and how often all coordinates hold at once (Bonferroni).",
        lead=("mechanism", PageColumn("d", "dimensions"), "epsilon", "n", "target"),
        columns=(
            PageColumn("runs", "runs"),
            percent("one by one", of="mean"),
            percent("at once", of=AT_ONCE),
        ),
    ),
)

SPARSE_DIMENSIONS = 1000
SPARSE_METHODS = ("normal", "bernstein", "hoeffding")
SPARSE_CROWDS = {  # how many hold the place, and which number
    "nobody": (0.0, 0.0),
    "1 % hold 1": (0.01, 1.0),
    "a third holds -0.5": (1 / 3, -0.5),
    "all hold 1": (1.0, 1.0),
}
_SPARSE_CASES = (("signs", 1), ("signs", 5), ("hints", 3), ("hadamard", 1), ("hadamard", 3), ("grr", 3))


def _sparse_text(rows: Sequence[Row]) -> str:
    return (
        f"One place of {SPARSE_DIMENSIONS:,}, drawn from the exact law of what reports say of it, {rows[0]['runs']:,}"
        " runs a cell; the number behind an oracle is how many entries a vector may have. Percentages; columns are"
        " method and target."
    )


SPARSE = study(
    "sparse",
    "Intervals for one place of sparse vectors",
    cell="sparse:cell",
    grid=(
        (("oracle", "entries"), _SPARSE_CASES),
        ("epsilon", (1.0,)),
        ("n", (10_000, 100_000)),
        ("crowd", tuple(SPARSE_CROWDS)),
    ),
    quick=(
        (("oracle", "entries"), _SPARSE_CASES),
        ("epsilon", (1.0,)),
        ("n", (10_000,)),
        ("crowd", ("nobody", "all hold 1")),
    ),
    runs=20_000,
    quick_runs=1_000,
    section=Section(
        page=PAGE,
        heading="## Means of sparse vectors",
        text=_sparse_text,
        lead=("mechanism", "epsilon", "n", PageColumn("who holds the place", "crowd")),
        columns=(*kinds((method, target) for target in TARGETS for method in SPARSE_METHODS),),
    ),
)

# --- protocols -----------------------------------------------------------------------------------------------------
ROUNDS_KINDS = (("normal", "population"), ("normal", "sample"), ("hoeffding", "population"), ("hoeffding", "sample"))
VARIANCE_EPSILON = 1
VARIANCE_MECHANISM = "n-output"
SEQUENTIAL = 5  # one in this number is asked in the first round
# Whole numbers from 0 to 4 and how common each is; for methods that take any number, from -1 to 1 in steps of a half.
VARIANCE_CROWDS: dict[str, tuple[int, ...]] = {
    "evenly spread": (1, 1, 1, 1, 1),
    "at both ends": (1, 0, 0, 0, 1),
    "falling from one end": (16, 8, 4, 2, 1),
    "nearly all alike": (0, 1, 18, 1, 0),
}
_VARIANCES = ("split-n", "sequential", "split-eps", "same-reports")


def _variances_text(rows: Sequence[Row]) -> str:
    runs = max(row["runs"] for row in rows)
    return (
        f"Protocols for a variance on [-1, 1] through {VARIANCE_MECHANISM} (`same-reports`: whole numbers from 0 to 4),"
        f" epsilon {VARIANCE_EPSILON:g}, answers at five points; {runs:,} simulated protocols each, so that the"
        f" standard error of a coverage near 95 is {standard_error(runs):.2f}. One in {SEQUENTIAL} is asked in the"
        " first round of `sequential`. Percentages; columns are method and target. The normal interval is promised to"
        " cover 93 to 97 % of populations and at least 93 % of samples; hoeffding 95 % at every n."
    )


VARIANCES = study(
    "variances",
    "Intervals of protocols for a variance",
    cell="variance:cell",
    grid=(("protocol", _VARIANCES), ("n", (10_000, 100_000)), ("crowd", tuple(VARIANCE_CROWDS))),
    quick=(("protocol", _VARIANCES), ("n", (10_000,)), ("crowd", ("evenly spread",))),
    runs=2_000,
    quick_runs=50,
    section=Section(
        page=PAGE,
        heading="## Variances",
        text=_variances_text,
        lead=("protocol", "n", PageColumn("answers", "crowd")),
        columns=(*kinds(ROUNDS_KINDS),),
    ),
)


def _sums_text(rows: Sequence[Row]) -> str:
    runs = max(row["runs"] for row in rows)
    return (
        "`split-eps` on [-1, 1] where a table of both reports of a participant would be too large, so that sums,"
        f" squares and products are counted; epsilon {SUMS_EPSILON:g}, answers at five points; {runs:,} simulated"
        f" protocols each, so that the standard error of a coverage near 95 is {standard_error(runs):.2f}. Percentages"
        " and promises as above."
    )


SUMS_EPSILON = 2
VARIANCE_SUMS = study(
    "variance-sums",
    "Intervals for a variance from sums of both reports of a participant",
    cell="variance:sums_cell",
    grid=(("mechanism", ("piecewise",)), ("n", (10_000,)), ("crowd", tuple(VARIANCE_CROWDS))),
    quick=(("mechanism", ("piecewise",)), ("n", (10_000,)), ("crowd", ("evenly spread",))),
    runs=2_000,
    quick_runs=50,
    section=Section(
        page=PAGE,
        heading="## Variances from sums",
        text=_sums_text,
        lead=("mechanism", "n", PageColumn("answers", "crowd")),
        columns=(*kinds(ROUNDS_KINDS),),
    ),
)

SECOND_ROUNDS = 200  # after each first round


def _adaptive_text(rows: Sequence[Row]) -> str:
    runs, off = rows[0]["runs"], 100 * max(row["std_error"] for row in rows)
    return (
        f"`AdaptiveMeanRounds` on [-1, 1], answers drawn from the law; {runs:,} runs a row, of"
        f" {runs // SECOND_ROUNDS:,} first rounds. Percentages; the largest standard error is {off:.2f}. The normal"
        " interval is promised to cover 93 to 97 % of populations and at least 93 % of samples, the Hoeffding interval"
        " at least 95 % of either."
    )


ADAPTIVE = study(
    "adaptive",
    "Intervals of the adaptive mean",
    cell="adaptive:cell",
    grid=(
        ("n", (10_000, 100_000)),
        ("law", ("N(0, 0.1^2)", "exponential", "Beta(0.5, 0.5)")),
        ("epsilon", (1.0, 2.0, 4.0)),
    ),
    quick=(("n", (10_000,)), ("law", ("exponential",)), ("epsilon", (4.0,))),
    runs=25,  # first rounds
    quick_runs=2,
    section=Section(
        page=PAGE,
        heading="## Adaptive means",
        text=_adaptive_text,
        lead=("law", "epsilon", "n"),
        columns=(
            percent("adapted", 0, "adapted"),
            *kinds(ROUNDS_KINDS),
        ),
    ),
)

RANGES = study(
    "ranges",
    "Intervals after a search of an unknown range",
    cell="ranges:cell",
    grid=(
        ("answers", ("normal(1000, 5) in [-10000, 10000]", "lognormal in [0, 10000]", "geometric in 0..1000")),
        ("n", (10_000, 100_000)),
        ("epsilon", (1.0, 2.0)),
    ),
    quick=(("answers", ("lognormal in [0, 10000]",)), ("n", (10_000,)), ("epsilon", (2.0,))),
    runs=20,  # searches
    quick_runs=2,
    section=Section(
        page=PAGE,
        heading="## Unknown ranges",
        text="`RangeSearchMean`: whole searches, and for each of them many draws of its last round. The interval of the"
        " clamped mean is about the mean of clamped answers, those of the corrected and of the cautious mean are about"
        " the true mean. Percentages; the cautious one is promised to cover at least 95 %.",
        columns=(
            percent("clamped mean", 1, of="clamped"),
            percent("corrected mean", 1, of="corrected"),
            percent("mean, cautious", 1, of="mean"),
            PageColumn("draws", "runs"),
        ),
    ),
)

GAUSSIAN_EPSILON = "1"
GAUSSIAN_DELTA = "0.000001"
LONG, SHORT = (-500_000, 500_000), (-1_000, 1_000)  # ranges; the short one is for a histogram of all of it
_NEAR_AND_FAR = ((0.0, 1.5), (12345.678 * 1.5, 1.5))
_SMALL_AND_LARGE = ((0.0, 0.13), (12345.678, 1.5), (-77.7, 80.0))  # at both ends of the deviations allowed
_GAUSSIANS = (
    *((name, *law) for law in _NEAR_AND_FAR for name in ("GaussianMeanKnownSigma", "GaussianMeanKnownSigmaOneRound")),
    *(
        (name, *law)
        for law in _SMALL_AND_LARGE
        for name in ("GaussianMeanUnknownSigma", "GaussianMeanUnknownSigmaOneRound")
    ),
    ("GaussianMeanKnownSigmaDelta", 345.678, 1.5),
    *(("GaussianMeanUnknownSigmaDelta", *law) for law in _SMALL_AND_LARGE),
)


def _gaussian_text(rows: Sequence[Row]) -> str:
    runs = max(row["runs"] for row in rows)
    return (
        f"Normal answers on a range of {float(LONG[1] - LONG[0]):g} (GaussianMeanKnownSigmaDelta:"
        f" {SHORT[1] - SHORT[0]:g}), epsilon {GAUSSIAN_EPSILON}, delta {GAUSSIAN_DELTA} where there is one; an unknown"
        " deviation is known to lie from 0.1 to 100. Whole protocols with tallies drawn from their law. Promised are 93"
        " to 97 %; the standard error of a"
        f" coverage near 95 % is {standard_error(runs):.2f} % at {runs:,} runs, by which single rows miss it. Errors"
        " and half widths are in deviations; efficiency is the square of the error that one bit of everybody would"
        " have, asked at the mean itself, over that of the estimate. Names that end in OneRound have `rounds=1`, those"
        " that end in Delta a `delta`."
    )


GAUSSIAN = study(
    "gaussian",
    "Intervals of protocols for the mean of normal answers",
    cell="gaussian:cell",
    grid=(("n", (10_000, 100_000)), (("protocol", "mean", "deviation"), _GAUSSIANS)),
    quick=(("n", (10_000,)), (("protocol", "mean", "deviation"), _GAUSSIANS[:2])),
    runs=400,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="## Gaussian means",
        text=_gaussian_text,
        lead=("protocol", "n", "mean", "deviation"),
        columns=(
            PageColumn("runs", "runs"),
            percent("coverage, %", 1),
            PageColumn("error", "error", ".4f"),
            PageColumn("half width", "half_width", ".4f"),
            PageColumn("efficiency", "efficiency", ".3f"),
        ),
    ),
)

# --- budgets of one's own, and few reports ---------------------------------------------------------------------------
PERSONAL_TIMES = {  # what is asked, and how many times as many runs it has: more where a run is quick
    "vector, budgets of one's own": 4,
    "groups, budgets of one's own": 2,
    "any sequence of budgets": 20,
    "vector with a delta": 10,
    "covariances of numbers": 10,
    "two of four mixed fields": 3,
    "personal tags": 20,
}
PERSONAL_ASKED = tuple(PERSONAL_TIMES)


def _personal_text(rows: Sequence[Row]) -> str:
    return (
        "Participants who choose epsilon or four times as much (`PersonalBudgetVector`, `PersonalBudgetGroups`), or"
        " have one of nine mechanisms each (`sequence_mean`), vectors with a delta of 10^-6 (`sampled`), covariances"
        " (`coordinate_pairs`), two of four fields of a record (`SampledAttributes`), and answers behind personal tags"
        " (`PersonalTags`). *of* is the estimate, and coverage the mean over its numbers. *doubt* is how many runs show"
        " a doubt: always, where something is assumed that reports cannot show. Half or a third of the answers are"
        " heaped at one value. A line of 200 runs has a standard error of at most"
        f" {standard_error(200):.1f} points, one of 2,000 of {standard_error(2_000):.1f}."
        f"\n\n- coverage {min(row['coverage'] for row in rows):.1%} to {max(row['coverage'] for row in rows):.1%} in"
        f" {len(rows)} lines, mean {sum(row['coverage'] for row in rows) / len(rows):.1%}."
    )


PERSONAL = study(
    "personal",
    "Intervals where budgets differ from person to person, and of what several numbers give together",
    cell="personal:cell",
    grid=(("asked", PERSONAL_ASKED), (("epsilon", "n"), ((1.0, 5_000), (3.0, 1_000)))),
    quick=(("asked", PERSONAL_ASKED[2:3]), (("epsilon", "n"), ((3.0, 1_000),))),
    runs=100,  # times those of PERSONAL_TIMES
    quick_runs=2,
    section=Section(
        page=PAGE,
        heading="## Budgets of one's own",
        text=_personal_text,
        lead=("asked", "epsilon", "n", "of"),
        columns=(PageColumn("runs", "runs", ","), percent("coverage", 1), percent("doubt", 0, field="doubted")),
    ),
)

SMALL_ANSWERS = {  # from -1 to 1: value and share
    "1 in 1,000 at the end": ((0.0, 0.999), (1.0, 0.001)),
    "1 in 50 at the end": ((0.0, 0.98), (1.0, 0.02)),
    "at both ends": ((-1.0, 0.5), (1.0, 0.5)),
    "all 0.3": ((0.3, 1.0),),
}
_SMALL_MEANS = ("bernoulli", "nprr", "piecewise", "hybrid", "designed", "laplace", "staircase")
_SMALL_VECTORS = ("sampled", "split-n", "split-epsilon", "duchi-linf")


def _small_text(rows: Sequence[Row]) -> str:
    judged = [row for row in rows if row["coverage"] is not None]
    rare = [row["coverage"] for row in judged if row["answers"] == "1 in 1,000 at the end"]
    missed = sum(row["missed"] for row in rows) / len(rows)
    return (
        "Few reports at a large budget, where an answer may be so rare that nobody gave it. Numbers from -1 to 1; of"
        " vectors the first of two numbers has these answers. *coverage* is that of default intervals without a doubt,"
        " of 500 runs (vectors: 100) where at least 50 have none; a line of 500 has a standard error of 1 point."
        " *missed* is how many runs have an interval that leaves out the truth without a doubt. A doubt is shown where"
        " an interval may miss 4/3 times as often as promised, so 93.3 % may be the least coverage without one. Reports"
        " that take nearly two values only come near it: the share of tallies inside an interval grows in steps. For"
        " `bernoulli` it is 93.3 % at least, computed over all means and 50, 100 and 150 reports."
        f"\n\n- {len(judged)} of {len(rows)} lines without doubts; {missed:.1%} missed on average; where one answer in"
        f" 1,000 is at the end at least {min(rare, default=1):.1%} covered."
    )


SMALL = study(
    "small-counts",
    "Intervals of few reports at a large budget, where an answer may be absent",
    cell="small:cell",
    grid=(
        ("mechanism", (*_SMALL_MEANS, *_SMALL_VECTORS)),
        (("epsilon", "n"), ((3.0, 50), (8.0, 50), (8.0, 150))),
        ("answers", tuple(SMALL_ANSWERS)),
    ),
    quick=(("mechanism", ("nprr",)), (("epsilon", "n"), ((8.0, 150),)), ("answers", tuple(SMALL_ANSWERS)[:1])),
    runs=500,
    quick_runs=100,
    section=Section(
        page=PAGE,
        heading="## Few reports at a large budget",
        text=_small_text,
        lead=("mechanism", "epsilon", "n", "answers"),
        columns=(
            percent("coverage", 1, missing="-"),
            percent("doubt", 0, field="doubted"),
            percent("missed", 1, field="missed"),
        ),
    ),
)

STUDIES = (VECTORS, BALLS, SPARSE, VARIANCES, VARIANCE_SUMS, ADAPTIVE, RANGES, GAUSSIAN, PERSONAL, SMALL)
