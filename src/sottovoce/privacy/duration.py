"""The privacy loss of a message together with its duration: a lower confidence bound on epsilon, by measurement.

Two inputs that should differ most are answered many times, in random order. A message is read by its exact likelihood
ratio for the two inputs, a sufficient statistic; a duration is the time from the call to the return. One half of the
runs chooses an event (a likelihood ratio on one side of a threshold, a duration in a window), the other half tests it:
bounds of Clopper and Pearson give an epsilon that the pair exceeds at the stated level. A leak that is not found may
still exist. As a positive control, a sampler that is known to leak is measured too: if its leak is not found, the
machine is too noisy to conclude anything.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.client import Client, Untimed
from sottovoce.core.arithmetic.hashing import id_words
from sottovoce.core.channel import Subset
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.coins import Coins
from sottovoce.core.domain import Box, Domain, Integers, Interval, KeyValue, Pair, Record, Sets, Sparse
from sottovoce.core.domain import Words as PossibleWords
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import (
    Attributes,
    Boxes,
    Distribution,
    Frequency,
    FrequentWords,
    GroupMean,
    HalfSets,
    KeyMeans,
    Mean,
    Question,
    SetShares,
    VectorMean,
)
from sottovoce.core.registry import mechanism, names, registered_name
from sottovoce.privacy.blackbox import lower_bound
from sottovoce.privacy.drawn import ALPHA
from sottovoce.privacy.events import scores

EPSILON = 1
REPORTS = 20_000
CONTROL_NAME = "grr that leaks"
CONTROL = 4.0  # what the leaking sampler must show
SLACK = 0.1  # allowed excess of a measurement over the claim
WARM_UP = 200
CAUTION = 4.0  # standard errors by which counts are corrected when an event is chosen
CLASSES = 24  # thresholds of the likelihood ratio
LEVELS = (0.0, 0.001, 0.002, 0.005, *np.linspace(0.01, 0.99, 99).tolist(), 0.995, 0.998, 0.999, 1.0)

SHORT, LONG, OTHER = 1.0, -0.9876543210987654, 0.9876543210987654  # near the ends, quick and slow to read
DIGITS, SAME_DIGITS = "few digits, many digits", "many digits both"
Inputs = tuple[str, Any, Any]
CASES: dict[type[Question], tuple[tuple[Domain, tuple[Inputs, ...]], ...]] = {
    Frequency: (
        (Integers(0, 15), (("first category, last category", 0, 15),)),
        (Integers(0, 1), (("first category, last category", 0, 1),)),
    ),
    SetShares: ((Sets(range(12), 3), (("nothing, as much as possible", [], [0, 5, 11]),)),),
    KeyMeans: (
        (
            KeyValue(range(12), Interval(-1, 1), 3),
            (("nothing, as much as possible", {}, {0: LONG, 5: LONG, 11: LONG}), (DIGITS, {0: SHORT}, {0: LONG})),
        ),
    ),
    FrequentWords: ((PossibleWords(), (("no word, ten letters", "", "z" * 10),)),),
    HalfSets: ((Integers(0, 15), (("first category, last category", 0, 15),)),),
    Mean: ((Interval(-1, 1), ((DIGITS, SHORT, LONG), (SAME_DIGITS, OTHER, LONG))),),
    Distribution: ((Interval(-1, 1), ((DIGITS, SHORT, LONG), (SAME_DIGITS, OTHER, LONG))),),
    GroupMean: (
        (
            Pair(Integers(0, 3), Interval(-1, 1)),
            ((DIGITS, (0, SHORT), (3, LONG)), (SAME_DIGITS, (0, OTHER), (3, LONG))),
        ),
    ),
    VectorMean: (
        (Box(-1, 1, 8), ((DIGITS, [SHORT] * 8, [LONG] * 8), (SAME_DIGITS, [OTHER] * 8, [LONG] * 8))),
        (Sparse(32, 4), (("no entry, all entries", {}, {8 * place: LONG for place in range(4)}),)),
        (Sparse(32, 1), (("no entry, all entries", {}, {31: LONG}),)),
    ),
    Attributes: (
        (
            Record({"a": Integers(0, 3), "b": Integers(0, 15)}),
            (("first categories, last categories", {"a": 0, "b": 0}, {"a": 3, "b": 15}),),
        ),
    ),
    Boxes: (
        (
            Record({"a": Integers(0, 3), "b": Interval(-1, 1)}),
            (
                (DIGITS, {"a": 0, "b": SHORT}, {"a": 3, "b": LONG}),
                (SAME_DIGITS, {"a": 0, "b": OTHER}, {"a": 3, "b": LONG}),
            ),
        ),
    ),
}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timed:
    """Runs of two inputs: for each the logarithm of the likelihood ratio of its messages, and their durations."""

    ratios: tuple[Floats, Floats]
    durations: tuple[Floats, Floats]

    def half(self, place: int) -> Timed:
        """Every second run."""
        pairs = ((values[0][place::2], values[1][place::2]) for values in (self.ratios, self.durations))
        return Timed(*pairs)


@dataclass(frozen=True, slots=True)
class DurationWindow:
    """An event, likelier for input `first`: a log ratio in its favour of `least` or more, a duration in a window."""

    first: int
    least: float
    shortest: float
    longest: float

    def count(self, runs: Timed, value: int) -> int:
        """How many runs of an input have it."""
        favour = runs.ratios[value] if self.first == 0 else -runs.ratios[value]
        durations = runs.durations[value]
        return int(((favour >= self.least) & (durations >= self.shortest) & (durations <= self.longest)).sum())


@dataclass(frozen=True, slots=True)
class DurationRow:
    """The result for one mechanism: `loss` bounds epsilon of message and duration together, `message` alone.

    `microseconds` are the median durations of the two inputs, `load` is the load average of the machine.
    """

    name: str
    inputs: str
    claimed: float
    loss: float
    message: float
    microseconds: tuple[float, float]
    reports: int
    tick: float | None
    load: float

    @property
    def ok(self) -> bool:
        """Whether nothing beyond the claim was found."""
        return self.loss <= self.claimed + SLACK

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "ok": self.ok}


# --- what is measured ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class LeakySubset(Subset):
    """The positive control: an earlier form of randomized response, which draws another code only if it needs one.

    The leaking sampler is kept unchanged and not registered. Messages alone are private; together with their durations
    they are not.
    """

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        end = coins.position + self.words
        kept = coins.flip(self.keep)
        report = code if kept else _skip(coins.below(self.k - 1), code)
        coins.seek(end)
        return report


def _skip(index: int, code: int) -> int:
    return index + 1 if index >= code else index


def leaky_grr() -> Mechanism:
    """The positive control."""
    plain = mechanism("grr", Integers(0, 3), epsilon=EPSILON)
    leaky = LeakySubset(**{name: getattr(plain.channel, name) for name in LeakySubset.forms})
    return Mechanism(CONTROL_NAME, plain.question, leaky, plain.claimed, plain.statistic)


@cache
def subject(name: str) -> tuple[Mechanism, tuple[Inputs, ...]]:
    """A mechanism on the first domain here that it takes, and pairs of inputs; the first pair should differ most."""
    if name == CONTROL_NAME:
        return leaky_grr(), (("first category, second category", 0, 1),)
    name = registered_name(name)
    question = next(question for question in CASES if name in names(question))
    for domain, inputs in CASES[question]:
        try:
            candidate = mechanism(name, domain, epsilon=EPSILON)
        except ParameterError:
            continue  # it takes another domain
        if candidate.claimed_forever is not None:
            raise ParameterError(f"{name} keeps a memo on disk: the duration of a report is that of its file.")
        return candidate, inputs
    raise ParameterError(f"Durations are measured for mechanisms with a pure guarantee; {name} has another one.")


def pure_names() -> list[str]:
    """Every registered mechanism that is measured: all but those for balls, whose guarantee is not pure, and those with
    a memo, whose file takes far longer than their coins."""
    return [name for question in CASES for name in names(question) if _is_measured(name)]


def _is_measured(name: str) -> bool:
    try:
        subject(name)
    except ParameterError:
        return False
    return True


def timed(
    measured: Mechanism,
    draw: Callable[[Any], bytes],
    values: tuple[Any, Any],
    *,
    reports: int,
    seed: int,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Timed:
    """Runs of both inputs, `reports` of each, in random order; no garbage is collected meanwhile."""
    order = np.random.default_rng(seed).permutation(np.repeat([0, 1], reports)).tolist()
    for run in range(min(WARM_UP, reports)):
        draw(values[run % 2])
    messages: tuple[list[bytes], list[bytes]] = ([], [])
    times: tuple[list[int], list[int]] = ([], [])
    collecting = gc.isenabled()
    gc.disable()
    try:
        for place in order:
            value = values[place]
            began = clock()
            message = draw(value)
            times[place].append(clock() - began)
            messages[place].append(message)
    finally:
        if collecting:
            gc.enable()
    ratios = _log_ratios(measured, values)
    first, second = (np.array([ratios(message) for message in one], np.float64) for one in messages)
    return Timed((first, second), (np.array(times[0], np.float64), np.array(times[1], np.float64)))


def _log_ratios(measured: Mechanism, values: tuple[Any, Any]) -> Callable[[bytes], float]:
    """The logarithm of the likelihood ratio of a message for the two inputs, in steps of a thousandth."""
    codes = [measured.domain.encode(value) for value in values]
    reads_id = measured.channel.publics > 0

    @cache
    def ratio(public: Words, payload: bytes) -> float:
        report = int.from_bytes(payload, "little")
        first, second = (measured.channel.likelihood(report, code, public) for code in codes)
        return round(math.log(first / second), 3)

    def read(message: bytes) -> float:
        public = id_words(message[: codec.ID_BYTES]) if reads_id else NO_WORDS
        return ratio(public, message[codec.ID_BYTES :])

    return read


# --- the statistic ---------------------------------------------------------------------------------------------
def bound(runs: Timed, *, use_durations: bool = True) -> tuple[float, DurationWindow | None]:
    """A lower bound on epsilon at level 1 - ALPHA, and the event that shows it, chosen on the other half."""
    event = chosen(runs.half(0), use_durations=use_durations)
    if event is None:
        return 0.0, None
    testing = runs.half(1)
    counts = event.count(testing, event.first), event.count(testing, 1 - event.first)
    sizes = min(map(len, testing.durations))
    return lower_bound(*counts, sizes, ALPHA), event


def chosen(runs: Timed, *, use_durations: bool = True) -> DurationWindow | None:
    """The event with the largest cautious estimate of its ratio."""
    best, window = 0.0, None
    for first in (0, 1):
        favours = [ratios if first == 0 else -ratios for ratios in runs.ratios]
        for least in _thresholds(np.concatenate(favours)):
            kept = [durations[favour >= least] for favour, durations in zip(favours, runs.durations, strict=True)]
            edges = _edges(np.concatenate(kept)) if use_durations else np.array([-np.inf, np.inf])
            score, low, high = _best_window(kept[first], kept[1 - first], edges, len(favours[0]))
            if score > best:
                best, window = score, DurationWindow(first, float(least), float(edges[low]), float(edges[high]))
    return window


def _thresholds(favours: Floats) -> Floats:
    """Thresholds of the likelihood ratio: all of its values if they are few, else some of them."""
    different = np.unique(favours)
    return different if len(different) <= CLASSES else np.unique(np.quantile(different, np.linspace(0, 1, CLASSES)))


def _edges(durations: Floats) -> Floats:
    """Ends of windows: quantiles of the durations, closer in the tails."""
    return np.unique(np.quantile(durations, LEVELS, method="nearest")) if len(durations) else np.zeros(0)


def _best_window(own: Floats, other: Floats, edges: Floats, size: int) -> tuple[float, int, int]:
    """The window from one edge to another, both included, in which a cautious ratio of frequencies is largest."""
    if not len(edges):
        return 0.0, 0, 0
    below = [np.searchsorted(np.sort(values), edges, side="left") for values in (own, other)]
    up_to = [np.searchsorted(np.sort(values), edges, side="right") for values in (own, other)]
    x, y = (np.maximum(last[None, :] - first[:, None], 0) for first, last in zip(below, up_to, strict=True))
    score = scores(x, y, size, size, CAUTION)
    place = int(np.argmax(score))
    return float(score.flat[place]), place // len(edges), place % len(edges)


# --- rows ------------------------------------------------------------------------------------------------------
def measure(name: str, *, inputs: int = 0, reports: int = REPORTS, tick: bool = True, seed: int = 0) -> DurationRow:
    """The row of a mechanism and a pair of inputs, through `Client.report`."""
    check_integer("reports", "a measurement of durations", reports, 100, 10**7)
    measured, pairs = subject(name)
    label, *values = pairs[inputs]
    client = Client(measured) if tick else Client(measured, tick=Untimed())
    runs = timed(measured, client.report, (values[0], values[1]), reports=reports, seed=seed)
    first, second = (float(np.median(durations)) / 1000 for durations in runs.durations)
    return DurationRow(
        name=name,
        inputs=label,
        claimed=float(measured.claimed),
        loss=bound(runs)[0],
        message=bound(runs, use_durations=False)[0],
        microseconds=(first, second),
        reports=reports,
        tick=getattr(client.tick, "seconds", None),
        load=os.getloadavg()[0],
    )


def measure_all(
    wanted: Sequence[str], *, reports: int = REPORTS, tick: bool = True, jobs: int = 1
) -> Iterator[DurationRow]:
    """The positive control without a tick, then each mechanism: with a tick the inputs that differ most, else all.

    Several are measured in parallel processes, because a tick is mostly spent asleep.
    """
    tasks = [(name, place) for name in wanted for place in range(1 if tick else len(subject(name)[1]))]
    yield measure(CONTROL_NAME, reports=reports, tick=False)
    if jobs == 1:
        for name, place in tasks:
            yield measure(name, inputs=place, reports=reports, tick=tick)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        rows = [pool.submit(measure, name, inputs=place, reports=reports, tick=tick) for name, place in tasks]
        yield from (row.result() for row in rows)
