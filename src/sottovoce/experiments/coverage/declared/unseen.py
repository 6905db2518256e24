"""Studies of coverage where approximations are hardest: rare buckets, directions, answers that are not normal."""

from __future__ import annotations

from sottovoce.experiments.coverage.declared import rounds
from sottovoce.experiments.coverage.declared.distributions import Unwarned
from sottovoce.experiments.coverage.declared.studies import PAGE
from sottovoce.experiments.coverage.study import standard_error, study
from sottovoce.experiments.page import PageColumn, Section, percent
from sottovoce.experiments.sources import ADULT, PATIENTS, TAXI

RARE_KINDS = ("share", "worst share", "all at once", "cdf", "band")
RARE_RUNS = 60
RARE = study(
    "rare",
    "Intervals of rare buckets with few reports or a large budget",
    cell="unseen:rare_cell",
    grid=(
        ("mechanism", ("square-wave-discrete", "coded-wave", "designed-distribution", "haar", "binned")),
        (("epsilon", "n"), ((5.0, 230), (8.0, 1_000), (3.0, 90))),
        ("shape", ("money", "tail", "capital gain", "emergency visits", "tips")),
    ),
    quick=(("mechanism", ("coded-wave",)), (("epsilon", "n"), ((5.0, 230),)), ("shape", ("money",))),
    runs=RARE_RUNS,
    quick_runs=5,
    needs=(ADULT.file, PATIENTS.file, TAXI.file),
    section=Section(
        page=PAGE,
        heading="### Rare buckets",
        text="32 numbers, few people and large budgets: rare buckets have few reports or none. *money* are amounts"
        " of which nine in ten are multiples of 4; *tail* has three quarters of the answers at the largest number and"
        " falls quickly below. Three are real: *capital gain* in steps of 3,125 dollars (93 % of them in the first),"
        " *emergency visits* of patients, and *tips* of taxi rides in dollars. Default intervals without a warning, in"
        " percent: the mean over all buckets, the worst of 32 buckets, all buckets at once, the mean over 31 cumulative"
        " shares, and the whole band. *warns* is how many intervals of shares warn; *normal* is the worst bucket of the"
        " normal interval."
        f" {RARE_RUNS} runs, so that one percentage has a standard error of {standard_error(RARE_RUNS):.1f} points, and"
        " the worst of 32 that all cover 95 % is about 88 %.",
        by=("mechanism", "epsilon", "n", "shape"),
        columns=(
            PageColumn("mechanism", "mechanism"),
            PageColumn("epsilon", "epsilon", "g"),
            PageColumn("n", "n", ","),
            PageColumn("shape", "shape"),
            *(Unwarned(kind, "coverage") for kind in RARE_KINDS),
            percent("warns", 0, field="warned", of="share"),
            percent("normal", 1, of="normal, worst share"),
        ),
    ),
)

CIRCULAR_RUNS = 400
CIRCULAR = study(
    "circular",
    "Intervals of circular means",
    cell="unseen:circular_cell",
    grid=(
        (("epsilon", "n"), ((0.75, 700), (1.0, 10_000), (4.0, 150))),
        (
            ("times", "whose"),
            (
                ("evenly", "sample"),
                ("opposite hours", "sample"),
                ("slightly more at night", "population"),
                ("around midnight", "population"),
                ("around midnight", "sample"),
                ("one hour", "population"),
            ),
        ),
    ),
    quick=((("epsilon", "n"), ((0.75, 700),)), (("times", "whose"), (("evenly", "sample"),))),
    runs=CIRCULAR_RUNS,
    quick_runs=10,
    section=Section(
        page=PAGE,
        heading="### Circular means",
        text="Times of a day in 64 buckets, through a square wave on a circle. Where the mean point may be the centre,"
        " the interval is the whole circle. Intervals allow for answers anywhere inside their bucket; here all lie in"
        " its middle, so that they cover more often than 95 %. *width* is the median, in hours."
        f" {CIRCULAR_RUNS} runs; the standard error is {standard_error(CIRCULAR_RUNS):.1f} points.",
        by=("epsilon", "n", "times", "whose"),
        columns=(
            PageColumn("epsilon", "epsilon", "g"),
            PageColumn("n", "n", ","),
            PageColumn("times", "times"),
            PageColumn("target", "whose"),
            percent("covers", 1),
            percent("whole circle", 0, field="whole"),
            PageColumn("width", "width", ".1f"),
        ),
    ),
)

SHAPE_RUNS = 20
NORMAL_RUNS = 5  # times as many, of normal answers
SHAPE = study(
    "gaussian-shape",
    "Gaussian means of answers that are not normal",
    cell="unseen:shape_cell",
    grid=(
        (
            "protocol",
            ("GaussianMeanKnownSigma", "GaussianMeanKnownSigmaOneRound", "GaussianMeanUnknownSigma"),
        ),
        ("answers", ("normal", "exponential", "lognormal", "two groups", "half zeros")),
        ("n", (20_000,)),
        ("epsilon", (1.0,)),
    ),
    quick=(
        ("protocol", ("GaussianMeanKnownSigmaOneRound",)),
        ("answers", ("exponential",)),
        ("n", (20_000,)),
        ("epsilon", (1.0,)),
    ),
    runs=SHAPE_RUNS,
    quick_runs=2,
    section=Section(
        page=rounds.PAGE,
        heading="### Answers that are not normal",
        text="Gaussian protocols at epsilon 1, with 20,000 participants whose answers have the standard deviation that"
        " the protocol assumes. *refuted* is how often the score test says that they are not normal: at most about 1 %"
        " of normal answers. *too few* is how often the reports cannot tell. *without a warning* is the coverage of the"
        f" other intervals. {SHAPE_RUNS} runs, {NORMAL_RUNS} times as many of normal answers.",
        by=("protocol", "answers", "n"),
        columns=(
            PageColumn("protocol", "protocol"),
            PageColumn("answers", "answers"),
            PageColumn("runs", "all_runs"),
            percent("refuted", 0, field="refuted"),
            percent("too few", 0, field="untold"),
            percent("without a warning", 0, missing="-"),
            percent("all", 0, field="every"),
        ),
    ),
)

STUDIES = (RARE, CIRCULAR, SHAPE)
