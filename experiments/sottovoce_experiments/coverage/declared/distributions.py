"""Studies of the coverage of intervals and bands of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce_experiments.coverage.declared.studies import PAGE
from sottovoce_experiments.coverage.study import standard_error, study
from sottovoce_experiments.page import THOUSANDS, PageColumn, Row, Section, percent
from sottovoce_experiments.sources import ADULT, TAXI

DISTRIBUTIONS = ("square-wave", "square-wave-discrete", "coded-wave", "designed-distribution")
HIERARCHIES = ("hierarchy", "haar")
SHAPES = {
    "general-wave, triangle": ("general-wave", {"shape": "0"}),
    "general-wave, trapezoid": ("general-wave", {"shape": "0.5"}),
}
BINS = ("mixed-wave", *SHAPES, "binned", "laplace-histogram")
CROWDS = ("smooth", "spiky", "whole")
DISTRIBUTION_RUNS = 5_000
QUANTILE_RUNS = 1_000  # the first ones, whose quantiles are judged
_KINDS = ("mean", "variance", "cdf", "cdf, cut", "quantile", "quantile, end", "band")
_PLAIN = tuple(kind for kind in _KINDS if "," not in kind)


@dataclass(frozen=True, slots=True)
class Unwarned(PageColumn):
    """The coverage of intervals without a warning; in brackets that of the others, where all of them warn."""

    def text(self, line: Sequence[Row]) -> str:
        (row,) = [one for one in line if one["of"] == self.head] or [{"coverage": None, "warned_coverage": None}]
        quiet, loud = row["coverage"], row["warned_coverage"]
        if quiet is not None:
            return f"{100 * quiet:.1f}"
        return "-" if loud is None else f"({100 * loud:.1f})"


@dataclass(frozen=True, slots=True)
class FromTo(PageColumn):
    """The smallest and the largest number of a line, or one of them where they are equal."""

    def text(self, line: Sequence[Row]) -> str:
        numbers = sorted((self.scale or 1) * row[self.field] for row in line if row[self.field] is not None)
        ends = [format(number, self.form or "") for number in numbers[:1] + numbers[-1:]]
        return " to ".join(dict.fromkeys(ends)) or "-"


def _columns(kinds: Sequence[str]) -> tuple[PageColumn, ...]:
    warned = percent("variance warns", 1, field="warned", of="variance")
    return (*(Unwarned(kind, "coverage") for kind in kinds), warned)


_AXES = (("n", (10_000, 100_000)), ("epsilon", (1.0,)), ("buckets", (64,)))
_QUICK = (("n", (10_000,)), ("epsilon", (1.0,)), ("buckets", (64,)))
DISTRIBUTION = study(
    "distributions",
    "Intervals and bands of a distribution",
    cell="distributions.cells:middle_cell",
    grid=(("mechanism", DISTRIBUTIONS), ("crowd", CROWDS[:2]), *_AXES),
    quick=(("mechanism", DISTRIBUTIONS[:2]), ("crowd", CROWDS[:2]), *_QUICK),
    runs=DISTRIBUTION_RUNS,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="## Distributions",
        text="Every run draws a whole tally at epsilon 1, from the exact law of a report, and judges the intervals of"
        " 64 buckets by the truth of a population: mean, variance, three cumulative shares, three quantiles, and the"
        " whole band at once. *smooth* is Beta(5, 2); *spiky* has 70 % of the answers on four numbers that are no edges"
        " of buckets. Intervals that warn are left out; where all of a kind warn, their coverage is in brackets: the"
        " square wave of a number is right for *spiky* answers in mean and variance only. *variance warns* is how many"
        " intervals of the variance warn. Intervals of means and variances from buckets allow for answers anywhere"
        f" inside them, so they cover more often than 95 %. There are {DISTRIBUTION_RUNS:,} runs; the standard error of"
        f" a mean and of a band is {standard_error(DISTRIBUTION_RUNS):.1f} points. Quantiles are judged in the first"
        f" {QUANTILE_RUNS:,} runs, here and in the next three tables. Intervals of all runs are computed"
        " together, which is a hundred times as fast; those of the first runs also one by one, as everybody gets them,"
        " and the study fails if they differ.",
        lead=("mechanism", "crowd", THOUSANDS),
        columns=_columns(_PLAIN),
    ),
)

ENDS_RUNS = 2_000
ENDS = study(
    "distribution-ends",
    "Intervals of distributions near the ends, given that they are cut, and of whole numbers",
    cell="distributions.cells:cell",
    grid=(("mechanism", DISTRIBUTIONS[1:]), ("crowd", CROWDS[1:]), *_AXES),
    quick=(("mechanism", DISTRIBUTIONS[1:2]), ("crowd", CROWDS[2:]), *_QUICK),
    runs=ENDS_RUNS,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="### Near the ends, and whole numbers",
        text="Five cumulative shares, two of them near the ends, and five quantiles from 1 % to 99 %. *cdf, cut* are"
        " those intervals of cumulative shares that reach 0 or 1, and *quantile, end* those of quantiles that reach an"
        " end of the domain: what is covered given that this is shown; - where fewer than 200 are. *whole* are whole"
        " numbers with the shares of the spiky answers, each a bucket of its own, so that intervals of mean and"
        f" variance need not allow for answers inside buckets. {ENDS_RUNS:,} runs; the standard error of a mean and of"
        f" a band is {standard_error(ENDS_RUNS):.1f} points.",
        lead=("mechanism", "crowd", THOUSANDS),
        columns=_columns(_KINDS),
    ),
)

HIERARCHY_RUNS = 2_000
HIERARCHY = study(
    "hierarchies",
    "Intervals and bands of a distribution, from hierarchies",
    cell="distributions.cells:middle_cell",
    grid=(("mechanism", HIERARCHIES), ("crowd", CROWDS), *_AXES),
    quick=(("mechanism", HIERARCHIES[:1]), ("crowd", CROWDS[:1]), *_QUICK),
    runs=HIERARCHY_RUNS,
    quick_runs=5,
    section=Section(
        page=PAGE,
        heading="### Hierarchies",
        text="The same for reports about the levels of a tree, with three cumulative shares and three quantiles, also"
        f" for whole numbers, {HIERARCHY_RUNS:,} runs; the standard error of a mean and of a band is"
        f" {standard_error(HIERARCHY_RUNS):.1f} points.",
        lead=("mechanism", "crowd", THOUSANDS),
        columns=_columns(_PLAIN),
    ),
)

BINNED_RUNS = 2_000
BINNED = study(
    "bins",
    "Intervals and bands of a distribution, from bins and other waves",
    cell="distributions.cells:middle_cell",
    grid=(("mechanism", BINS), ("crowd", CROWDS), *_AXES),
    quick=(("mechanism", BINS[2:]), ("crowd", CROWDS[:1]), *_QUICK),
    runs=BINNED_RUNS,
    quick_runs=5,
    section=Section(
        page=PAGE,
        heading="### Bins and other waves",
        text="The same for either wave by a coin, waves in the shape of a triangle and of a trapezoid, and bins,"
        f" through a frequency oracle and with Laplace noise; {BINNED_RUNS:,} runs; the standard error of a mean"
        f" and of a band is {standard_error(BINNED_RUNS):.1f} points.",
        lead=("mechanism", "crowd", THOUSANDS),
        columns=_columns(_PLAIN),
    ),
)

COMPATIBLE_RUNS = 4_000
WIDE_RUNS = 4  # in which widths are measured
COMPATIBLE = study(
    "compatible",
    "Limits of all distributions that are compatible with the reports of a square wave",
    cell="distributions.cells:compatible_cell",
    grid=(
        ("mechanism", DISTRIBUTIONS[:2]),
        ("crowd", ("smooth", "spiky")),
        ("n", (10_000, 100_000)),
        ("epsilon", (1.0,)),
        ("buckets", (64,)),
    ),
    quick=(
        ("mechanism", DISTRIBUTIONS[1:2]),
        ("crowd", ("smooth",)),
        ("n", (10_000,)),
        ("epsilon", (1.0,)),
        ("buckets", (64,)),
    ),
    runs=COMPATIBLE_RUNS,
    quick_runs=5,
    section=Section(
        page=PAGE,
        heading="### Compatible distributions",
        text='The limits of all distributions that are compatible with the reports, `band(method="compatible")`, beside'
        " the band of the unbiased cumulative shares of the same reports, at epsilon 1 in 64 buckets: how often the"
        " truth is compatible, so that the limits hold everywhere at once, how often the band holds it, and mean widths"
        f" at ten edges in the first {WIDE_RUNS} runs, all cut to what a cumulative distribution can be. For *spiky*"
        " answers the band of `square-wave` is narrow but wrong."
        f" {COMPATIBLE_RUNS:,} runs; the standard error of a coverage is"
        f" {standard_error(COMPATIBLE_RUNS):.1f} points.",
        lead=("mechanism", "crowd", THOUSANDS),
        columns=(
            percent("coverage", 1),
            percent("of the band", 1, field="band_coverage"),
            PageColumn("width", "width", ".3f"),
            PageColumn("of the band", "band_width", ".3f"),
            PageColumn("ratio", "ratio", ".2f"),
        ),
    ),
)

SERIES_RUNS = 5_000
SERIES = study(
    "series",
    "Intervals and bands of a truncated orthogonal series",
    cell="distributions.cells:series_cell",
    grid=(
        ("basis", ("trigonometric", "cosine")),
        ("crowd", ("smooth", "spiky")),
        ("n", (10_000, 100_000)),
        ("epsilon", (1.0,)),
        ("buckets", (64,)),
    ),
    quick=(
        ("basis", ("trigonometric",)),
        ("crowd", ("smooth",)),
        ("n", (10_000,)),
        ("epsilon", (1.0,)),
        ("buckets", (64,)),
    ),
    runs=SERIES_RUNS,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="### Orthogonal series",
        text="`orthogonal-series` estimates the projection of the distribution onto its first waves, and its intervals"
        " are for that: the shares of all buckets, the mean, three cumulative shares and the whole band, at epsilon 1"
        " in 64 buckets. *whole* is how often the band also holds the distribution itself, of which finer waves are"
        f" left out: nothing is promised there. {SERIES_RUNS:,} runs; the standard error of a mean and of a band is"
        f" {standard_error(SERIES_RUNS):.1f} points.",
        lead=("basis", "crowd", THOUSANDS),
        columns=(
            PageColumn("waves", "waves"),
            *(percent(kind, 1, of=kind) for kind in ("share", "mean", "cdf", "band", "whole")),
        ),
    ),
)

HEAPED_RUNS = 200
_HEAPED = (("epsilon", (2.0,)), ("n", (20_000,)), ("buckets", (64,)))
_ROUND = ("smooth", "hours of work", "taxi seconds", "loans", "wages", "half at 40", "both ends")
HEAPED = study(
    "heaped",
    "Intervals of distributions of answers that are round numbers",
    cell="distributions.heaped:heaped_cell",
    grid=(("mechanism", (*DISTRIBUTIONS, "haar")), ("crowd", _ROUND), *_HEAPED),
    quick=(("mechanism", DISTRIBUTIONS[1:2]), ("crowd", _ROUND[3:5]), *_HEAPED),
    runs=HEAPED_RUNS,
    quick_runs=5,
    needs=(ADULT.file, TAXI.file),
    section=Section(
        page=PAGE,
        heading="### Round numbers",
        text="Answers of an interval without a step, in 64 buckets at epsilon 2, 20,000 participants. *smooth* is"
        " Beta(5, 2); *loans* are multiples of 1,000 up to 40,000, *wages* multiples of 100 with 30 % zeros, *half at"
        " 40* has half of all answers at one number, *both ends* 20 % at the least and 30 % at the largest number."
        " Shares up to nine round numbers, both ends included, four ranges, the whole band at 200 answers, and the"
        " quantiles of 25, 50 and 90 %. *times* is how many times an interval is as wide as the one, shrunk towards the"
        ' estimate, that covers 95 %, the median of the three. *even* is method "even", which is right where answers'
        " are spread evenly. Intervals of `square-wave` come with a warning, as for any answers that are not spread"
        f" evenly. {HEAPED_RUNS} runs; the standard error of a band is {standard_error(HEAPED_RUNS):.1f} points.",
        columns=(
            *(percent(kind, 1, of=kind) for kind in ("cdf", "range", "band", "quantile")),
            PageColumn("times", "factor", ".2f", (("of", "quantile"),)),
            percent("even", 1, of="even"),
            PageColumn("times", "factor", ".2f", (("of", "even"),)),
        ),
    ),
)

STEPS_RUNS = 400
_STEPS = (("epsilon", (1.0, 2.0)), ("n", (20_000,)))
STEPS = study(
    "steps",
    "Quantiles of answers whose step is stated, beside the narrowest interval",
    cell="distributions.steps:steps_cell",
    grid=(
        ("mechanism", (*DISTRIBUTIONS[1:], "haar")),
        ("crowd", ("smooth", "hours of work", "loans", "half at 40", "both ends")),
        *_STEPS,
    ),
    quick=(("mechanism", DISTRIBUTIONS[2:3]), ("crowd", ("half at 40",)), ("epsilon", (2.0,)), _STEPS[1]),
    runs=STEPS_RUNS,
    quick_runs=5,
    needs=(ADULT.file,),
    section=Section(
        page=PAGE,
        heading="### Quantiles where the step is stated",
        text="The crowds of the table before, with a domain that states the step of its answers (0.01, 1,000 or 1), so"
        " that each possible answer is a bucket: the quantiles of 25, 50 and 90 %, 20,000 participants. Numbers are"
        " the smallest and the largest of the three, *answers* the mean number in an interval. *times* is how many"
        " times an interval is as wide as the one, shrunk towards the estimate, that covers 95 % of this crowd; an"
        " answer takes up a step. *of the least* is how many"
        " answers an interval holds on average, over the least that any interval of these reports can hold which covers"
        " 95 % of every crowd (Neyman and Pearson's test between this crowd and the nearest one with another quantile)."
        " The interval of a normal mean has 1.18. *error* is the root mean square of the standard errors over that of"
        " the errors, and *spread* the ratio of the 97.5 % to the 2.5 % quantile of standard errors over runs, where"
        f" errors are larger than a step. {STEPS_RUNS} runs; the standard error of a coverage is at most"
        f" {standard_error(STEPS_RUNS):.1f} points.",
        lead=("mechanism", "crowd", "epsilon"),
        columns=(
            FromTo("coverage", "coverage", ".1f", scale=100),
            PageColumn("answers", "answers", ".1f", mean=True),
            FromTo("times", "factor", ".2f"),
            FromTo("of the least", "of least", ".2f"),
            FromTo("error", "error", ".2f"),
            FromTo("spread", "spread", ".1f"),
        ),
    ),
)

STUDIES = (DISTRIBUTION, ENDS, HIERARCHY, BINNED, COMPATIBLE, SERIES, HEAPED, STEPS)
