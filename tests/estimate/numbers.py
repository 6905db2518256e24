"""Everything that an estimate says, for every mechanism, as plain numbers (`python -m tests.estimate.numbers`).

That these numbers are right is what other tests show, by enumeration and by hand. Here they are kept, so that no change
of a formula, a branch or a default goes unnoticed.
"""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.privacy.manipulation import what_if

FILE = Path(__file__).parent / "golden" / "numbers.json"
LEVEL, PEOPLE, DIGITS = 0.9, 211, 7
SEVEN, POINTS = sv.Integers(0, 6), sv.Interval(0, 10)
PAIR = sv.Pair(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))
RECORD = sv.Record({"sex": sv.Categories(["f", "m"]), "age": sv.Integers(0, 2)})
UNEVEN = [0, 0, 5, 5, 5, 10, 2, 7, 10, 5, 0, 3, 5]  # with heaps at a round number and at both ends
ANSWERS: dict[str, tuple[sv.Domain, list[Any]]] = {
    "frequency": (SEVEN, [place % 7 if place % 3 else 2 for place in range(PEOPLE)]),
    "mean": (POINTS, [UNEVEN[place % 13] for place in range(PEOPLE)]),
    "group": (PAIR, [("aab"[place % 3] if place % 5 else "c", UNEVEN[place % 13]) for place in range(40 * PEOPLE)]),
    "distribution": (SEVEN, [min(6, UNEVEN[place % 13]) for place in range(PEOPLE)]),
    "line": (POINTS, [UNEVEN[place % 13] for place in range(PEOPLE)]),
    "box": (sv.Box(-1, 1, 3), [(UNEVEN[p % 13] / 10, -UNEVEN[p % 5] / 10, 1 - p % 3) for p in range(PEOPLE)]),
    "ball": (sv.Ball(2, 3), [(UNEVEN[p % 13] / 10, -UNEVEN[p % 5] / 10, 1 - p % 3) for p in range(PEOPLE)]),
    "attributes": (RECORD, [{"sex": "fm"[place % 3 == 0], "age": place % 4 % 3} for place in range(PEOPLE)]),
}
DECODERS = (
    *("em", "ems", "bayes", "norm-sub", "norm-mul", "base-cut", "normalise", "simplex", "linear", "admm", "range"),
    "ball",
)
SLOW = ("designed", "n-output", "coded-wave", "mixed-wave", "designed-distribution", "nprr", "group-nprr")  # to build


def names(family: str) -> list[str]:
    """The mechanisms of a family that are built in a moment."""
    question = {
        **{"frequency": sv.Frequency, "mean": sv.Mean, "group": sv.GroupMean, "attributes": sv.Attributes},
        **{"box": sv.VectorMean, "ball": sv.VectorMean},
    }
    return [name for name in sv.names(question.get(family, sv.Distribution)) if name not in SLOW]


def plain(value: Any) -> Any:
    """Numbers with seven digits; many of them as four sums that change with every one of them."""
    if value is None or isinstance(value, (str, bool)):
        return value
    numbers = np.asarray(value, float).ravel()
    if len(numbers) > 5:
        known = np.where(np.isfinite(numbers), numbers, 77.0)
        numbers = np.array([len(numbers), known.sum(), known @ np.sqrt(np.arange(2, len(known) + 2)), known.max()])
    return [float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(number) for number in numbers]


def said(call: Callable[[], Any]) -> Any:
    """What a call gives, or the class of its refusal."""
    try:
        return plain(call())
    except sv.SottovoceError as problem:
        return type(problem).__name__


def interval(estimate: sv.Estimate, method: str | None, target: str, simultaneous: bool) -> Any:
    return np.concatenate(estimate.quiet_ci(LEVEL, method=method, target=target, simultaneous=simultaneous))


def of_estimate(estimate: sv.Estimate) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Values, errors of both targets, every interval, doubts and the effect of fake reports."""
    yield "values", lambda: estimate.values
    for target in ("population", "sample"):
        yield f"errors {target}", lambda target=target: estimate.own_errors(target=target)  # type: ignore[misc]
        yield f"covariance {target}", lambda target=target: estimate.covariance(target=target)  # type: ignore[misc]
        for method in (None, *map(str, estimate.evidence.methods)):
            for simultaneous in (False, True):
                asked = estimate, method, target, simultaneous
                yield f"{method} {target} {simultaneous}", lambda asked=asked: interval(*asked)  # type: ignore[misc]
    yield "doubt", lambda: estimate.doubt(LEVEL)
    for issued in (False, True):
        yield f"fakes {issued}", lambda issued=issued: _moved(estimate, issued)  # type: ignore[misc]


def _moved(estimate: sv.Estimate, issued: bool) -> Any:
    moved = what_if(estimate, 0.05, issued=issued)
    return np.concatenate([moved.low, moved.high])


def of_curve(estimate: sv.Estimate, places: list[Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What a distribution answers beside its shares."""
    answers = {
        "mean": estimate.mean,
        "variance": estimate.variance,
        "cdf": lambda: estimate.cdf(places),
        "quantile": lambda: estimate.quantile(["0.1", "0.5", "0.93"]),
        "range": lambda: estimate.range(places[0], places[1]),
    }
    for word, ask in answers.items():
        try:
            answer = ask()
        except sv.SottovoceError as problem:
            yield word, lambda problem=problem: type(problem).__name__  # type: ignore[misc]
            continue
        for key, call in of_estimate(answer):
            yield f"{word}: {key}", call
    for target in ("population", "sample"):
        yield f"band {target}", lambda target=target: _band(estimate, target)  # type: ignore[misc]


def of_groups(estimate: sv.Estimate) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What group means answer beside themselves: sizes, shares, sums, variances, and comparisons of groups."""
    for word in ("sizes", "shares", "sums", "variances"):
        try:
            part = getattr(estimate, word)
        except sv.SottovoceError as problem:
            yield word, lambda problem=problem: type(problem).__name__  # type: ignore[misc]
            continue
        for key, call in of_estimate(part):
            yield f"{word}: {key}", call
    for decoder in DECODERS:
        yield f"shares by {decoder}", lambda decoder=decoder: estimate.shares.decoded(decoder).values  # type: ignore[misc]
    for target in ("population", "sample"):
        yield f"difference {target}", lambda target=target: _difference(estimate, target)  # type: ignore[misc]
        yield f"equality {target}", lambda target=target: estimate.test_equality(target=target).p_value  # type: ignore[misc]
    for correction in ("holm", "bonferroni"):
        yield f"pairs {correction}", lambda correction=correction: _pairs(estimate, correction)  # type: ignore[misc]
    yield "power", lambda: estimate.power(2, "a", "b", participants=5000, level=LEVEL)


def _difference(estimate: sv.Estimate, target: str) -> Any:
    gap = estimate.difference("a", "c", target=target)
    return [gap.value, gap.std_error, gap.p_value, *gap.ci(LEVEL), *gap.ci(LEVEL, method="delta")]


def _pairs(estimate: sv.Estimate, correction: str) -> Any:
    pairs = estimate.all_pairs(LEVEL, correction=correction)
    return np.concatenate([*pairs.ci(), pairs.adjusted])


def _band(estimate: sv.Estimate, target: str) -> Any:
    band = estimate.band(LEVEL, target=target)
    return np.concatenate([band.low, band.high])


def of_mechanism(family: str, name: str) -> dict[str, Any]:
    """All numbers of one mechanism."""
    domain, answers = ANSWERS[family]
    try:
        options: dict[str, Any] = {"participants": PEOPLE} if name in ("binned", "laplace-histogram") else {}
        if family == "line":
            options = {"buckets": 8}
        first, second = (sv.mechanism(name, domain, epsilon=epsilon, **options) for epsilon in ("1.3", "2.1"))
    except sv.SottovoceError as problem:
        return {"refused": type(problem).__name__}
    tallies = [
        method.tally(method.privatize(answers[part::2], seed=8, threads=1))
        for part, method in enumerate((first, second))
    ]
    parts = [method.estimate(tally) for method, tally in zip((first, second), tallies, strict=True)]
    numbers = {f"one: {key}": said(call) for key, call in of_estimate(parts[0])}
    if family != "attributes":  # which has no shares of its own to begin with
        numbers["predicted"] = said(lambda: first.variance(None, n=PEOPLE))
        for target in ("population", "sample"):
            numbers[f"expected {target}"] = said(lambda target=target: _expected(first, target))  # type: ignore[misc]
    together = _combined(tallies)
    if together is not None:
        numbers |= {f"both: {key}": said(call) for key, call in of_estimate(together)}
        numbers["heterogeneity"] = said(lambda: together.heterogeneity)
    if family in ("distribution", "line"):
        places = [2, 5] if family == "distribution" else [2.5, 7]
        numbers |= {f"one: {key}": said(call) for key, call in of_curve(parts[0], places)}
        numbers |= {f"both: {key}": said(call) for key, call in of_curve(together or parts[1], places)}
    if family == "group":
        numbers |= {key: said(call) for key, call in of_groups(parts[0])}
    for decoder in DECODERS:
        numbers[f"decoder {decoder}"] = said(lambda decoder=decoder: parts[0].decoded(decoder).values)  # type: ignore[misc]
    return numbers


def _expected(mechanism: sv.Mechanism, target: str) -> Any:
    """Variances for uneven true answers, in whatever form the question takes them."""
    beliefs = (np.arange(7) / 21, [0.4, 0.3, 0.2, 0.1, 0, 0, 0], 2.5, [0.25, -0.5, 0.75], np.arange(8) / 28)
    for belief in beliefs:
        with contextlib.suppress(sv.SottovoceError, TypeError, ValueError):
            return mechanism.variance(belief, n=PEOPLE, target=target)
    return "none"


def _combined(tallies: list[sv.Tally]) -> sv.Estimate | None:
    try:
        return sv.combine(tallies, people="different")
    except sv.SottovoceError:
        return None


def of_family(family: str) -> dict[str, dict[str, Any]]:
    """All numbers of a family of mechanisms."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: of_mechanism(family, name) for name in names(family)}


if __name__ == "__main__":
    written = {family: of_family(family) for family in ANSWERS}
    lines = [
        f'"{family}": {{\n'
        + ",\n".join(f'"{name}": {json.dumps(numbers, sort_keys=True)}' for name, numbers in some.items())
        + "\n}"
        for family, some in written.items()
    ]
    FILE.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
