"""What estimates say where more is asked than one number: keys, measures, linear queries, smoothing, ranks, plans.

`python -m tests.estimate.further_numbers` writes them down, beside those of that module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.domain import KeyValue
from sottovoce.core.guarantee import PURE
from sottovoce.core.registry import mechanism as registered
from sottovoce.estimate.boxes.measures import measured_tally
from sottovoce.estimate.group_mean.power import (
    group_error_ratio,
    order_probability,
    participants_for,
    participants_for_order,
    power_of_difference,
)
from sottovoce.estimate.key_means.evidence import at_truth, predicted_shares
from sottovoce.estimate.linear_queries import LinearQueries, QueriesInTurn, nearest_shares
from sottovoce.estimate.personal_tags import PersonalTags
from sottovoce.estimate.series import state_space
from sottovoce.estimate.series.series import Series
from sottovoce.estimate.vector_mean.pairs import coordinate_pairs
from sottovoce.privacy.accounting import bounds, composition, exact_shuffle, sampling, sequences, shuffling
from sottovoce.protocols.boxes.conjunction import conjunction
from tests.estimate.numbers import LEVEL, PEOPLE, UNEVEN, of_estimate

Calls = Iterator[tuple[str, Callable[[], Any]]]
FILMS = KeyValue(["ant", "bee", "cat", "dog"], sv.Integers(1, 5), 2)
SEEN = [{}, {"ant": 3}, {"bee": 5, "cat": 1}, {"ant": 1, "dog": 4}, {"dog": 2}]


def of_named(name: str, estimate: sv.Estimate) -> Calls:
    for key, call in of_estimate(estimate):
        yield f"{name}: {key}", call


def held(value: Any) -> Any:
    """The numbers that a plain object holds, at any depth."""
    if is_dataclass(value) and not isinstance(value, type):
        return [number for field in fields(value) for number in held(getattr(value, field.name))]
    if isinstance(value, (tuple, list)):
        return [number for one in value for number in held(one)]
    if isinstance(value, (int, float, Decimal, np.ndarray, np.generic)):
        return np.asarray(value, float).ravel().tolist()
    return []


def keys() -> Calls:
    """Shares of keys and means of their numbers, from every method; plans of them."""
    people = [SEEN[place % 5] for place in range(20 * PEOPLE)]
    truth = np.array([0.4, 0.1, 0.3, 0.05]), np.array([3.0, 5.0, 1.5, 2.0])
    for name in ("key-mask", "key-cells", "key-options", "pckv-grr", "privkv"):
        mechanism = registered(name, FILMS, epsilon="2.5")
        for part, count in (("few", 60), ("many", len(people))):
            tally = mechanism.tally(mechanism.privatize(people[:count], seed=4, threads=1))
            one: Any = mechanism.estimate(tally)
            yield from of_named(f"{name} {part}", one)
            yield from of_named(f"{name} {part} shares", one.shares)
            yield f"{name} {part} above", lambda one=one: ", ".join(one.shares.above(0.2))  # type: ignore[misc]
            yield f"{name} {part} top", lambda one=one: held(one.shares.top(2, LEVEL).first)  # type: ignore[misc]
        for target in ("population", "sample"):
            yield f"{name} predicted {target}", lambda m=mechanism, t=target: m.variance(truth, n=PEOPLE, target=t)  # type: ignore[misc]
        yield f"{name} predicted shares", lambda m=mechanism: predicted_shares(m, truth, PEOPLE)  # type: ignore[misc]
        yield f"{name} covariance", lambda m=mechanism: at_truth(m, truth, PEOPLE).covariance("sample")  # type: ignore[misc, arg-type]


def measures() -> Calls:
    """Counts, sums and averages of a public number over the people in a box."""
    person = sv.Record({"age": sv.Integers(0, 3), "sex": sv.Categories(["f", "m"])})
    # Without a search for a channel, which other libraries of linear algebra end elsewhere.
    wave = conjunction(person, epsilon="1.7", oracles={"age": "grr", "sex": "grr"})
    people = [{"age": place % 4, "sex": "fm"[place % 3 == 0]} for place in range(8 * PEOPLE)]
    known = [float(place % 17 + 3 * (place % 4)) for place in range(len(people))]
    queries = measured_tally(wave, wave.privatize(people, seed=1, threads=1), known, low=0, high=40).queries()
    for name in ("count", "sum", "average"):
        yield from of_named(name, getattr(queries, name)(age=(1, 2), sex="m"))
        yield from of_named(f"{name} of two", getattr(queries, name)({"age": 0}, {"sex": "f"}))


def queries() -> Calls:
    """Linear queries from shares and from vectors, projections, queries in turn, answers behind tags."""
    colours = sv.Categories(["red", "green", "blue"])
    asked = LinearQueries(colours, [[1, 4, -2], [0, 1, 1], [5, 5.5, 7]], names=["a", "b", "c"])
    answers = [colours.values[place % 5 % 3] for place in range(PEOPLE)]
    grr, ball = sv.mechanism("grr", colours, epsilon="1.7"), asked.mechanism(epsilon=4)
    of_shares = asked.of_shares(grr.estimate(grr.tally(grr.privatize(answers, seed=1, threads=1))))
    of_vectors = asked.of_vectors(ball.tally(ball.privatize(asked.vectors(answers), seed=1, threads=1)))
    for name, one in (("shares", of_shares), ("vectors", of_vectors)):
        yield from of_named(name, one)
        yield f"{name} projected", lambda one=one: asked.projected(one).values  # type: ignore[misc]
    yield "ball", lambda: [float(asked.ball.radius), *asked.centre, *asked.vectors(answers[:3]).ravel()]
    matrix = np.array([[1.0, 4, -2, 0.5], [0, 1, 1, 3]])
    for target in ([9.0, 9], [1, 1], [-5, 2]):
        yield f"nearest {target}", lambda t=target: nearest_shares(matrix, np.array(t), 1e-9, 10_000)[0]  # type: ignore[misc]
    turns = QueriesInTurn(colours, 3, 4)
    row = [0.0, 1.0, 4.0]
    turn = turns.mechanism(row)
    told = turn.estimate(turn.tally(turn.privatize(turns.numbers_of(row, answers), seed=1, threads=1)))
    yield "in turn", lambda: np.concatenate(turns.intervals([told, told], LEVEL))
    places = PersonalTags(sv.Categories(["park", "street", "clinic"]), ["home", "work"], sensitive=["clinic"])
    mechanism = places.mechanism(epsilon="1.7")
    sent = [places.asked.values[place % 7 % 5] for place in range(PEOPLE)]
    tagged = mechanism.estimate(mechanism.tally(mechanism.privatize(sent, seed=1, threads=1)))
    laws = {"home": {"street": 0.75, "park": 0.25}, "work": {"park": 1.0}}
    yield from of_named("tags", places.spread(tagged, laws))


def smoothing() -> Calls:
    """Smoothed series of one question, with and without a season, online and looking back; memos shared by waves."""
    yes = sv.Categories(["yes", "no"])
    for name in ("grr", "basic-rappor"):
        mechanism = sv.mechanism(name, yes, epsilon="1.7")
        waves = {
            week: mechanism.estimate(sv.simulate_counts(mechanism, [200 + 40 * (week % 3) + 9 * week, 500], seed=week))
            for week in range(1, 13)
        }
        for people in ("different", "same"):
            series = Series.of(waves, people=people)
            yield f"{name} {people} trend", lambda s=series: held([s.trend().values, s.trend().std_errors])  # type: ignore[misc]
            yield f"{name} {people} ci", lambda s=series: np.concatenate(s.ci(LEVEL, simultaneous=True)).ravel()  # type: ignore[misc]
            for period, online in ((None, False), (None, True), (3, False)):
                key = f"{name} {people} {period} {online}"
                yield key, lambda s=series, p=period, o=online: _smoothed(s, p, o)  # type: ignore[misc]
    rng = np.random.default_rng(5)
    values, variances = rng.normal(size=(14, 2)).cumsum(axis=0), rng.uniform(0.5, 2, 14)
    for name, models in (
        ("levels", state_space.Models.levels()),
        ("slopes", state_space.Models.slopes()),
        ("season", state_space.Models.levels(2).seasonal(3)),
        ("slopes and season", state_space.Models.slopes(2).seasonal(4)),
    ):
        yield f"model {name}", lambda m=models: held(state_space.fit(values, variances, m))  # type: ignore[misc]
        yield f"model {name} itself", lambda m=models: held(m)  # type: ignore[misc]
    for period in (None, 4):
        yield f"mix {period}", lambda p=period: held(state_space.mix(values, variances, p))  # type: ignore[misc]


def _smoothed(series: Series, period: int | None, online: bool) -> Any:
    smooth = series.smooth(period=period, online=online)
    return held(
        [smooth.values, smooth.std_errors, *smooth.ci(LEVEL), float(len(smooth.jumps)), float(bool(smooth.doubt))]
    )


def ranks() -> Calls:
    """The largest values, values above a threshold, pairs of coordinates."""
    letters = sv.Categories(list("abcdefgh"))
    for name in ("grr", "oue", "olh"):
        mechanism = sv.mechanism(name, letters, epsilon="1.7")
        people = [letters.values[place % 11 % 8] for place in range(20 * PEOPLE)]
        shares: Any = mechanism.estimate(mechanism.tally(mechanism.privatize(people, seed=1, threads=1)))
        for count, among in ((1, None), (3, None), (3, 20)):
            top = shares.top(count, LEVEL, among=among)
            yield f"{name} top {count} {among}", lambda t=top: held([t.first, t.last])  # type: ignore[misc]
            yield f"{name} items {count} {among}", lambda t=top: f"{t.items} {t.certain} {t.possible}"  # type: ignore[misc]
        for threshold in (0.02, 0.08, 0.1, 0.15):
            for control in ("family", "discoveries"):
                key = f"{name} above {threshold} {control}"
                yield key, lambda s=shares, t=threshold, c=control: ", ".join(s.above(t, LEVEL, control=c))  # type: ignore[misc]
        for decoder in ("calibrate", "lasso", "small-sample"):
            yield f"{name} {decoder}", lambda s=shares, d=decoder: s.decoded(d).values  # type: ignore[misc]
    box = sv.Box(0, 10, dimensions=3)
    for name, options in (("split-epsilon", {"inner": "bernoulli"}), ("sampled", {"count": 2, "inner": "nprr"})):
        mechanism = sv.mechanism(name, box, epsilon=6, **options)  # type: ignore[arg-type]
        vectors = [(UNEVEN[p % 13], 10 - UNEVEN[p % 13], p % 11) for p in range(PEOPLE)]
        pairs = coordinate_pairs(mechanism.privatize(vectors, seed=1, threads=1))
        yield f"{name} pairs", lambda p=pairs: held(p)  # type: ignore[misc]


def plans() -> Calls:
    """Power and order of group means."""
    pair = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))
    for name in ("group-bernoulli", "group-piecewise", "group-laplace"):
        m = sv.mechanism(name, pair, epsilon=3)
        belief: dict[str, Any] = {"shares": [0.5, 0.3, 0.2], "groups": ("a", "c")}
        for key, more in (("", {}), (" believed", belief)):
            yield f"{name} power{key}", lambda m=m, o=more: power_of_difference(m, 1, n=4000, level=LEVEL, **o)  # type: ignore[misc]
            yield f"{name} people{key}", lambda m=m, o=more: held(participants_for(m, 1, power=0.8, level=LEVEL, **o))  # type: ignore[misc]
            yield f"{name} order{key}", lambda m=m, o=more: order_probability(m, 1, n=900, **o)  # type: ignore[misc]
            yield f"{name} for order{key}", lambda m=m, o=more: participants_for_order(m, 1, probability=0.9, **o)  # type: ignore[misc]
        yield f"{name} wrong group", lambda m=m: float(group_error_ratio(m))  # type: ignore[misc]


def accounts() -> Calls:
    """Crowds, samples, waves and sequences."""
    for epsilon, people, delta in (("0.5", 300, 1e-6), ("2", 5000, 1e-9)):
        key = f"{epsilon} {people}"
        laws: dict[str, Any] = {"any": Decimal(epsilon)}
        for name in ("rr", "grr", "oue", "subset", "olh", "square-wave-discrete", "mask"):
            domain = sv.Sets(list("abcde"), 2) if name == "mask" else sv.Integers(0, 1 if name == "rr" else 3)
            laws[name] = sv.mechanism(name, domain, epsilon=epsilon)
        for name, law in laws.items():
            asked = {"participants": people, "delta": delta}
            yield f"shuffled {name} {key}", lambda law=law, o=asked: held(shuffling.shuffled(law, **o))  # type: ignore[misc]
            if name in ("any", "grr"):
                yield f"waves {name} {key}", lambda law=law, o=asked: held(shuffling.shuffled_waves(law, waves=4, **o))  # type: ignore[misc]
        local = float(epsilon)
        yield f"bounds {key}", lambda e=local, n=people, d=delta: _bounds(e, n, d)  # type: ignore[misc]
        yield f"fewest {key}", lambda n=people, d=delta: [shuffling.fewest_of(n, rate, d) for rate in (0.1, 0.5, 0.9)]  # type: ignore[misc]
    for rate in ("0.1", "0.75", "1"):
        yield f"sampled {rate}", lambda r=rate: held(sampling.sampled(Decimal("1.2"), rate=r, delta=1e-5))  # type: ignore[misc]
    chain = sv.mechanism("basic-rappor", sv.Integers(0, 2), epsilon=1)
    yield "fresh", lambda: float(sequences.fresh_loss(chain) or -1)
    for waves, same in ((1, False), (2, False), (2, True)):
        key = f"sequence {waves} {same}"
        yield key, lambda w=waves, s=same: sequences.sequence_loss(chain, w, unchanged=s)  # type: ignore[misc]
    for count in (2, 30):
        losses = [PURE.loss(Decimal("0.3"))] * count + [PURE.loss(Decimal("0.11"))]
        yield f"composed {count}", lambda some=losses: held(composition.advanced(some, Decimal("1e-6")))  # type: ignore[misc]
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    for people in (2, 3, 7):
        yield f"exact {people}", lambda n=people: [exact_shuffle.delta(rows, n, epsilon) for epsilon in (0.1, 0.5)]  # type: ignore[misc]


def _bounds(local: float, people: int, delta: float) -> list[float]:
    tokens = [
        bounds.clones(local, people),
        bounds.stronger_clones(local, people),
        bounds.stronger_clones(local, people, 0.2),
    ]
    return [
        *(bounds.erlingsson(local, people, delta), bounds.clones_closed_form(local, people, delta)),
        *(one.delta(epsilon) for one in tokens for epsilon in (0.05, 0.3)),
        *(bounds.blanket(local, people, mass)(epsilon) for mass in (None, 0.4) for epsilon in (0.05, 0.3)),
    ]


FAMILIES: dict[str, Callable[[], Calls]] = {
    "keys": keys, "measures": measures, "queries": queries, "smoothing": smoothing, "ranks": ranks, "plans": plans,
    "accounts": accounts,
}  # fmt: skip
