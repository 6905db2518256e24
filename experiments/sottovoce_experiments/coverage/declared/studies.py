"""Studies of coverage that `docs/results/coverage.md` shows: shares, means, and means by group.

Declared apart from what computes them, so that they can be listed without loading it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sottovoce.core.question import Mean
from sottovoce.core.registry import names
from sottovoce_experiments.coverage.study import standard_error, study
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import THOUSANDS, Page, PageColumn, Row, Section, kinds, percent, rejected
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import ADULT, PATIENTS

PAGE = Page(
    "results/coverage.md",
    """\
# Do the intervals cover?

Coverage is the share of studies whose 95 % interval contains the truth. In short, over all rows of the tables below:

| interval | least coverage | when to distrust it |
|---|---|---|
| shares, `exact` (default) | 95.01 % | never |
| shares, `wilson` | 93.80 % | few reports; it warns |
| shares, `normal` | 89.08 % | few reports or rare values; it warns |
| means, `normal` (default for many reports) | 93.56 % | few reports; it warns, and `betting` is the default there |
| means, `betting` | 99.02 % | never |

Written by `make coverage`; `sottovoce reproduce coverage-shares --pages docs` writes one section anew, and
`sottovoce reproduce list` names the others. Vectors and rounds are on [a page of their own](coverage-of-rounds.md).
""",
)
TARGETS = ("population", "sample")

# --- shares --------------------------------------------------------------------------------------------------------
SIZES = (16, 256)
SHARE_KINDS = (
    ("exact", "population"),
    ("exact", "sample"),
    ("wilson", "population"),
    ("normal", "population"),
    ("normal", "sample"),
)
# One of each kind of law; the others have the shape of one of these.
ORACLES = ("grr", "subset", "sue", "oue", "olh", "hadamard", "unary", "blh", "slh", "flh", "hrr")

SHARES = study(
    "shares",
    "Intervals for a share, summed over the law of the counts",
    cell="shares:cell",
    grid=(
        ("mechanism", ORACLES),
        ("k", SIZES),
        ("epsilon", (0.5, 1.0, 3.0)),
        ("n", (500, 50_000)),
        ("share", (0.0, 0.01, 0.1, 0.4)),
    ),
    quick=(("mechanism", ORACLES), ("k", (16,)), ("epsilon", (1.0,)), ("n", (500,)), ("share", (0.0, 0.1))),
    runs=1,
    quick_runs=1,
    section=Section(
        page=PAGE,
        heading="## Shares",
        text="Computed from the law of the counts, not simulated. All values other than the one shown are held equally"
        " often. Percentages; columns are method and target.",
        columns=(*kinds(SHARE_KINDS),),
    ),
)

# --- means ---------------------------------------------------------------------------------------------------------
MEMOS = ("bernoulli-memo",)  # kept by devices, for many reports; a single one has the law of `bernoulli`
MEANS = tuple(name for name in names(Mean) if name not in MEMOS)
MEAN_EPSILON = 1.0
MEAN_CROWDS: dict[str, tuple[float, ...]] = {
    "all 0.9": (0.9,),
    "-1, -0.5, 0, 0.5, 1": (-1.0, -0.5, 0.0, 0.5, 1.0),
    "-1, 1": (-1.0, 1.0),
}
MEAN_METHODS = ("normal", "betting", "bernstein", "hoeffding")
MEAN_KINDS = tuple((method, target) for method in MEAN_METHODS for target in TARGETS)
STREAM = 100_000
SINGLE, LATER = 64, 80  # looks at a stream: after each of the first reports, then at later times
WIDE = ("bernoulli", "laplace", "piecewise", "hybrid")  # whose widths are listed: one of each kind


def _means_text(rows: Sequence[Row]) -> str:
    made = sorted({row["runs"] for row in rows if row["runs"]}, reverse=True)
    errors = ", ".join(f"{standard_error(runs):.2f} at {runs:,} runs" for runs in made)
    return (
        f"Answers from -1 to 1, those shown being equally common, epsilon {MEAN_EPSILON:g}. Simulated, except where"
        " runs are 'exact': there are two outputs, and all tallies were summed up. The standard error of a coverage"
        f" near 95 is {errors}. Percentages; columns are method and target. The normal interval is promised to cover"
        " 94 to 96 % of populations from 10,000 reports on, and at least 94 % of samples; all others 95 % at every n."
    )


MEAN = study(
    "means",
    "Intervals for a mean",
    cell="mean:cell",
    grid=(("mechanism", MEANS), ("n", (10_000, 100)), ("crowd", tuple(MEAN_CROWDS))),
    quick=(("mechanism", MEANS), ("n", (100,)), ("crowd", ("all 0.9",))),
    runs=10_000,
    quick_runs=500,
    section=Section(
        page=PAGE,
        heading="## Means",
        text=_means_text,
        lead=("mechanism", "n", PageColumn("answers", "crowd")),
        columns=(
            PageColumn("runs", "runs", missing="exact"),
            *kinds(MEAN_KINDS),
        ),
    ),
)


def _streams_text(rows: Sequence[Row]) -> str:
    runs = rows[0]["runs"]
    return (
        f"Of {runs:,} simulated streams of {STREAM:,} reports each, all answers being 0.9, the share whose 95 %"
        f" interval *ever* left out the true mean at one of {SINGLE + LATER} looks: after each of the first {SINGLE}"
        " reports and then at evenly growing times. At most 5 % are promised, however often one looks; the standard"
        f" error is at most {standard_error(runs):.2f} %."
    )


STREAMS = study(
    "streams",
    "The anytime interval of a mean, looked at while reports stream in",
    cell="mean:stream_cell",
    grid=(("mechanism", MEANS),),
    quick=(("mechanism", ("bernoulli", "three-output")),),
    runs=500,
    quick_runs=20,
    section=Section(
        page=PAGE,
        heading="### The anytime interval while reports stream in",
        text=_streams_text,
        columns=(rejected("false alarms, %"),),
    ),
)

WIDTHS = Experiment(
    id="coverage-widths",
    title="How wide the intervals for a mean are",
    metric="width, and in widths of the normal interval",
    grid=(("mechanism", WIDE), ("n", (100, 1_000, 10_000, 100_000))),
    quick=(("mechanism", WIDE), ("n", (100, 10_000))),
    runs=1,
    quick_runs=1,
    cell=Late("coverage.mean:width_cell"),
    figure=Picture("n", "relative", ("mechanism", "method"), log="xy"),
    columns=("mechanism", "n", "method", "width", "relative"),
    section=Section(
        page=PAGE,
        heading="### How wide they are",
        text="Widths for the population in those of the normal interval, answers spread evenly over [-1, 1], epsilon"
        f" {MEAN_EPSILON:g}; from the tally nearest to the law, without chance. Betting and anytime intervals lie"
        " within the range of the answers, the others need not. Clamped noise has a long range of possible reports,"
        " which makes Hoeffding and Bernstein intervals wide, and betting cautious while reports are few.",
        columns=(
            PageColumn("normal, its width", "width", ".4f", (("method", "normal"),)),
            *(
                PageColumn(method, "relative", ".2f", (("method", method),))
                for method in ("betting", "bernstein", "hoeffding", "anytime")
            ),
        ),
    ),
)

# --- means by group ------------------------------------------------------------------------------------------------
GROUP_PARTICIPANTS = 20_000
EVEN, UNEVEN = "even", "uneven"
GROUP_CASES = (
    ("group-piecewise", "grr", 0.5, 2, EVEN),
    ("group-piecewise", "grr", 1.0, 2, UNEVEN),
    ("group-bernoulli", "grr", 1.0, 2, EVEN),
    ("group-laplace", "grr", 2.0, 2, UNEVEN),
    ("group-nprr", "grr", 4.0, 2, UNEVEN),
    ("group-piecewise", "grr", 2.0, 8, EVEN),
    ("group-piecewise", "grr", 3.0, 8, UNEVEN),
    ("group-bernoulli", "subset", 2.0, 8, EVEN),
    ("group-nprr", "unary", 3.0, 8, UNEVEN),
)
_GROUP_AXES = ("mechanism", "key", "epsilon", "groups", "shares")


def _groups_text(rows: Sequence[Row]) -> str:
    runs = rows[0]["runs"]
    return (
        f"{GROUP_PARTICIPANTS:,} participants, values from -1 to 1, epsilon as shown, the default split of the budget."
        " Only groups, and differences of two of them, that are expected to be estimable: their size is two standard"
        f" errors above the threshold. Simulated, {runs:,} runs; three standard errors of a coverage are"
        f" {3 * standard_error(runs):.2f}. Percentages; *least* is that of a single group or pair. Where only a bound"
        " of the spread within groups can be known (sample, marked +), intervals may be too wide."
    )


GROUPS = study(
    "groups",
    "Intervals for means by group and for their differences",
    cell="group:cell",
    grid=((_GROUP_AXES, GROUP_CASES), ("target", TARGETS)),
    quick=((_GROUP_AXES, GROUP_CASES[:3]), ("target", TARGETS)),
    runs=2_000,
    quick_runs=100,
    section=Section(
        page=PAGE,
        heading="## Means by group",
        text=_groups_text,
        lead=(*_GROUP_AXES, PageColumn("target", "marked"), "of", "method"),
        columns=(
            PageColumn("judged", "judged"),
            percent("coverage"),
            percent("least", field="least"),
        ),
    ),
)

# --- groups that are barely estimable --------------------------------------------------------------------------------
FEWEST = 200  # runs in which a test exists, or a group is shown, for its share to be said
HOLM = "pairs by Holm"
_CROWD_AXES = ("mechanism", "key", "epsilon", "n", "groups", "values")
INVENTED = (
    ("group-bernoulli", "grr", 0.75, 1_500, "2 unequal", "high"),
    ("group-nprr", "grr", 0.75, 6_000, "4 unequal", "low"),
    ("group-piecewise", "grr", 1.5, 1_500, "2 unequal", "high"),
    ("group-laplace", "grr", 1.5, 6_000, "4 unequal", "low"),
    ("group-bernoulli", "grr", 1.5, 6_000, "8 unequal", "high"),
    ("group-nprr", "grr", 1.5, 20_000, "2 unequal", "low"),
    ("group-designed", "grr", 1.5, 20_000, "8 equal", "high"),
    ("group-nprr", "unary", 3.0, 1_500, "4 unequal", "high"),
    ("group-nprr", "grr", 3.0, 20_000, "8 unequal", "high"),
    ("group-nprr", "grr", 1.5, 3_000, "4 unequal", "high"),
    ("group-bernoulli", "grr", 3.0, 3_000, "2 unequal", "low"),
    ("group-bernoulli", "subset", 0.75, 3_000, "8 equal", "high"),
    ("group-nprr", "subset", 1.5, 6_000, "8 unequal", "low"),
    ("group-bernoulli", "subset", 1.5, 20_000, "4 unequal", "high"),
)
REAL = (  # n is the number of rows of a file
    ("group-nprr", "grr", 0.75, 101_766, "race", "days_in_hospital"),
    ("group-nprr", "grr", 3.0, 101_766, "race", "days_in_hospital"),
    ("group-nprr", "grr", 1.5, 48_842, "occupation", "education_num"),
    ("group-bernoulli", "grr", 3.0, 48_842, "occupation", "education_num"),
)
FILES = {"race": PATIENTS.file, "occupation": ADULT.file}


def _shown_section(heading: str, text: str) -> Section:
    return Section(
        page=PAGE,
        heading=heading,
        text=text,
        lead=("mechanism", "key", "epsilon", THOUSANDS, "groups", "values"),
        columns=(
            PageColumn("runs", "permutations", ","),
            PageColumn("support", "support", ".1f"),
            rejected("equality 5 %", missing="-", of="equality", level=0.95),
            rejected("1 %", missing="-", of="equality", level=0.99),
            rejected("pair 5 %", missing="-", of="pair", level=0.95),
            rejected("1 %", missing="-", of="pair", level=0.99),
            rejected("most", missing="-", of="worst pair"),
            PageColumn("with pairs", "runs", ",", (("of", HOLM),)),
            rejected("Holm 5 %", missing="-", of=HOLM, level=0.95),
            rejected("1 %", missing="-", of=HOLM, level=0.99),
            percent("mean", 1, missing="-", of="mean"),
            percent("shown", 1, "shown", "-", of="mean"),
            percent("size", 1, missing="-", of="size"),
        ),
    )


SHOWN = study(
    "shown",
    "Tests of equal means, and intervals given that a group is shown, where labels are permuted",
    cell="shown:cell",
    grid=((_CROWD_AXES, INVENTED),),
    quick=((_CROWD_AXES, INVENTED[:3]),),
    runs=5_000,
    quick_runs=300,
    section=_shown_section(
        "## Groups that are barely estimable",
        "Labels are permuted among the participants, so that all means are equal. Values are from -1 to 1. *support*"
        " is the expected size of the smallest group over its standard error. Rejections, in percent, at 5 % and at"
        " 1 %, of the runs in which the test exists: by the test of equality, by the differences of all pairs one by"
        " one (*pair*; *most* is the pair that is rejected most often, of those in"
        f" {FEWEST} runs or more), and by the least p-value of all pairs adjusted by Holm, which exists in *with pairs*"
        " runs. A standard error of 5,000 runs is 0.3 at 5 % and 0.14 at 1 %, of 2,000 runs 0.5 and 0.22, of 1,000"
        " runs 0.7 and 0.3; *most* is the largest of up to 105 such numbers. Holm's correction takes no account of"
        " pairs sharing groups: for eight equal groups whose sizes are known it rejects in 3.8 % of all runs instead of"
        " 5 %. *mean* and *size* are the coverage of 95 % intervals given that a group is shown, of the group with the"
        f" least, among those shown in {FEWEST} runs or more; *shown* is how often the group with the least coverage of"
        " its mean is.",
    ),
)
SHOWN_REAL = study(
    "shown-real",
    "The same for real answers: days in hospital by race, years of education by occupation",
    cell="shown:cell",
    grid=((_CROWD_AXES, REAL),),
    quick=((_CROWD_AXES, REAL[:1]),),
    runs=2_000,
    quick_runs=300,
    needs=tuple(FILES.values()),
    section=_shown_section(
        "### Real answers", "The same for days in hospital by race, and years of education by occupation."
    ),
)

STUDIES = (SHARES, MEAN, STREAMS, WIDTHS, GROUPS, SHOWN, SHOWN_REAL)
