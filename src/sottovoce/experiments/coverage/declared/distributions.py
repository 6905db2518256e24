"""Studies of the coverage of intervals and bands of distributions."""

from __future__ import annotations

from sottovoce.experiments.coverage.declared.studies import PAGE
from sottovoce.experiments.coverage.study import standard_error, study
from sottovoce.experiments.page import PageColumn, Section, percent

DISTRIBUTIONS = ("square-wave", "square-wave-discrete", "coded-wave", "designed-distribution")
HIERARCHIES = ("hierarchy", "haar")
CROWDS = ("smooth", "spiky", "whole")
DISTRIBUTION_RUNS = 1000
_KINDS = ("mean", "variance", "cdf", "cdf, cut", "quantile", "quantile, end", "band")
_COLUMNS = (
    PageColumn("mechanism", "mechanism"),
    PageColumn("crowd", "crowd"),
    PageColumn("n", "n", ","),
    *(percent(kind, 1, missing="-", of=kind) for kind in _KINDS),
)
_AXES = (("n", (10_000, 100_000)), ("epsilon", (1.0,)), ("buckets", (64,)))
_QUICK = (("n", (10_000,)), ("epsilon", (1.0,)), ("buckets", (64,)))
DISTRIBUTION = study(
    "distributions",
    "Intervals and bands of a distribution",
    cell="distribution:middle_cell",
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
        " of buckets. The square wave of a number is right for *spiky* answers in mean and variance only, and its other"
        " intervals warn. Intervals of means and variances from buckets allow for answers anywhere inside them, so they"
        f" cover more often than 95 %. There are {DISTRIBUTION_RUNS:,} runs; the standard error of a mean and of a band"
        f" is {standard_error(DISTRIBUTION_RUNS):.1f} points.",
        by=("mechanism", "crowd", "n"),
        columns=tuple(one for one in _COLUMNS if "," not in one.head),
    ),
)

ENDS_RUNS = 400
ENDS = study(
    "distribution-ends",
    "Intervals of distributions near the ends, given that they are cut, and of whole numbers",
    cell="distribution:cell",
    grid=(("mechanism", DISTRIBUTIONS[1:3]), ("crowd", CROWDS[1:]), *_QUICK),
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
        f" variance need not allow for answers inside buckets. {ENDS_RUNS} runs; the standard error of a mean and of a"
        f" band is {standard_error(ENDS_RUNS):.1f} points.",
        by=("mechanism", "crowd", "n"),
        columns=_COLUMNS,
    ),
)

HIERARCHY = study(
    "hierarchies",
    "Intervals and bands of a distribution, from hierarchies",
    cell="distribution:middle_cell",
    grid=(("mechanism", HIERARCHIES), ("crowd", CROWDS[:2]), *_AXES),
    quick=(("mechanism", HIERARCHIES[:1]), ("crowd", CROWDS[:1]), *_QUICK),
    runs=DISTRIBUTION_RUNS,
    quick_runs=5,
    section=Section(
        page=PAGE,
        heading="### Hierarchies",
        text="The same for reports about the levels of a tree, with three cumulative shares and three quantiles,"
        f" {DISTRIBUTION_RUNS:,} runs; the standard error of a mean and of a band is"
        f" {standard_error(DISTRIBUTION_RUNS):.1f} points.",
        by=("mechanism", "crowd", "n"),
        columns=tuple(one for one in _COLUMNS if "," not in one.head),
    ),
)

COMPATIBLE_RUNS = 400
WIDE_RUNS = 4  # in which widths are measured
COMPATIBLE = study(
    "compatible",
    "Limits of all distributions that are compatible with the reports of a square wave",
    cell="distribution:compatible_cell",
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
        by=("mechanism", "crowd", "n"),
        columns=(
            PageColumn("mechanism", "mechanism"),
            PageColumn("crowd", "crowd"),
            PageColumn("n", "n", ","),
            percent("coverage", 1),
            percent("of the band", 1, field="band_coverage"),
            PageColumn("width", "width", ".3f"),
            PageColumn("of the band", "band_width", ".3f"),
            PageColumn("ratio", "ratio", ".2f"),
        ),
    ),
)

SERIES_RUNS = 1000
SERIES = study(
    "series",
    "Intervals and bands of a truncated orthogonal series",
    cell="distribution:series_cell",
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
        by=("basis", "crowd", "n"),
        columns=(
            PageColumn("basis", "basis"),
            PageColumn("crowd", "crowd"),
            PageColumn("n", "n", ","),
            PageColumn("waves", "waves"),
            *(percent(kind, 1, of=kind) for kind in ("share", "mean", "cdf", "band", "whole")),
        ),
    ),
)

STUDIES = (DISTRIBUTION, ENDS, HIERARCHY, COMPATIBLE, SERIES)
