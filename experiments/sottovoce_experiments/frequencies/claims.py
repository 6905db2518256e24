"""What the SoK says about its Figures 14 to 16, in our words, and in how many cases it holds with right mechanisms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sottovoce_experiments.claim import Cases, Claim
from sottovoce_experiments.experiment import Row

GRR, SUBSET, HASHED, UNARY, ONE_BIT = "grr", "subset", "olh", "oue", "hrr"
CORRECTED = "grr, small-sample"  # Murakami, Hino, Sakuma
RAPPOR = "basic-rappor"
SAME, MORE = 2.0, 1.1  # factors within which numbers are roughly the same, and above which one is larger


def _by(rows: Sequence[Row], axis: str, field: str) -> Iterator[tuple[Mapping[str, Any], dict[float, float]]]:
    """One curve along an axis for each place on the others."""
    others = [name for name in ("k", "n", "method", "epsilon") if name != axis and name in rows[0]]
    found: dict[tuple[Any, ...], dict[float, float]] = {}
    for row in rows:
        if row[field] is not None:
            found.setdefault(tuple(row[name] for name in others), {})[row[axis]] = row[field]
    for place, curve in found.items():
        yield dict(zip(others, place, strict=True)), dict(sorted(curve.items()))


def falling(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the error falls from each number of participants, and each epsilon, to the next."""
    for axis in ("n", "epsilon"):
        for _, curve in _by(rows, axis, "mse"):
            yield from (after < before for before, after in pairwise(curve.values()))


def level_off(*methods: str) -> Cases:
    """Whether the error at the largest epsilon is not much smaller than at 6."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "epsilon", "mse"):
            if place["method"] in methods and 6.0 in curve:
                yield MORE * curve[max(curve)] > curve[6.0]

    return cases


def rise(*methods: str) -> Cases:
    """Whether the error is larger at some epsilon than at a smaller one."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "epsilon", "mse"):
            if place["method"] in methods:
                yield any(after > MORE * before for before, after in pairwise(curve.values()))

    return cases


def same_for_every_n(field: str, *methods: str, epsilons: Sequence[float]) -> Cases:
    """Whether a number is roughly the same for all numbers of participants."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "n", field):
            if (not methods or place["method"] in methods) and place["epsilon"] in epsilons:
                yield max(curve.values()) <= SAME * min(curve.values())

    return cases


def least_near_one(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether RAPPOR has its least error at epsilon 1, and more at larger ones."""
    for place, curve in _by(rows, "epsilon", "mse"):
        if place["method"] == RAPPOR:
            yield min(curve, key=lambda epsilon: curve[epsilon]) == 1.0


def constant_variance(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the variance at the largest epsilon is roughly that at 1."""
    for _, curve in _by(rows, "epsilon", "variance"):
        yield curve[1.0] <= SAME * curve[max(curve)]


def _compared(rows: Sequence[Row], sizes: Sequence[int], epsilons: Sequence[float]) -> Iterator[dict[str, float]]:
    """The errors of all methods, for these sizes of the domain and budgets."""
    found: dict[tuple[int, int, float], dict[str, float]] = {}
    for row in rows:
        if row["mse"] is not None and row["k"] in sizes and row["epsilon"] in epsilons:
            found.setdefault((row["k"], row["n"], row["epsilon"]), {})[row["method"]] = row["mse"]
    yield from found.values()


def randomized_response_is_worse(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether it has more than the error of most other methods, for many values and a small epsilon."""
    for errors in _compared(rows, (128, 256, 512), (0.5, 1.0, 2.0)):
        others = sorted(error for name, error in errors.items() if name not in (GRR, CORRECTED))
        yield errors[GRR] > others[len(others) // 2]


def subset_is_worse(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether it has more than the least error, for many participants, few values and an epsilon near 1."""
    for errors in _compared([row for row in rows if row["n"] > 1_000], (8, 16), (0.5, 1.0, 2.0)):
        yield errors[SUBSET] > MORE * min(errors.values())


def correction_helps(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the corrected estimates are closer than the projected ones, for few participants and a small epsilon."""
    for errors in _compared([row for row in rows if row["n"] == 1_000], (8, 16, 32, 64, 128), (0.1, 0.5)):
        yield errors[CORRECTED] < errors[GRR]


CLAIMS: dict[int, tuple[Claim, ...]] = {
    14: (
        Claim("more participants or a larger epsilon typically lower the error", falling),
        Claim("OLH, OUE and Nguyen's method level off for large epsilon", level_off(HASHED, UNARY, ONE_BIT)),
        Claim("the errors of OUE and OLH even rise before", rise(UNARY, HASHED)),
        Claim(
            "Nguyen's method has roughly the same error below epsilon 3, whatever the number of participants is",
            same_for_every_n("mse", ONE_BIT, epsilons=(0.1, 0.5, 1.0, 2.0)),
        ),
        Claim("RAPPOR has its least error near epsilon 1, and more above", least_near_one),
    ),
    15: (
        Claim("the variance of most methods is roughly constant above epsilon 1", constant_variance),
        Claim(
            "for large epsilon it is the same for every number of participants",
            same_for_every_n("variance", epsilons=(10.0,)),
        ),
    ),
    16: (
        Claim("randomized response has a higher error for many values", randomized_response_is_worse),
        Claim("subset does not gain as much from participants for few values, near epsilon 1", subset_is_worse),
        Claim("the small-sample correction has a much smaller error for small n and epsilon", correction_helps),
    ),
}
