"""Every whole number that is checked states its bounds: a value below them is refused with both ends."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain.views import Bins, Level, Prefix
from sottovoce.core.guarantee import Loss
from sottovoce.core.round import Arm, Round
from sottovoce.estimate.comparison.permutation import permutation_test
from sottovoce.estimate.group_mean.power import power_of_difference
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.strata import over_strata
from sottovoce.estimate.variance.errors import variance_error
from sottovoce.privacy.accounting.account import Entry
from sottovoce.privacy.accounting.composition import advanced
from sottovoce.privacy.accounting.sampling import sampled
from sottovoce.privacy.accounting.sequences import sequence_loss
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.privacy.blackbox import audit_black_box
from sottovoce.privacy.duration import measure
from sottovoce.privacy.manipulation import what_if
from sottovoce.tally.counts import simulate_cells, simulate_counts, simulate_held
from tests.each import for_each

PEOPLE = (1, 1 << 53)
NUMBERS, POINTS, GROUPS = sv.Integers(0, 9), sv.Interval(0, 1), sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1))
BOX, RECORD = sv.Box(-1, 1, 4), sv.Record({"a": sv.Integers(0, 2), "b": sv.Integers(0, 1)})
MECHANISMS: list[tuple[str, str, sv.Domain, tuple[int, int]]] = [
    ("subset", "w", NUMBERS, (1, 9)),
    ("olh", "g", NUMBERS, (2, 1 << 20)),
    ("flh", "g", NUMBERS, (2, 4096)),
    ("d-bit-flip", "d", NUMBERS, (1, 10)),
    ("shist", "participants", NUMBERS, PEOPLE),
    *((name, "hashes", NUMBERS, (1, 8)) for name in ("rappor", "one-time-rappor")),
    *((name, "bits", NUMBERS, (4, 512)) for name in ("rappor", "one-time-rappor")),
    *((name, "bits", sv.Text(), (4, 4096)) for name in ("rappor", "one-time-rappor")),
    *((name, "cohorts", NUMBERS, (2, 1024)) for name in ("rappor", "one-time-rappor", "o-rr", "o-rappor")),
    *((name, "g", NUMBERS, (2, 8)) for name in ("o-rr", "o-rappor")),
    *((name, "g", sv.Text(), (2, 4096)) for name in ("o-rr", "o-rappor")),
    *((name, "width", NUMBERS, (2, 4096)) for name in ("cms", "hcms", "pcs")),
    *((name, "rows", NUMBERS, (2, 16384)) for name in ("cms", "hcms", "pcs")),
    ("nprr", "k", POINTS, (1, 65536)),
    ("group-nprr", "k", GROUPS, (1, 65536)),
    ("n-output", "outputs", POINTS, (2, 32)),
    ("n-output", "inputs", POINTS, (2, 257)),
    ("designed", "inputs", POINTS, (2, 257)),
    ("sampled", "count", BOX, (1, 4)),
    ("sampled", "count", RECORD, (1, 2)),
    *((name, "buckets", POINTS, (2, 65536)) for name in ("square-wave", "square-wave-discrete", "hierarchy", "haar")),
    *((name, "buckets", NUMBERS, (2, 10)) for name in ("hierarchy", "haar", "binned", "orthogonal-series")),
    ("general-wave", "buckets", POINTS, (2, 1024)),
    ("hierarchy", "branching", POINTS, (2, 2048)),
    *((name, "buckets", POINTS, (2, 1 << 20)) for name in ("binned", "laplace-histogram")),
    *((name, "participants", POINTS, PEOPLE) for name in ("binned", "laplace-histogram", "orthogonal-series")),
    ("orthogonal-series", "functions", POINTS, (1, 63)),
    ("orthogonal-series", "functions", NUMBERS, (1, 9)),
    ("orthogonal-series", "smoothness", POINTS, (1, 16)),
    ("designed-distribution", "buckets", POINTS, (2, 256)),
    ("designed-distribution", "outputs", NUMBERS, (10, 4096)),
    ("coded-wave", "buckets", POINTS, (2, 4096)),
    ("mixed-wave", "buckets", POINTS, (2, 2048)),
    ("coded-wave", "patterns", POINTS, (1, 16)),
    ("coded-wave", "cells", POINTS, (64, 256)),
    ("coded-wave", "cells", sv.Circle(24), (64, 64)),
]
DECODERS = [
    ("em", "max_iterations", (0, 1 << 40)),
    ("ems", "max_iterations", (1, 1 << 40)),
    ("gmm", "max_iterations", (1, 1 << 40)),
    ("gmm", "components", (1, 16)),
    ("latent-classes", "classes", (1, 256)),
    ("latent-classes", "seed", (0, 1 << 53)),
    ("small-sample", "runs", (1, 1 << 16)),
    ("small-sample", "seed", (0, 1 << 64)),
    ("calm", "rounds", (1, 10_000)),
]


def estimated(name: str = "grr", domain: sv.Domain = NUMBERS, answers: Any = (1, 2, 3) * 20) -> sv.Estimate:
    mechanism = sv.mechanism(name, domain, epsilon=1)
    return mechanism.estimate(mechanism.tally(mechanism.privatize(list(answers), seed=1)))


def stated(call: Callable[[int], object], parameter: str) -> tuple[int, int]:
    """The bounds of the sentence that refuses a number far below them."""
    with pytest.raises(sv.ParameterError, match=rf"The '{parameter}' parameter of .* must be an integer in") as refused:
        call(-(10**30))
    low, high = str(refused.value).split("[", 1)[1].split("]", 1)[0].split(", ")
    return int(low), int(high)


@for_each("name,parameter,domain,bounds", MECHANISMS)
def test_options_of_mechanisms(name: str, parameter: str, domain: sv.Domain, bounds: tuple[int, int]) -> None:
    assert stated(lambda value: sv.mechanism(name, domain, epsilon=1, **{parameter: value}), parameter) == bounds


@for_each("name,parameter,bounds", DECODERS)
def test_parameters_of_decoders(name: str, parameter: str, bounds: tuple[int, int]) -> None:
    assert stated(lambda value: sv.decoder(name, **{parameter: value}), parameter) == bounds


def test_functions_about_so_many_people() -> None:
    """Predicted variances of every room, powers, strata, quotas: numbers of participants have one range."""
    rooms = {
        **{"grr": NUMBERS, "bernoulli": POINTS, "group-nprr": GROUPS, "duchi-linf": BOX, "haar": NUMBERS},
        **{"square-wave": POINTS, "split-attributes": RECORD},
    }
    for name, domain in rooms.items():
        mechanism = sv.mechanism(name, domain, epsilon=1)
        assert stated(lambda n, mechanism=mechanism: mechanism.variance(None, n=n), "n") == PEOPLE, name  # type: ignore[misc]
    groups = estimated("group-nprr", GROUPS, [(0, 0.5), (1, 0.2), (2, 1.0)] * 20)
    assert stated(lambda n: groups.power(0.5, 0, 1, participants=n), "participants") == PEOPLE
    method = groups.mechanism
    assert stated(lambda n: power_of_difference(method, 0.5, n=n), "n") == PEOPLE
    share = estimated()
    assert stated(lambda n: over_strata({"a": share, "b": share}, {"a": n, "b": 100}), "people") == PEOPLE
    assert stated(lambda n: Round((Arm("a", share.mechanism),), n), "quota") == PEOPLE
    assert stated(lambda weight: Arm("a", share.mechanism, weight), "weight") == (1, 1 << 20)
    assert stated(lambda n: variance_error(0.1, 0.1, 1.0, n), "n") == (2, 1 << 53)


def test_functions_with_numbers_of_their_own() -> None:
    share, curve, histogram = estimated(), estimated("haar").answer(sv.Distribution(NUMBERS)), np.full(10, 3)
    table = sv.mechanism("grr", NUMBERS, epsilon=1)
    cases: list[tuple[Callable[[int], object], str, tuple[int, int]]] = [
        (lambda n: curve.band(seed=n), "seed", (0, 1 << 256)),
        (lambda n: curve.sample(n), "count", (0, 1 << 32)),
        (lambda n: curve.sample(1, seed=n), "seed", (0, 1 << 256)),
        (lambda n: Prior([0.5], [1.0]).rounded(0, 1, n), "steps", (1, 1 << 20)),
        (lambda n: shuffled(1, participants=n, delta=1e-6), "participants", (1, 1 << 40)),
        (lambda n: simulate_cells(table, histogram, runs=n, seed=1), "runs", (1, 1 << 24)),
        (lambda n: simulate_counts(table, histogram, seed=n), "seed", (0, 1 << 256)),
        (lambda n: simulate_held(table, {1: n}, seed=1), "holders", (0, 1 << 40)),
        (lambda n: simulate_held(table, {1: 1}, seed=n), "seed", (0, 1 << 256)),
        (lambda n: what_if(share, 0.1, of=n), "of", (60, 1 << 53)),
        (lambda n: what_if(share, fakes=n), "fakes", (0, 60)),
        (lambda n: what_if(share, fakes=n, of=70), "fakes", (0, 70)),
        (lambda n: table.privatize([1], threads=n), "threads", (1, 1024)),
        (lambda n: table.privatize([1], seed=-(1 << 63) - 1), "seed", (-(1 << 63), 1 << 256)),
        (lambda n: permutation_test(share, share, n), "draws", (99, 1_000_000)),
        (lambda n: audit_black_box(table, [1, 2], samples=n), "samples", (100, 10**9)),
        (lambda n: audit_black_box(table, [1, 2], skip=n), "skip", (0, 1 << 16)),
        (lambda n: measure("grr", reports=n), "reports", (100, 10**7)),
        (lambda n: sequence_loss(table, n), "waves", (1, 1000)),
        (lambda n: Entry.of("a", 1, answers=n), "answers", (1, 10**6)),
        (lambda n: Bins.even(POINTS, n), "bins", (2, 1 << 20)),
        (lambda n: Bins.even(sv.Interval(0, 10, step=1), n), "bins", (2, 11)),
        (lambda n: Level(NUMBERS, 2, n), "level", (1, 4)),
        (lambda n: Level(sv.Integers(0, 7), 2, n), "level", (1, 3)),
        (lambda n: Level(sv.Integers(0, 8), 3, n), "level", (1, 2)),
        (lambda n: Prefix(NUMBERS, n), "bits", (1, 4)),
        (lambda n: Prefix(sv.Integers(0, 15), n), "bits", (1, 4)),
        (lambda n: Prefix(sv.Integers(0, 16), n), "bits", (1, 5)),
        (lambda n: sv.Joint(RECORD, ways=n), "ways", (1, 2)),
        (lambda n: sv.Distribution(POINTS, buckets=n), "buckets", (2, 1 << 20)),
        (lambda n: sv.Distribution(NUMBERS, buckets=n), "buckets", (2, 10)),
        (lambda n: sv.Sparse(9, n), "most", (1, 9)),
        (lambda n: sv.Tally(table, n, histogram), "n", (0, 1 << 53)),
        (lambda n: sv.Tally(table, 30, histogram, epoch=n), "epoch", (0, (1 << 31) - 1)),
    ]
    for call, parameter, bounds in cases:
        assert stated(call, parameter) == bounds, (parameter, bounds)


def test_numbers_between_0_and_1_are_refused_at_both_ends() -> None:
    """Outside, and the ends themselves where they mean nothing."""
    share, loss = estimated(), Loss(Decimal(1), Decimal(0))
    inside: list[tuple[Callable[[float], object], bool]] = [
        (lambda number: advanced([loss, loss], number), False),
        (lambda number: shuffled(1, participants=10, delta=number), False),
        (lambda number: what_if(share, number), True),
        (lambda number: share.ci(number), False),
        (lambda number: sv.mechanism("distortion", NUMBERS, epsilon=3, distortion=number), False),
        (lambda number: sv.mechanism("shist", NUMBERS, epsilon=1, beta=number), False),
        (lambda number: sampled(1, rate=number), True),
    ]
    for call, ends in inside:
        call(0.5)
        for wrong in (-1e-9, 1 + 1e-9, -1, 2, True, *(() if ends else (0, 1))):
            with pytest.raises(sv.ParameterError):
                call(wrong)
