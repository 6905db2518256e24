"""Truths for which a variance is predicted: whatever is no truth of the question is refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.domain import KeyValue
from sottovoce.core.registry import mechanism
from tests.estimate.numbers import ANSWERS, names

NAN, INF = float("nan"), float("inf")
WRONG: dict[str, Any] = {
    **{"text": "x", "texts": ["x"] * 7, "object": object(), "table": {}, "pair of nothing": (None,)},
    **{"nan": NAN, "nans": [NAN] * 7, "infinite": [INF] * 7, "negative": [-1.0] * 7, "huge": [1e300] * 7, "empty": []},
    **{"short": [0.5, 0.25], "of tables": {"sex": "x", "age": None}, "rows": [[0.5, 0.5]] * 7, "booleans": [None] * 3},
}
OTHERS: dict[str, tuple[str, sv.Domain]] = {
    "sets": ("mask", sv.Sets(list("abcde"), 2)),
    "keys": ("key-mask", KeyValue(list("abc"), sv.Integers(1, 5), 2)),
    "boxes": ("torus-wave", sv.Record({"a": sv.Integers(0, 3), "b": sv.Integers(0, 1)})),
    "sparse": ("sparse", sv.Sparse(5, 2)),
    "half-sets": ("half-sets", sv.Integers(0, 7)),
}


# Numbers that everybody holds, each by itself; a vector without entries.
RIGHT = {"mean": ["empty", "short", "rows"], "sparse": ["table", "empty"]}


def check_truths(made: sv.Mechanism, kind: str) -> None:
    taken = []
    for what, truth in WRONG.items():
        try:
            made.variance(truth, n=10)
        except sv.SottovoceError:
            continue
        taken.append(what)
    assert taken == RIGHT.get(kind, []), made.name


@pytest.mark.parametrize("family", ANSWERS)
def test_what_is_no_truth_has_no_variance(family: str) -> None:
    for name in names(family):
        options: dict[str, Any] = {"participants": 211} if name in ("binned", "laplace-histogram") else {}
        try:
            made = sv.mechanism(name, ANSWERS[family][0], epsilon="1.3", **options)
        except sv.SottovoceError:  # not for this domain
            continue
        check_truths(made, family)


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_truth_of_sets_keys_and_boxes_has_no_variance(kind: str) -> None:
    name, domain = OTHERS[kind]
    options: dict[str, Any] = {"count": 3, "seed": 4} if name == "half-sets" else {}
    check_truths(mechanism(name, domain, epsilon="1.3", **options), kind)
