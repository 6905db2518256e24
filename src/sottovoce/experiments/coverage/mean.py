"""How often intervals for a mean cover: summed up over the law where there are two outputs, else simulated.

In a simulation for the population each report comes from the mixed law of all answers; for the sample so many come from
each answer. Coverage is judged for all runs at once, by the formulas of `estimate.mean`; a test compares that with the
shipped intervals one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from sottovoce.core.channel.base import Channel
from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.mean.betting import Sides
from sottovoce.estimate.mean.mean import MeanEvidence, bernstein, evidence, hoeffding
from sottovoce.estimate.mean.moments import numbers_of, profile
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.experiments.coverage.draws import add_sums
from sottovoce.tally.laws import law_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EPSILON = 1.0
CROWDS: dict[str, tuple[float, ...]] = {
    "all 0.9": (0.9,),
    "-1, -0.5, 0, 0.5, 1": (-1.0, -0.5, 0.0, 0.5, 1.0),
    "-1, 1": (-1.0, 1.0),
}
METHODS = ("normal", "betting", "bernstein", "hoeffding")
TARGETS = ("population", "sample")
KINDS = tuple((method, target) for method in METHODS for target in TARGETS)
SIZES = ((10_000, 10_000), (100, 4_000))  # participants, runs
WIDTHS = (100, 1_000, 10_000, 100_000)
SHOWN = ("bernoulli", "laplace", "piecewise", "hybrid")  # whose widths are listed: one of each kind
STREAM = 100_000
STREAMS = 500
SINGLE = 64  # reports after each of which a stream is looked at; then at 80 times
_ROUNDING = 1e-12
SEED = 20_250_117


@dataclass(frozen=True, slots=True)
class MeanCoverage:
    """One cell of the table; runs is 0 where coverage is computed from the law."""

    mechanism: str
    epsilon: float
    n: int
    crowd: str
    method: str
    target: str
    coverage: float
    runs: int


@dataclass(frozen=True, eq=False)
class Judge:
    """Which tallies of n reports have an interval that covers the true mean."""

    mechanism: Mechanism
    truth: float
    n: int
    level: float = 0.95

    @cached_property
    def numbers(self) -> Floats:
        """What each output is read as."""
        _, _, origin = numbers_of(self.mechanism)
        return numbers_at(*scale_of(self.mechanism.channel, origin), np.arange(self.mechanism.cells))

    @cached_property
    def known(self) -> MeanEvidence:
        """What intervals take from the mechanism and n alone; the tally in it does not matter."""
        return evidence(self.mechanism, np.eye(1, self.mechanism.cells, dtype=np.int64)[0] * self.n)

    @cached_property
    def _sides(self) -> Sides:
        return self.known.sides(self.level, "betting")

    @cached_property
    def features(self) -> Floats:
        """For each output all that is added up: its distance from the truth, the square, and what each bet wins."""
        away = self.numbers - self.truth
        up, down = (np.log1p(np.outer(s * away, b.sizes)) for s, b in ((1, self._sides.up), (-1, self._sides.down)))
        return np.concatenate([away[:, None], away[:, None] ** 2, up, down], axis=1)

    def sums(self, counts: Ints) -> Floats:
        """What `covers` needs of tallies, one row each."""
        return np.asarray(counts.astype(float) @ self.features)

    def covers(self, sums: Floats, method: str, target: str) -> NDArray[np.bool_]:
        """For each row of sums, whether the interval holds the truth."""
        if method == "betting":
            bets = len(self._sides.up.sizes)
            parts = (sums[:, 2 : 2 + bets], self._sides.up), (sums[:, 2 + bets :], self._sides.down)
            capital = np.maximum(*(logsumexp(part, axis=1, b=side.weights) for part, side in parts))
            return np.asarray(capital < math.log(2 / (1 - self.level)))
        first, second = sums[:, 0] / self.n, sums[:, 1] / self.n
        spread = np.maximum(second - first**2, 0) * self.n / (self.n - 1)
        if method == "normal":
            variance = spread if target == "population" else np.minimum(spread, self.noise(first, second))
            half = deviate(self.level) * np.sqrt(variance / self.n)
        elif method == "hoeffding":
            half = hoeffding(self.known.reach, self.n, self.level)
        else:
            half = bernstein(self.known.reach, spread, self.n, self.level)
        return np.asarray(np.abs(first) <= half + _ROUNDING)

    def noise(self, first: Floats, second: Floats) -> Floats:
        """The bound on the noise, from mean and mean square about the truth."""
        middle = self.known.centre - self.truth
        return np.interp(second - 2 * middle * first + middle**2, *_noise(self.mechanism.channel, self.known.code))


@lru_cache(maxsize=32)
def _noise(channel: Channel, centre: float) -> tuple[Floats, Floats]:
    """The bound on the noise, at many mean squares; between them it is concave and nearly straight."""
    grid = profile(channel)
    squares = grid.squares(centre)
    places = np.linspace(squares.min(), squares.max(), 101)
    return places, np.array([grid.noise(centre, float(place)) for place in places])


def laws(mechanism: Mechanism, answers: Sequence[float]) -> Floats:
    """The law of a report for each answer; NumPy wants rows that sum to one more exactly than floats add up."""
    _, _, origin = numbers_of(mechanism)
    rows = np.array([law_at(mechanism.channel, Fraction(answer) - origin) for answer in answers])
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def draw(judge: Judge, rows: Floats, target: str, runs: int, rng: np.random.Generator) -> Floats:
    """The sums of runs with n participants each, the answers being equally common."""
    out = np.zeros((runs, 1, judge.features.shape[1]))
    for law in [rows.mean(axis=0)] if target == "population" else rows:
        share = judge.n if target == "population" else judge.n // len(rows)
        add_sums(law, judge.features, np.array([share]), out, rng)
    return out[:, 0]


def two_outputs(rows: Floats, n: int, target: str) -> tuple[Ints, Floats]:
    """Every tally of two outputs, and its probability."""
    if target == "population":
        law = stats.binom.pmf(np.arange(n + 1), n, rows[:, 1].mean())
    else:
        each, law = n // len(rows), np.ones(1)
        for row in rows:
            law = np.convolve(law, stats.binom.pmf(np.arange(each + 1), each, row[1]))
    ones = np.arange(n + 1)
    return np.stack([n - ones, ones], axis=1), law


def coverages(
    mechanism: Mechanism,
    answers: Sequence[float],
    n: int,
    target: str,
    methods: Sequence[str],
    *,
    runs: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> dict[str, float]:
    """The coverage of each method, exactly where there are two outputs."""
    judge, rows = Judge(mechanism, float(np.mean(answers)), n, level), laws(mechanism, answers)
    if mechanism.cells == 2:
        counts, law = two_outputs(rows, n, target)
        sums = judge.sums(counts)
        return {method: float(law[judge.covers(sums, method, target)].sum()) for method in methods}
    sums = draw(judge, rows, target, runs, rng)
    return {method: float(judge.covers(sums, method, target).mean()) for method in methods}


def table(
    mechanisms: Sequence[str] | None = None, *, sizes: Sequence[tuple[int, int]] = SIZES, seed: int = SEED
) -> Iterator[MeanCoverage]:
    """Every cell of the grid, on [-1, 1]."""
    for name in mechanisms or names(Mean):
        mechanism = build(name, Interval(-1, 1), epsilon=EPSILON)
        for n, runs in sizes:
            for crowd, answers in CROWDS.items():
                rng = np.random.default_rng([seed, n, len(answers)])
                found = {
                    target: coverages(mechanism, answers, n, target, METHODS, runs=runs, rng=rng) for target in TARGETS
                }
                made = 0 if mechanism.cells == 2 else runs
                for method, target in KINDS:
                    yield MeanCoverage(name, EPSILON, n, crowd, method, target, found[target][method], made)


def looks(stream: int = STREAM) -> Ints:
    """When a stream is looked at: after each of the first reports, then at 80 times up to its end."""
    later = np.unique(np.round(np.geomspace(SINGLE, stream, 81)).astype(np.int64))
    return np.union1d(np.arange(1, SINGLE + 1), later)


def false_alarms(
    mechanism: Mechanism, answers: Sequence[float], *, runs: int = STREAMS, stream: int = STREAM, seed: int = SEED
) -> int:
    """Of so many streams of reports, how many have an anytime interval that ever leaves out the true mean."""
    judge, law = Judge(mechanism, float(np.mean(answers)), stream), laws(mechanism, answers).mean(axis=0)
    sides, rng = judge.known.sides(judge.level, "anytime"), np.random.default_rng(seed)
    away = judge.numbers - judge.truth
    pairs = (1, sides.up), (-1, sides.down)
    features = np.concatenate([np.log1p(np.outer(sign * away, bets.sizes)) for sign, bets in pairs], axis=1)
    steps, threshold, alarms = np.diff(looks(stream), prepend=0), math.log(2 / (1 - judge.level)), 0
    for _ in range(runs):
        out = np.zeros((1, len(steps), features.shape[1]))
        add_sums(law, features, steps, out, rng)
        up, down = np.split(out[0], 2, axis=1)
        capital = np.maximum(
            *(logsumexp(part, axis=1, b=bets.weights) for part, (_, bets) in zip((up, down), pairs, strict=True))
        )
        alarms += bool((capital >= threshold).any())
    return alarms


def widths(name: str, n: int) -> dict[str, float]:
    """The width of each interval for the population on [-1, 1], for answers spread evenly, without chance."""
    mechanism = build(name, Interval(-1, 1), epsilon=EPSILON)
    law = laws(mechanism, np.linspace(-1, 1, 41).tolist()).mean(axis=0)
    # The tally nearest to the law: at any output its sum so far is off by half a report at most.
    cells = np.diff(np.round(n * np.append(0, np.cumsum(law)))).astype(np.int64)
    found = evidence(mechanism, cells)
    each = {method: found.interval(0.95, method, "population") for method in found.methods}
    return {method: float((high - low)[0]) for method, (low, high) in each.items()}


def markdown(rows: Sequence[MeanCoverage]) -> str:
    """The part of the page about means."""
    return "\n".join([*_coverage_lines(rows), *_stream_lines(), *_width_lines()]) + "\n"


def _coverage_lines(rows: Sequence[MeanCoverage]) -> Iterator[str]:
    most = ", ".join(f"{100 * math.sqrt(0.05 * 0.95 / runs):.2f} at {runs:,} runs" for runs in _simulated(rows))
    yield from (
        "",
        "## Means",
        "",
        f"Answers from -1 to 1, those shown being equally common, epsilon {EPSILON:g}. Simulated, except where runs are"
        " 'exact': there are two outputs, and all tallies were summed up. The standard error of a coverage near 95 is"
        f" {most}. Percentages; columns are method and target. The normal interval is promised to cover 94 to 96 % of"
        " populations from 10,000 reports on, and at least 94 % of samples; all others 95 % at every n.",
        "",
        "| mechanism | n | answers | runs | " + " | ".join(f"{m}, {t}" for m, t in KINDS) + " |",
        "|---" * (4 + len(KINDS)) + "|",
    )
    for start in range(0, len(rows), len(KINDS)):
        group, first = rows[start : start + len(KINDS)], rows[start]
        cells = " | ".join(f"{100 * row.coverage:.2f}" for row in group)
        yield f"| {first.mechanism} | {first.n} | {first.crowd} | {first.runs or 'exact'} | {cells} |"


def _simulated(rows: Sequence[MeanCoverage]) -> list[int]:
    return sorted({row.runs for row in rows if row.runs}, reverse=True)


def _stream_lines() -> Iterator[str]:
    answers = CROWDS["all 0.9"]
    yield from (
        "",
        "### The anytime interval while reports stream in",
        "",
        f"Of {STREAMS:,} simulated streams of {STREAM:,} reports each, all answers being 0.9, the share whose 95 %"
        f" interval *ever* left out the true mean at one of {len(looks())} looks: after each of the first {SINGLE}"
        " reports and then at evenly growing times. At most 5 % are promised, however often one looks; the standard"
        f" error is at most {100 * math.sqrt(0.05 * 0.95 / STREAMS):.2f} %.",
        "",
        "| mechanism | false alarms, % |",
        "|---|---|",
    )
    for name in names(Mean):
        alarms = false_alarms(build(name, Interval(-1, 1), epsilon=EPSILON), answers)
        yield f"| {name} | {100 * alarms / STREAMS:.1f} |"


def _width_lines() -> Iterator[str]:
    yield from (
        "",
        "### How wide they are",
        "",
        f"Widths for the population in those of the normal interval, answers spread evenly over [-1, 1], epsilon"
        f" {EPSILON:g}; from the tally nearest to the law, without chance. Betting and anytime intervals lie within the"
        " range of the answers, the others need not. Clamped noise has a long range of possible reports, which makes"
        " Hoeffding and Bernstein intervals wide, and betting cautious while reports are few.",
        "",
        "| mechanism | n | normal, its width | betting | bernstein | hoeffding | anytime |",
        "|---|---|---|---|---|---|---|",
    )
    for name in SHOWN:
        for n in WIDTHS:
            found = widths(name, n)
            ratios = (found[method] / found["normal"] for method in ("betting", "bernstein", "hoeffding", "anytime"))
            cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            yield f"| {name} | {n} | {found['normal']:.4f} | {cells} |"
