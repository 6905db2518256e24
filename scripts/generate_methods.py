"""Write docs/methods/index.md from the registry, the docstrings of the builders and the exact laws.

Run `python scripts/generate_methods.py` after a change; a test compares the page with what this file would write.
"""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.core.exchange import codec
from sottovoce.core.question import HalfSets
from sottovoce.core.registry import ALIASES, builder, fits
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.sums import Sums
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.frequent_words.evidence import smallest_found
from sottovoce.estimate.key_means.evidence import at_truth
from sottovoce.estimate.request import Target
from sottovoce.mechanisms.group.common import mean_variance
from sottovoce.study.planners.vector_mean import mean_coordinate_variance
from sottovoce.study.power.overall import ORACLES
from sottovoce.study.workloads import error_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods/index.md"
EPSILON, SIZE, BUCKETS = 1, 128, 64
TWO_DISTRIBUTIONS = (("one-bit",), ("grr", "hadamard"))
SLOTS = ("Law", "Privacy", "Estimator", "Cost", "Reference")
WORK = {
    CountOutputs: "one count",
    CountSupports: "one count per code",
    CountAsked: "two counts per bit",
    CountSeeds: "one count",
    CountCohorts: "one count per bit",
    Sums: "one sum per code",
}

HEAD = """\
# Methods

<!-- Written by scripts/generate_methods.py; change the docstring of the builder instead. -->

All registered mechanisms, by what they are asked for: [frequencies](#frequencies) of categories, the [mean](#means) of
a number, [means by group](#means-by-group), the mean of [vectors](#vectors), whole [distributions](#distributions),
[boxes](#boxes) over several numbers, several [attributes](#attributes) of each participant, [sets of
items](#sets-of-items), [words](#words) without a list, and
[half-sets](#tests-of-many-categories) for tests.
[Choose a method](../guides/choose-a-method.md) says when to take which. In all tables *bytes* are those of a report
beside its 16-byte id, and *cells* are integers in a tally.
"""
FREQUENCIES = f"""
## Frequencies

Numbers at epsilon {EPSILON} and k = {SIZE} categories (`rr`: k = 2).

- *variance*: n times the exact variance of the estimated share of a value that nobody holds, if all others are equally
  common.
- *work*: what counting one report takes.

| name | what it is | variance | bytes | cells | work | also called |
|---|---|---|---|---|---|---|
"""
MEANS = f"""
## Means

Numbers at epsilon {EPSILON} on the range from -1 to 1, exact and with what rounding to a grid costs.

- *worst*: n times the variance of the estimated mean if everyone holds the number for which it is largest.
- *at 0* and *at 1*: the same where everyone holds the middle of the range, or its end.

| name | what it is | worst | at 0 | at 1 | bytes | cells | also called |
|---|---|---|---|---|---|---|---|
"""
GROUPS = f"""
## Means by group

Group and value are both private. Numbers at epsilon {EPSILON} on the range from -1 to 1, with the split of the budget
that has the least variance for randomized response of the group.

- *2 groups*, *8 groups*: n times the variance of a group's mean, for equally large groups and values spread evenly (the
  linear part of the ratio of sum and size).
- *bytes* and *cells* are those for 8 groups.

| name | what it is | 2 groups | 8 groups | bytes | cells |
|---|---|---|---|---|---|
"""
VECTORS = f"""
## Vectors

The mean of several numbers of each participant. Numbers at epsilon {EPSILON}.

- *d = 8*, *d = 64*: n times the variance of the mean of one coordinate: for answers spread evenly from -1 to 1
  (`Box`); for vectors of length 1 in all directions (`Ball`); for a place that nobody holds, where each
  answer has one number from -1 to 1 (`Sparse`).
- *bytes* and *cells* are those for d = 64; *exact*: whether the privacy claim is proven in integers, or idealised.

| name | what it is | domain | d = 8 | d = 64 | bytes | cells | exact |
|---|---|---|---|---|---|---|---|
"""


DISTRIBUTIONS = f"""
## Distributions

Numbers at epsilon {EPSILON} for {BUCKETS} buckets of a range.

- *cumulative*: n times the variance of the unbiased share up to an edge of a bucket, the mean over all edges, if all
  buckets are equally common. [Estimate a distribution](../guides/distribution.md) shows what other decoders add. That
  of `orthogonal-series` is for what its waves tell, and leaves out [what they do not](series-and-mixtures.md).

| name | what it is | cumulative | bytes | cells | also called |
|---|---|---|---|---|---|
"""


ATTRIBUTES = f"""
## Attributes

The shares of the categories, and the means of the numbers, of several attributes of each participant in one report.
`SampledAttributes` splits the participants over the attributes instead. Numbers at epsilon {EPSILON}, for d attributes
of 8 categories each.

- *d = 2*, *d = 8*: n times the variance of a share, if all values are equally common; with participants split over the
  attributes it is {{split}}.
- *bytes* and *cells* are those for d = 8.

| name | what it is | d = 2 | d = 8 | bytes | cells |
|---|---|---|---|---|---|
"""


SETS = f"""
## Sets of items

Each participant holds none, one or several of d items, at most m: "tick all that apply". Numbers at epsilon {EPSILON}.

- *variance*: n times the exact variance of the estimated share of an item that nobody holds, for m = 10 of d = 100
  items and of d = 1,000.
- *bytes* and *cells* are those for d = 100.

| name | what it is | d = 100 | d = 1,000 | bytes | cells |
|---|---|---|---|---|---|
"""


KEYS = f"""
## Keys with numbers

Each participant holds some of d keys, at most m, each with a number. Numbers at epsilon {EPSILON} for m = 10, d = 100.

- *share*: n times the exact variance of the share of a key that nobody holds.
- *sum*: the same for the sum of its numbers, from -1 to 1, divided by n. The variance of a mean is about this one over
  the squared share.

| name | what it is | share | sum | bytes | cells |
|---|---|---|---|---|---|
"""


WORDS = f"""
## Words

Each participant gives one word, and frequent words are found without a list of candidates. Numbers at epsilon {EPSILON}
for words of at most ten letters of a to z and the apostrophe, 48 bits.

- *variance*: n times the exact variance of the share of a word that nobody gave.
- *found*: the smallest share of a word that is found with probability 95 % in 500,000 reports, in percent.

| name | what it is | variance | found | bytes | cells |
|---|---|---|---|---|---|
"""


BOXES = f"""
## Boxes

Shares of boxes over several numbers or ordered categories. Numbers at epsilon {EPSILON} for two fields.

- *16 x 16*, *64 x 64*: n times the variance of the unbiased share of a box, the mean over all boxes, if all cells are
  equally common.
- *bytes* and *cells* are those for 64 x 64 buckets.

| name | what it is | 16 x 16 | 64 x 64 | bytes | cells |
|---|---|---|---|---|---|
"""


TESTS = f"""
## Tests of many categories

Reports about public sets are made for tests; they do not estimate the shares of answers. [Tests](tests.md) says when to
take them. Numbers at epsilon {EPSILON} for {SIZE} categories.

- *participants*: of `half-sets`, how many two samples need together for a test that sees a root mean square difference
  of the shares of 0.01 with power 0.8. Of `one-bit`, how many one sample needs for the likelihood ratio of equal and
  rising shares, at a total variation distance of 0.05.
- *best oracle*: how many the best oracle needs for its test of the same.

| name | what it is | participants | best oracle | bytes | cells |
|---|---|---|---|---|---|
"""


def plain(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return re.sub(r"([*_|<])", r"\\\1", " ".join(text.split()))


def slots(name: str) -> dict[str, str]:
    """The first sentence of a builder's docstring under "", and its five slots."""
    text = inspect.getdoc(builder(name)) or ""
    pieces = re.split(rf"^({'|'.join(SLOTS)}):", text, flags=re.MULTILINE)
    return {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def example(name: str) -> sv.Mechanism:
    """The mechanism at the size of the table, or with two categories where it takes no more."""
    large = sv.Integers(1, SIZE)
    return sv.mechanism(name, large if fits(name, large) else sv.Integers(1, 2), epsilon=EPSILON)


def aliases(name: str) -> str:
    return ", ".join(f"`{alias}`" for alias, target in ALIASES.items() if target == name)


def frequency_row(name: str) -> str:
    m = example(name)
    hashes = m.channel.publics and isinstance(m.statistic, CountSupports)
    cells = [
        f"`{name}`",
        plain(slots(name)[""]).rstrip("."),
        f"{rare_variance(m):.3f}",
        str(codec.payload_bytes(m.channel)),
        str(m.cells),
        "one hash per code" if hashes else WORK[type(m.statistic)],
        aliases(name),
    ]
    return f"| {' | '.join(cells)} |\n"


def rare_variance(m: sv.Mechanism) -> float:
    """n times the variance at share zero for large n, all other values being equally common."""
    inputs, many = m.channel.inputs, 10**9
    truth = np.full(inputs, 1 / (inputs - 1))
    truth[0] = 0
    return float(many * m.variance(truth, many, target="sample")[0])


def mean_row(name: str) -> str:
    m = sv.mechanism(name, sv.Interval(-1, 1), epsilon=EPSILON)
    variances = (m.worst_case_variance(), *(float(m.variance(number, target="sample")) for number in (0, 1)))
    cells = [
        f"`{name}`",
        plain(slots(name)[""]).rstrip("."),
        *(f"{variance:.3f}" for variance in variances),
        str(codec.payload_bytes(m.channel)),
        str(m.cells),
        aliases(name),
    ]
    return f"| {' | '.join(cells)} |\n"


def group_row(name: str) -> str:
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip(".")]
    for groups in (2, 8):
        m = sv.mechanism(name, sv.Pair(sv.Integers(1, groups), sv.Interval(-1, 1)), epsilon=EPSILON)
        cells.append(f"{mean_variance(m.channel):.1f}")
    cells += [str(codec.payload_bytes(m.channel)), str(m.cells)]
    return f"| {' | '.join(cells)} |\n"


def vector_row(name: str) -> str:
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip(".")]
    for dimensions in (8, 64):
        domains = (sv.Box(-1, 1, dimensions), sv.Ball(1, dimensions), sv.Sparse(dimensions, 1))
        domain = next(one for one in domains if fits(name, one))
        m = sv.mechanism(name, domain, epsilon=EPSILON)
        if dimensions == 8:
            cells.append(f"`{type(domain).__name__}`")
        cells.append(f"{mean_coordinate_variance(m, None, 1):.1f}")
    exact = "yes" if m.guarantee.is_pure else "idealised"
    return f"| {' | '.join([*cells, str(codec.payload_bytes(m.channel)), str(m.cells), exact])} |\n"


def distribution_row(name: str) -> str:
    m = sv.mechanism(name, sv.Interval(0, 1), epsilon=EPSILON, buckets=BUCKETS)
    cells = [
        f"`{name}`",
        plain(slots(name)[""]).rstrip("."),
        f"{error_of(m, sv.Distribution(m.question.domain)) ** 2:.1f}",
        str(codec.payload_bytes(m.channel)),
        str(m.cells),
        aliases(name),
    ]
    return f"| {' | '.join(cells)} |\n"


def boxes_row(name: str) -> str:
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip(".")]
    for buckets in (16, 64):
        pair = sv.Record({"a": sv.Interval(0, 1), "b": sv.Interval(0, 1)})
        plan = sv.plan(sv.Boxes(pair, buckets), epsilon=EPSILON, participants=1, methods=[name])
        cells.append(f"{plan.best.std_error**2:.1f}")
    m = plan.best.mechanism
    return f"| {' | '.join([*cells, str(codec.payload_bytes(m.channel)), str(m.cells)])} |\n"


def categories(attributes: int) -> sv.Record:
    return sv.Record({f"a{place}": sv.Integers(1, 8) for place in range(attributes)})


def mean_variance_of_shares(m: sv.Mechanism) -> float:
    names = [name for name, _ in m.question.fields_of]  # type: ignore[attr-defined]
    return float(m.variance({name: [1 / 8] * 8 for name in names}).mean())


def attributes_head() -> str:
    one = mean_variance_of_shares(sv.mechanism("split-attributes", categories(1), epsilon=EPSILON))
    return ATTRIBUTES.format(split=f"{2 * one:.1f} and {8 * one:.1f}")


def attributes_row(name: str) -> str:
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip(".")]
    for attributes in (2, 8):
        m = sv.mechanism(name, categories(attributes), epsilon=EPSILON)
        cells.append(f"{mean_variance_of_shares(m):.1f}")
    return f"| {' | '.join([*cells, str(codec.payload_bytes(m.channel)), str(m.cells)])} |\n"


def set_row(name: str) -> str:
    """A row of the table of mechanisms for sets of items."""
    small, large = (sv.mechanism(name, sv.Sets(range(size), 10), epsilon=EPSILON) for size in (100, 1000))
    variances = [float(one.variance(np.zeros(size), 1)[0]) for one, size in ((small, 100), (large, 1000))]
    size = codec.payload_bytes(small.channel)
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip("."), *(f"{one:.1f}" for one in variances)]
    return f"| {' | '.join([*cells, str(size), str(small.cells)])} |\n"


def key_row(name: str) -> str:
    """A row of the table of mechanisms for keys with numbers."""
    subject = sv.mechanism(name, sv.KeyValue(range(100), sv.Interval(-1, 1), 10), epsilon=EPSILON)
    rare = np.full(100, 1e-12), np.zeros(100)
    joint = at_truth(subject, rare, 1).covariance(Target.POPULATION)[0]
    size = codec.payload_bytes(subject.channel)
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip("."), *(f"{joint[place, place]:.1f}" for place in (0, 1))]
    return f"| {' | '.join([*cells, str(size), str(subject.cells)])} |\n"


def word_row(name: str) -> str:
    """A row of the table of mechanisms for frequent words."""
    subject = sv.mechanism(name, sv.Words(), epsilon=EPSILON)
    numbers = float(subject.variance([0.0], 1)[0]), 100 * (smallest_found(subject, 500_000) or 1)
    size = codec.payload_bytes(subject.channel)
    cells = [f"`{name}`", plain(slots(name)[""]).rstrip("."), *(f"{one:.3g}" for one in numbers)]
    return f"| {' | '.join([*cells, str(size), str(subject.cells)])} |\n"


def test_row(name: str) -> str:
    test = sv.TestOf(sv.Frequency(sv.Integers(1, SIZE)), difference="0.01", overall=True)
    own = sv.plan(test, epsilon=EPSILON, power=0.8, methods=[name])
    oracle = sv.plan(test, epsilon=EPSILON, power=0.8, methods=ORACLES)
    needed = f"{own.participants:,}", f"{oracle.participants:,} (`{oracle.best.method}`)"
    m = own.best.mechanism
    cells = [
        f"`{name}`",
        plain(slots(name)[""]).rstrip("."),
        *needed,
        str(codec.payload_bytes(m.channel)),
        str(m.cells),
    ]
    return f"| {' | '.join(cells)} |\n"


def one_bit_row() -> str:
    rising = [Fraction(2 * code, SIZE * (SIZE + 1)) for code in range(1, SIZE + 1)]
    test = sv.TestOf(sv.Frequency(sv.Integers(1, SIZE)), "0.05", test="two distributions", other=rising)
    own, oracle = (sv.plan(test, epsilon=EPSILON, power=0.8, methods=list(names)) for names in TWO_DISTRIBUTIONS)
    m = own.best.mechanism
    needed = f"{own.participants:,}", f"{oracle.participants:,} (`{oracle.best.method}`)"
    size = codec.payload_bytes(m.channel)
    cells = ["`one-bit`", plain(slots("one-bit")[""]).rstrip("."), *needed, str(size), str(m.cells)]
    return f"| {' | '.join(cells)} |\n"


def section(name: str) -> str:
    said = slots(name)
    options = [option for option in inspect.signature(builder(name)).parameters if option not in ("domain", "epsilon")]
    lines = [f"- *{slot}*: {plain(said[slot])}" for slot in SLOTS]
    if options:
        lines.insert(0, f"- *Options*: {', '.join(f'`{option}`' for option in options)}")
    return f"\n### {name}\n\n{plain(said[''])}\n\n" + "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    oracles, means = sv.names(sv.Frequency), sv.names(sv.Mean)
    parts = [HEAD, FREQUENCIES, *map(frequency_row, oracles), *map(section, oracles)]
    parts += [MEANS, *map(mean_row, means), *map(section, means)]
    groups, vectors = sv.names(sv.GroupMean), sv.names(sv.VectorMean)
    parts += [GROUPS, *map(group_row, groups), *map(section, groups)]
    parts += [VECTORS, *map(vector_row, vectors), *map(section, vectors)]
    whole = sv.names(sv.Distribution)
    parts += [DISTRIBUTIONS, *map(distribution_row, whole), *map(section, whole)]
    boxes = sv.names(sv.Boxes)
    parts += [BOXES, *map(boxes_row, boxes), *map(section, boxes)]
    several = sv.names(sv.Attributes)
    parts += [attributes_head(), *map(attributes_row, several), *map(section, several)]
    sets = sv.names(sv.SetShares)
    parts += [SETS, *map(set_row, sets), *map(section, sets)]
    parts += [KEYS, *map(key_row, keys := sv.names(sv.KeyMeans)), *map(section, keys)]
    parts += [WORDS, *map(word_row, words := sv.names(sv.FrequentWords)), *map(section, words)]
    parts += [TESTS, test_row("half-sets"), one_bit_row()]
    return "".join([*parts, *map(section, sv.names(HalfSets))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
