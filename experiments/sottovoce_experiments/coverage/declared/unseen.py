"""Studies of coverage where approximations are hardest: rare buckets, directions, answers that are not normal."""

from __future__ import annotations

from sottovoce_experiments.coverage.declared import rounds
from sottovoce_experiments.coverage.declared.distributions import Unwarned
from sottovoce_experiments.coverage.declared.studies import PAGE
from sottovoce_experiments.coverage.study import standard_error, study
from sottovoce_experiments.page import THOUSANDS, PageColumn, Section, percent
from sottovoce_experiments.sources import ADULT, FLIGHTS, PATIENTS, TAXI

RARE_KINDS = ("share", "worst share", "all at once", "cdf", "band")
RARE_RUNS, RARE_HAAR_RUNS = 60, 1_000
_RARE_AXES = (
    (("epsilon", "n"), ((5.0, 230), (8.0, 1_000), (3.0, 90))),
    ("shape", ("money", "tail", "capital gain", "emergency visits", "tips")),
)
_RARE_COLUMNS = (
    *(Unwarned(kind, "coverage") for kind in RARE_KINDS),
    percent("warns", 0, field="warned", of="share"),
    percent("normal", 1, of="normal, worst share"),
)
RARE = study(
    "rare",
    "Intervals of rare buckets with few reports or a large budget",
    cell="unseen:rare_cell",
    grid=(("mechanism", ("square-wave-discrete", "coded-wave", "designed-distribution", "binned")), *_RARE_AXES),
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
        lead=("mechanism", "epsilon", THOUSANDS, "shape"),
        columns=_RARE_COLUMNS,
    ),
)
RARE_HAAR = study(
    "rare-haar",
    "Intervals of rare buckets through haar",
    cell="unseen:rare_cell",
    grid=(("mechanism", ("haar",)), *_RARE_AXES),
    quick=(("mechanism", ("haar",)), (("epsilon", "n"), ((5.0, 230),)), ("shape", ("money",))),
    runs=RARE_HAAR_RUNS,
    quick_runs=5,
    needs=(ADULT.file, PATIENTS.file, TAXI.file),
    section=Section(
        page=PAGE,
        heading="### Rare buckets through haar",
        text=f"The same for `haar`, whose intervals are normal ones: {RARE_HAAR_RUNS:,} runs, so that one percentage"
        f" has a standard error of {standard_error(RARE_HAAR_RUNS):.1f} points, and the worst of 32 that all cover 95 %"
        " is about 93.6 %.",
        lead=("mechanism", "epsilon", THOUSANDS, "shape"),
        columns=_RARE_COLUMNS,
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
        lead=("epsilon", THOUSANDS, "times", PageColumn("target", "whose")),
        columns=(
            percent("covers", 1),
            percent("whole circle", 0, field="whole"),
            PageColumn("width", "width", ".1f"),
        ),
    ),
)

SHAPE_RUNS = 20
NORMAL_RUNS = 5  # times as many, of normal answers
COLUMNS = {  # real answers: file and column
    "ages": (ADULT.file, "age"),
    "hours of work": (ADULT.file, "hours_per_week"),
    "capital gains": (ADULT.file, "capital_gain"),
    "taxi fares": (TAXI.file, "fare_usd"),
    "lab procedures": (PATIENTS.file, "num_lab_procedures"),
    "medications": (PATIENTS.file, "num_medications"),
    "flight times": (FLIGHTS.file, "air_time_min"),
    "delays": (FLIGHTS.file, "dep_delay_min"),
}
SHAPE = study(
    "gaussian-shape",
    "Gaussian means of answers that are not normal",
    cell="unseen:shape_cell",
    grid=(
        (
            ("protocol", "n"),
            (
                ("GaussianMeanKnownSigma", 20_000),
                ("GaussianMeanKnownSigmaOneRound", 20_000),
                ("GaussianMeanUnknownSigma", 20_000),
                ("GaussianMeanUnknownSigmaOneRound", 20_000),
                ("GaussianMeanKnownSigmaOneRound", 500_000),
            ),
        ),
        ("answers", ("normal", "slight skew", "exponential", "lognormal", "two groups", "half zeros", *COLUMNS)),
        ("epsilon", (1.0,)),
    ),
    quick=(
        (("protocol", "n"), (("GaussianMeanKnownSigmaOneRound", 20_000),)),
        ("answers", ("exponential",)),
        ("epsilon", (1.0,)),
    ),
    runs=SHAPE_RUNS,
    quick_runs=2,
    needs=(ADULT.file, TAXI.file, PATIENTS.file, FLIGHTS.file),
    section=Section(
        page=rounds.PAGE,
        heading="### Answers that are not normal",
        text="Gaussian protocols at epsilon 1. Simulated answers and eight real columns, all moved and scaled to a mean"
        " of 18,518.5 and a standard deviation of 1.5, which the protocols with a known standard deviation assume."
        " *refuted* is how often the score test says that answers are not normal: about 1 % of normal answers. *cannot"
        " show* is how often the estimate says that the reports cannot show whether answers are normal, because"
        " some common law would be noticed with a probability below 99.9 %. *look normal* is the coverage of the other"
        " intervals, whose warning says how far a slight skew could move the mean, and *with the skew* is the coverage"
        " if they are widened by that; a dash where there are none. *all* is the coverage of all intervals."
        " *slight skew* is a gamma law of skewness 0.12."
        f" {SHAPE_RUNS} runs, {NORMAL_RUNS * SHAPE_RUNS} of normal answers.",
        lead=("protocol", THOUSANDS, "answers"),
        columns=(
            PageColumn("runs", "all_runs"),
            percent("refuted", 0, field="refuted"),
            percent("cannot show", 0, field="untold"),
            percent("look normal", 0, missing="-"),
            percent("with the skew", 0, field="allowed", missing="-"),
            percent("all", 0, field="every"),
        ),
    ),
)

STUDIES = (RARE, RARE_HAAR, CIRCULAR, SHAPE)
