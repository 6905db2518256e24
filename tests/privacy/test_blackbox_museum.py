"""The black-box audit refutes every exhibit of the museum whose reports tell more than they claim, and no other."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Table
from sottovoce.core.coins import SeededCoins
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy import audit as exact
from sottovoce.privacy.blackbox import BlackBoxCertificate, audit_black_box, mechanism_views, samples_needed
from tests.museum import channels as museum
from tests.museum.channels import Exhibit

pytestmark = pytest.mark.slow  # many reports of many exhibits

EXHIBITS = museum.exhibits()
ALPHA = 1e-6  # of each audit here: a run of all of them raises a false alarm less often than once in 5000

# Their reports keep the claim, so samples have nothing to find: the exact audit objects to something else.
PRIVATE = {
    "FloatSampler": "the right law from a poor generator",
    "FloatLiar": "the right law from a poor generator",
    "BiasedRounding": "wrong on average, as private as before",
    "WrapsAtSixtyFour": "bits are lost, which tells less",
    "VariableLength": "the length is a function of the report",
}
# One per cent needs 1.5 million reports of each value at k = 4 and 330 million at k = 256: a larger one stands in.
TINY = {"OnePercentOff"}
SAMPLES = {
    "UnevenEnds": (12_000, 150_000),
    "ProvenOnAnother": (12_000, 150_000),
    "RawWords": (6_000, 400_000),
    "EveryTenthIsTrue": (30_000, 9_000),
    "NeighbourNeverDrawn": (3_000, 30_000),
    "TypeTells": (3_000, 20_000),
    "BooleanTells": (3_000, 20_000),
    "PaddedWhenKept": (3_000, 20_000),
    "IdMarked": (3_000, 30_000),
    "PassesThrough": (3_000, 20_000),
    "SilentlyOpen": (3_000, 20_000),
    "MemoDrawnAgain": (6_000, 6_000),
}


def kind_of(exhibit: Exhibit) -> str:
    """The class that is broken: of the mechanism, its domain or its channel."""
    broken = exhibit.broken
    if not isinstance(broken, Mechanism):
        inner = getattr(broken, "map", None)
        return type(inner if type(inner).__module__ == museum.__name__ else broken).__name__
    return type(broken if type(broken) is not Mechanism else broken.domain).__name__


def large(exhibit: Exhibit) -> bool:
    channel = exhibit.broken.channel if isinstance(exhibit.broken, Mechanism) else exhibit.broken
    return channel.inputs > 100


def telling_pair(table: Table, claim: float) -> tuple[list[int], int]:
    """The pair of codes that refutes a claim with the fewest reports, and how many it takes."""
    rows = np.array(table.rows, dtype=float) / UNIT
    best: tuple[float, int, int, float, float] = (math.inf, 0, 0, 0.0, 0.0)
    some = range(0, len(rows), max(1, len(rows) // 65 * 8))  # all codes of a small table
    for i, j in permutations(some, 2):
        ratio = rows[i] / np.maximum(rows[j], 1e-12)
        order = np.argsort(-ratio, kind="stable")
        p, q = np.minimum(np.cumsum(rows[[i, j]][:, order], axis=1), 1 - 1e-9)
        gap = np.log(np.maximum(p, 1e-12) / np.maximum(q, 1e-6)) - claim
        spread = np.sqrt((1 - p) / np.maximum(p, 1e-9)) + np.sqrt((1 - q) / np.maximum(q, 1e-4))
        need = np.where((gap > 0) & (p > 1e-4), (spread / np.maximum(gap, 1e-9)) ** 2, math.inf)
        at = int(need.argmin())
        best = min(best, (float(need[at]), i, j, float(p[at]), float(q[at])))
    _, i, j, p_best, q_best = best
    return [i, j], samples_needed(p_best, q_best, claimed=claim)


def adapter(exhibit: Exhibit, subject: Any, seed: int) -> tuple[Callable[[Any], bytes], list[Any], str]:
    """The exhibit as a function of a value, the values to try, and the claim."""
    coins, kind = SeededCoins(seed), kind_of(exhibit)
    channel = subject.channel if isinstance(subject, Mechanism) else subject
    if kind == "MemoDrawnAgain":  # one person's six reports; whatever is kept, all of them may tell 2 ln 3
        return lambda value: _diary(subject, value, coins), [0, 1], "2.2"
    if kind in ("PassesThrough", "SilentlyOpen"):  # a value that the domain should have refused
        return lambda value: _or_crash(subject, value, coins), [0, channel.inputs + 3], exhibit.claim
    device = exact._device(subject, channel, Decimal(exhibit.claim))
    if kind == "FirstIsTrue":  # a process that is started anew for each report
        return lambda value: _started(device, value, coins), [0, 1], exhibit.claim
    values = telling_pair(channel, float(exhibit.claim))[0] if isinstance(channel, Table) else [0, 1]
    values += [2] if kind == "UnshuffledPermutation" else []
    return lambda value: device.randomize(value, coins), values, exhibit.claim


def _diary(mechanism: Mechanism, value: int, coins: SeededCoins) -> bytes:
    coins.begin(mechanism.channel.words)
    memo = mechanism.remember(value, coins) if type(mechanism) is Mechanism else 1 << value
    answers = []
    for _ in range(6):
        coins.begin(4 * mechanism.channel.words)  # for those that draw the memo again
        answers.append(mechanism.answer_from(memo, coins)[codec.ID_BYTES :])
    return b"".join(answers)


def _or_crash(mechanism: Mechanism, value: int, coins: SeededCoins) -> bytes:
    """Silence tells as well: a report that does not fit its byte is an observable event."""
    try:
        return mechanism.randomize(value, coins)
    except OverflowError:
        return b""


def _started(device: Mechanism, value: int, coins: SeededCoins) -> bytes:
    museum.restart()
    return device.randomize(value, coins)


def black_box(exhibit: Exhibit, samples: int, seed: int, subject: Any = None) -> BlackBoxCertificate:
    subject = exhibit.broken if subject is None else subject
    draw, values, claim = adapter(exhibit, subject, seed)
    channel = subject.channel if isinstance(subject, Mechanism) else subject
    views = {}
    if channel.publics:
        views = mechanism_views(exact._device(subject, channel, Decimal(exhibit.claim)), values)
    skip = 0 if kind_of(exhibit) == "MemoDrawnAgain" else codec.ID_BYTES
    return audit_black_box(draw, values, claimed=claim, samples=samples, skip=skip, views=views, level=1 - ALPHA)


def needed(exhibit: Exhibit) -> int:
    if isinstance(exhibit.broken, Table):
        return max(2_000, 3 * telling_pair(exhibit.broken, float(exhibit.claim))[1] // 2)
    if getattr(exhibit.broken, "w", 1) > 1:
        return 3_000
    return SAMPLES.get(kind_of(exhibit), (4_000, 6_000))[large(exhibit)]


def chosen(unwanted: set[str]) -> list[Any]:
    return [pytest.param(exhibit, id=exhibit.title) for exhibit in EXHIBITS if kind_of(exhibit) not in unwanted]


@pytest.mark.parametrize("exhibit", chosen({*PRIVATE, *TINY}))
def test_exhibits_are_refuted(exhibit: Exhibit, seed: int) -> None:
    certificate = black_box(exhibit, needed(exhibit), seed)
    assert certificate.refuted, certificate
    if exhibit.epsilon is not None and kind_of(exhibit) not in ("PassesThrough", "SilentlyOpen", "MemoDrawnAgain"):
        assert certificate.epsilon_lower <= exhibit.epsilon + 1e-9


@pytest.mark.parametrize("kind", sorted(PRIVATE))
def test_what_is_wrong_but_private_is_not_refuted(kind: str, seed: int) -> None:
    found = [exhibit for exhibit in EXHIBITS if kind_of(exhibit) == kind]
    assert found, f"{kind} has left the museum."
    for exhibit in found:
        certificate = black_box(exhibit, 2_000, seed)
        assert not certificate.refuted, f"{certificate} (false alarms: {ALPHA})"


@pytest.mark.parametrize("start", ["the device keeps no memo, k = 64", "the id is searched, k = 3", "a boolean tells"])
def test_honest_siblings_are_not_refuted(start: str, seed: int) -> None:
    exhibit = next(exhibit for exhibit in EXHIBITS if exhibit.title.startswith(start))
    certificate = black_box(exhibit, 3_000, seed, exhibit.honest)
    assert not certificate.refuted, f"{certificate} (false alarms: {ALPHA})"


class TwentyPercentOff(museum.Subset):
    """As the exhibit, with a mistake that tests can afford to find."""

    __slots__ = ()

    def sample(self, code: int, coins: Any, public: Any = (0, 0)) -> int:
        if coins.flip(self.keep * 120 // 100):
            return code
        index = coins.below(self.k - 1)
        return index + (index >= code)


def test_a_keep_probability_that_is_too_high(seed: int) -> None:
    e = math.e
    keep = e / (e + 3)
    one_percent = samples_needed(1.01 * keep, (1 - 1.01 * keep) / 3, claimed=1)
    assert 1_300_000 < one_percent < 1_500_000
    twenty = samples_needed(1.2 * keep, (1 - 1.2 * keep) / 3, claimed=1)
    assert twenty < 6_000
    broken = museum.subset(TwentyPercentOff, 4)
    device = exact._device(broken, broken, Decimal(1))
    coins = SeededCoins(seed)
    certificate = audit_black_box(lambda v: device.randomize(v, coins), [0, 1], claimed=1, samples=twenty, skip=16)
    assert certificate.refuted, certificate
