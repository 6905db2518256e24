"""The black-box audit: valid bounds, power against every exhibit whose reports tell too much, and no false alarms."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.core.coins import SeededCoins
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.registry import fits
from sottovoce.privacy.blackbox import (
    BlackBoxCertificate,
    audit_black_box,
    command_source,
    lower_bound,
    mechanism_views,
    samples_needed,
    serialised,
)
from sottovoce.privacy.events import _place
from tests.each import for_each

ALPHA = 1e-6  # of each audit here: all of them together raise a false alarm less often than once in 5000


# --- honest mechanisms ---------------------------------------------------------------------------------------
# Which a device keeps: both of their budgets are audited exactly.
MEMOS = ("basic-rappor", "d-bit-flip-memo", "loloha", "rappor")
HONEST = [
    (name, size, epsilon)
    for name in (*sv.names(sv.Frequency), "bernoulli", "piecewise")
    if name not in MEMOS
    for size in (2, 5)
    for epsilon in ("0.5", "1", "3")
    if fits(name, sv.Integers(0, size - 1)) and (size == 5 or not fits(name, sv.Integers(0, 4)))
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size", "epsilon"), HONEST)
def test_registered_mechanisms_are_not_refuted(name: str, size: int, epsilon: str, seed: int) -> None:
    mechanism = sv.mechanism(name, sv.Integers(0, size - 1), epsilon=epsilon)
    coins = SeededCoins(seed)
    values = [0, size - 1]
    views = mechanism_views(mechanism, values)
    certificate = audit_black_box(
        lambda value: mechanism.randomize(value, coins), values, claimed=epsilon, samples=2_000, skip=16, views=views
    )
    assert not certificate.refuted, f"{certificate} (false alarms: {ALPHA})"
    assert certificate.drawn <= 2_000 * len(values)


@pytest.mark.slow
def test_the_bound_comes_close_for_grr(seed: int) -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    coins = SeededCoins(seed)
    certificate = audit_black_box(
        lambda v: mechanism.randomize(v, coins), [0, 1], claimed=1, samples=100_000, skip=codec.ID_BYTES
    )
    assert 0.9 <= certificate.epsilon_lower <= 1
    assert certificate.drawn == 200_000
    assert certificate.event is not None and certificate.event.startswith("the report is b'")


def test_a_mechanism_brings_its_claim_id_and_public_functions() -> None:
    certificate = audit_black_box(sv.mechanism("olh", sv.Integers(0, 63), epsilon=3), [0, 1], samples=4_000)
    assert certificate.claimed == 3
    assert not certificate.refuted  # fresh randomness: a false alarm once in a million runs
    assert certificate.epsilon_lower > 1.5  # without the public functions of the id there is nothing to see
    assert "supports" in str(certificate.event)


# --- the bound is valid ----------------------------------------------------------------------------------------
def upper_tail(n: int, p: Fraction, x: int) -> Fraction:
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(x, n + 1)), Fraction(0))


@pytest.mark.parametrize(("x", "y", "n"), [(15, 0, 20), (18, 1, 20), (20, 20, 20), (1, 0, 20), (20, 3, 20)])
def test_bounds_are_those_of_clopper_and_pearson(x: int, y: int, n: int) -> None:
    alpha = 0.02
    half = Fraction(alpha) / 2
    steps = 500
    low = max((Fraction(i, steps) for i in range(steps) if upper_tail(n, Fraction(i, steps), x) <= half), default=0)
    high = min(
        (Fraction(i, steps) for i in range(steps + 1) if 1 - upper_tail(n, Fraction(i, steps), y + 1) <= half),
        default=Fraction(1),
    )
    bound = lower_bound(x, y, n, alpha)
    if low > high:
        assert (
            math.log(low / high) - 1e-9 <= bound <= math.log((low + Fraction(1, steps)) / (high - Fraction(1, steps)))
        )
    else:
        assert bound < 0.01


@pytest.mark.parametrize(("p", "q"), [(0.7, 0.2), (0.5, 0.5), (0.9, 0.05), (0.3, 0.01)])
def test_the_bound_exceeds_the_truth_no_more_often_than_stated(p: float, q: float) -> None:
    n, alpha, truth = 40, 0.1, math.log(p / q)
    mass = [[math.comb(n, i) * r**i * (1 - r) ** (n - i) for i in range(n + 1)] for r in (p, q)]
    wrong = sum(
        mass[0][x] * mass[1][y]
        for x in range(n + 1)
        for y in range(n + 1)
        if lower_bound(x, y, n, alpha) > max(truth, 0)
    )
    assert wrong <= alpha


@pytest.mark.slow
def test_false_alarms_of_whole_audits(seed: int) -> None:
    """Level 0.8 and a claim that is exactly true: one audit in five may raise a false alarm."""
    rng, runs = np.random.default_rng(seed), 80
    keep = math.e / (math.e + 1)

    def draw(value: int) -> int:
        return value if rng.random() < keep else 1 - value

    alarms = sum(audit_black_box(draw, [0, 1], claimed=1, samples=300, level=0.8, seed=r).refuted for r in range(runs))
    assert alarms <= binom.isf(ALPHA, runs, 0.2), f"More false alarms than stated; by chance less often than {ALPHA}."


def test_the_search_has_power_at_a_low_level(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def draw(value: int) -> int:
        return value if rng.random() < 0.85 else 1 - value  # ln(0.85/0.15) = 1.73

    assert audit_black_box(draw, [0, 1], claimed=1, samples=2_000, level=0.99).refuted


def test_nothing_is_found_where_there_is_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    certificate = audit_black_box(lambda value: rng.bytes(24), ["a", "b", "c"], claimed="0.1", samples=3_000)
    assert not certificate.refuted
    assert certificate.epsilon_lower <= 0.1
    assert "prove" in str(certificate) or "confirm" in str(certificate)


def test_the_seed_only_orders_draws(seed: int) -> None:
    def run(order: int) -> BlackBoxCertificate:
        mechanism, coins = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), SeededCoins(seed)
        return audit_black_box(lambda v: mechanism.randomize(v, coins), [0, 1], claimed=1, samples=2_000, seed=order)

    assert run(0) == run(0)
    assert run(0).counts != run(1).counts


# --- leaks of form ---------------------------------------------------------------------------------------------
def leaky(form: Callable[[int, bool], Any]) -> Callable[[int], Any]:
    rng = np.random.default_rng(1)

    def draw(value: int) -> Any:
        kept = bool(rng.random() < 0.6)
        return form(value if kept else int(rng.integers(0, 3)), kept)

    return draw


FORMS = {
    "type": lambda v, kept: v if kept else float(v),
    "boolean": lambda v, kept: [v, kept] if kept else [v, 0],
    "order": lambda v, kept: [v, 9] if kept else [9, v],
    "length": lambda v, kept: bytes([v]) + b"\0" * kept,
    "array": lambda v, kept: np.array([v], dtype=np.int64 if kept else np.int32),
    "text": lambda v, kept: f"answer={v}{';' if kept else ' '}",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_leaks_of_form_are_seen(form: str) -> None:
    certificate = audit_black_box(leaky(FORMS[form]), [0, 1, 2], claimed=3, samples=4_000)
    assert certificate.refuted, certificate


def test_canonical_bytes() -> None:
    assert serialised(b"ab") == serialised(bytearray(b"ab")) == b"ab"
    assert len({serialised(report) for report in (1, 1.0, True, "1", [1], (1,), Decimal(1))}) == 7
    assert serialised([1, 2]) != serialised([2, 1])
    assert serialised(np.zeros(5000)) != serialised(np.append(np.zeros(4999), 1))
    with pytest.raises(ReportError, match="address"):
        serialised(object())


# --- commands --------------------------------------------------------------------------------------------------
PROGRAM = """
import os, sys
value = int(sys.argv[1] if sys.argv[1] != "-" else sys.stdin.readline())
for _ in range(int(sys.argv[2])):
    kept = os.urandom(1)[0] < 230
    print(bytes([value if kept else 1 - value]).hex())
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return [sys.executable, str(path)]


@pytest.mark.parametrize("value", ["{value}", "-"])
def test_commands_are_asked_for_many_reports_at_once(program: list[str], value: str) -> None:
    certificate = audit_black_box(command_source([*program, value, "{count}"]), [0, 1], claimed=1, samples=2_000)
    assert certificate.refuted  # ln(230/26) = 2.18; misses it less often than once in a million


def test_commands_without_a_count_are_run_once_for_each_report(program: list[str]) -> None:
    reports = command_source([*program, "{value}", "1"], lines="text").many(1, 3)
    assert len(reports) == 3 and set(reports) <= {b"00", b"01"}


def test_bad_commands(program: list[str]) -> None:
    with pytest.raises(ReportError, match="printed 2 lines"):
        command_source([*program, "{value}", "2"]).many(1, 1)
    with pytest.raises(ReportError, match=r"ended with code 1\. It said: ValueError"):
        command_source([*program, "{value}", "{count}"]).many("x", 1)
    with pytest.raises(ReportError, match="not hexadecimal"):
        command_source([sys.executable, "-c", "print('xyz')"]).many(1, 1)
    with pytest.raises(ReportError, match="cannot be run: No such file"):
        command_source(["there-is-no-such-program"]).many(1, 1)
    with pytest.raises(ReportError, match="cannot be run: it takes too long"):
        command_source([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.01).many(1, 1)
    for command, lines in (("ls", "hex"), ([], "hex"), (["ls", 1], "hex"), (["ls"], "base64")):
        with pytest.raises(ParameterError):
            command_source(command, lines=lines)


@for_each(
    "change,words",
    [
        ({"values": [1]}, "at least two different"),
        ({"values": [1, 1]}, "at least two different"),
        ({"values": "ab"}, "at least two different"),
        ({"claimed": None}, r"in \(0, 20\]"),
        ({"claimed": -1}, r"in \(0, 20\]"),
        ({"samples": 99}, "an integer in"),
        ({"level": 1}, r"in \(0, 1\)"),
        ({"skip": -1}, "an integer in"),
        ({"draw": 7}, "a function of a value"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"draw": lambda value: value, "values": [0, 1], "claimed": 1, **change}
    with pytest.raises(ParameterError, match=words):
        audit_black_box(given.pop("draw"), given.pop("values"), **given)


def test_samples_needed_refuses_what_is_no_contradiction() -> None:
    with pytest.raises(ParameterError, match="does not contradict"):
        samples_needed(0.5, 0.4, claimed=1)
    with pytest.raises(ParameterError, match=r"\[0, 1\]"):
        samples_needed(1.5, 0.4, claimed=1)


def test_bytes_are_counted_from_the_end_of_the_id() -> None:
    assert [_place(place, 16) for place in (0, 15, 16, 17)] == [
        "byte 0 of the id",
        "byte 15 of the id",
        "byte 0",
        "byte 1",
    ]
