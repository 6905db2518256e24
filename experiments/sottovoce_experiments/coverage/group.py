"""How often intervals for group means and their differences cover, simulated at count level.

Only groups that the planner expects to be estimable are judged: their size is two standard errors above the threshold.
For the population each run draws new groups and values, for the sample they stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Keyed, Subset
from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.group_mean.contrasts import difference
from sottovoce.estimate.group_mean.equal_means import PairTests
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence, from_cells
from sottovoce.estimate.group_mean.truth import Crowd, keyed_channel, tells_squares, value_numbers
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.tally.laws import law_at, law_row
from sottovoce_experiments.coverage.declared.studies import GROUP_PARTICIPANTS, UNEVEN
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PAIRS = 3  # differences that are judged in one case
SHARES = {(2, UNEVEN): (0.8, 0.2), (8, UNEVEN): (0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03)}


class Cohort(NamedTuple):
    """Participants of one group whose inner reports have one law."""

    group: int
    size: int
    law: Floats


def cohorts(mechanism: Mechanism, crowd: Crowd, counts: Ints, *, fixed: bool) -> Iterator[Cohort]:
    """The participants of each group: values drawn from the priors, or in exactly these proportions if `fixed`."""
    channel = keyed_channel(mechanism)
    low, high, origin = value_numbers(mechanism.domain)  # type: ignore[arg-type]
    ends, steps = (float(low + origin), float(high + origin)), channel.inner.inputs - 1
    known: dict[Prior, Floats] = {}
    for group, (count, prior) in enumerate(zip(counts, crowd.priors, strict=True)):
        if fixed:
            parts = np.diff(np.rint(count * np.cumsum([0.0, *prior.weights]))).astype(int)
            for value, part in zip(prior.values, parts, strict=True):
                yield Cohort(group, int(part), law_at_value(mechanism, value))
            continue
        if prior not in known:
            weights = prior.rounded(*ends, steps)
            points = np.flatnonzero(weights)
            law = sum((weights[j] * law_row(channel.inner, int(j)) for j in points), np.zeros(channel.inner_outputs))
            known[prior] = law / law.sum()
        yield Cohort(group, int(count), known[prior])


def law_at_value(mechanism: Mechanism, value: float) -> Floats:
    """The law of the inner reports of those who hold a value."""
    origin = value_numbers(mechanism.domain).origin  # type: ignore[arg-type]
    return law_at(keyed_channel(mechanism).inner, Fraction(value) - origin)


def draw_cells(channel: Keyed, people: Sequence[Cohort], rng: np.random.Generator) -> Ints:
    """The cells of a tally: which groups each report supports, then the inner reports."""
    d, neutral = channel.key.inputs, np.array(channel.neutral, float) / UNIT
    cells = np.zeros((d, channel.inner_outputs), np.int64)
    away = np.zeros(d, np.int64)  # neutral reports that support one group
    for group, count, law in people:
        key = channel.key
        keep = key.keep if isinstance(key, Subset) else int(key.p)  # type: ignore[arg-type]
        kept = int(rng.binomial(count, keep / UNIT))
        if isinstance(key, Subset) and key.w == 1:
            cells[group] += rng.multinomial(kept, law)
            lands = np.full(d, 1 / (d - 1))
            lands[group] = 0
            away += rng.multinomial(count - kept, lands)
        else:
            _add(cells, _masks(key, group, kept, own=True, rng=rng), law, rng)
            _add(cells, _masks(key, group, count - kept, own=False, rng=rng), neutral, rng)
    for group in np.flatnonzero(away).tolist():
        cells[group] += rng.multinomial(away[group], neutral)
    return cells


def _masks(key: object, group: int, number: int, *, own: bool, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which groups `number` reports of a group support, given that they support it themselves, or do not."""
    if isinstance(key, Bits) and isinstance(key.q, int):
        masks = rng.random((number, key.k)) < key.q / UNIT
    elif isinstance(key, Subset):
        order = rng.random((number, key.k))
        order[:, group] = 2.0  # last of all
        wanted = key.w - own
        least = np.partition(order, wanted - 1, axis=1)[:, wanted - 1, None] if wanted else -1.0
        masks = order <= least
    else:
        raise TypeError("This channel is not a key of groups.")
    masks[:, group] = own
    return np.asarray(masks)


def _add(cells: Ints, masks: NDArray[np.bool_], law: Floats, rng: np.random.Generator) -> None:
    """Inner reports from one law, added to every group that is supported."""
    within = np.searchsorted(np.cumsum(law), rng.random(len(masks)) * law.sum(), side="right")
    for group in range(masks.shape[1]):
        cells[group] += np.bincount(within[masks[:, group]], minlength=len(law))[: len(law)]


def crowd_of(domain: Pair, groups: int, shares: str) -> Crowd:
    """Means spread over the range, three values in each group, so that spread within and between both matter."""
    middles = np.linspace(-0.5, 0.5, groups)
    priors = [Prior([middle - 0.4, middle, middle + 0.5], [1, 2, 1]) for middle in middles]
    return Crowd.of(domain, SHARES.get((groups, shares)), priors)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """How often the intervals of all judged groups, or differences of two, held the truth."""
    groups, target = point["groups"], point["target"]
    domain = Pair(Categories([f"g{place}" for place in range(groups)]), Interval(-1, 1))
    mechanism = build(point["mechanism"], domain, epsilon=point["epsilon"], key=point["key"])
    crowd = crowd_of(domain, groups, point["shares"])
    rng = np.random.default_rng(seed)
    truth, shown = crowd.means, np.flatnonzero(crowd.estimable(mechanism, GROUP_PARTICIPANTS))
    counts = np.rint(GROUP_PARTICIPANTS * crowd.shares).astype(np.int64)
    people = list(cohorts(mechanism, crowd, counts, fixed=target == "sample"))
    if target == "sample":
        truth = np.array([_realised(crowd.priors[g], int(counts[g])) for g in range(groups)])
    pairs = list(combinations(shown.tolist(), 2))
    pairs = pairs[:: max(1, len(pairs) // PAIRS)][:PAIRS]
    bounded = target == "sample" and not tells_squares(keyed_channel(mechanism))
    held: dict[tuple[str, str], list[list[bool]]] = {}
    for _ in range(runs):
        if target == "population":
            drawn = rng.multinomial(GROUP_PARTICIPANTS, crowd.shares)
            people = [one._replace(size=int(drawn[one.group])) for one in people]
        cells = draw_cells(keyed_channel(mechanism), people, rng)
        estimate = from_cells(mechanism, GROUP_PARTICIPANTS, cells.ravel())
        for place, found in _judge(estimate, truth, shown, pairs, Target(target)).items():
            held.setdefault(place, []).append(found)
    # If the spread within groups is only bounded, intervals may be too wide.
    marked = f"{target}{'+' * bounded}"
    return [
        Coverage(
            of=of,
            method=method,
            target=target,
            coverage=float(np.mean(found)),
            runs=runs,
            numbers={
                "judged": len(found[0]),  # groups, or pairs of them, that are expected to be estimable
                "least": float(np.mean(found, axis=0).min()),  # of a single group or pair
                "marked": marked,
            },
        )
        for (of, method), found in held.items()
        if found[0]
    ]


def _realised(prior: Prior, count: int) -> float:
    """The mean of `count` participants in the proportions of a prior."""
    parts = np.diff(np.rint(count * np.cumsum([0.0, *prior.weights])))
    return float(np.dot(prior.values, parts) / parts.sum())


def _judge(
    estimate: GroupMeansEvidence, truth: Floats, shown: Ints, pairs: Sequence[tuple[int, int]], target: Target
) -> dict[tuple[str, str], list[bool]]:
    """Which intervals hold the truth. A group that is too small in a run is covered by the whole range."""
    found: dict[tuple[str, str], list[bool]] = {}
    for method in ("fieller", "delta"):
        low, high = estimate.interval(IntervalRequest(LEVEL, Method(method), target))
        found["mean", method] = ((low <= truth) & (truth <= high))[shown].tolist()
    held = [pair for pair in pairs if estimate.estimable[list(pair)].all()]
    rows, columns = np.array(held, dtype=np.int64).reshape(-1, 2).T
    tests = PairTests.of(estimate.ratios(target), estimate.blocks(target), rows, columns)
    kept = dict(zip(held, tests.p_values_at(truth[rows] - truth[columns]) >= 1 - LEVEL, strict=True))
    found["difference", "fieller"] = [bool(kept.get(pair, True)) for pair in pairs]
    found["difference", "delta"] = []
    for a, b in pairs:
        delta = difference(estimate, estimate.labels[a], estimate.labels[b], target) if (a, b) in kept else None
        found["difference", "delta"].append(delta is None or delta.holds(truth[a] - truth[b], LEVEL, method="delta"))
    return found
