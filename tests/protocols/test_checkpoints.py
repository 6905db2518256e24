"""Every protocol: stop after any round, save, load elsewhere, go on, and nothing has changed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.late import load
from sottovoce.core.round import Arm, Protocol
from sottovoce.protocols.ask import AskEveryone, AskOneOf
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.copula import CopulaRounds
from sottovoce.protocols.boxes.hdg import HDG
from sottovoce.protocols.boxes.hio import HIO
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.mean.personal_several import PersonalBudgetGroups, PersonalBudgetVector
from sottovoce.protocols.mean.several import AdaptiveMeansRounds
from sottovoce.protocols.nested.again import AskInTurn
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.protocols.plain import PROTOCOLS, protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State
from sottovoce.protocols.quantile.bayes_search import QuantileBayesSearch
from sottovoce.protocols.quantile.binary_search import QuantileBinarySearch
from sottovoce.protocols.quantile.gradient import QuantileGradient
from sottovoce.protocols.ranges.clamped import ClampedMeanRound
from sottovoce.protocols.ranges.densest import DensestInterval
from sottovoce.protocols.ranges.distribution import RangeSearchDistribution
from sottovoce.protocols.ranges.groups import RangeSearchGroupMean
from sottovoce.protocols.ranges.search import RangeSearchRounds
from sottovoce.protocols.ranges.trimmed import TrimmedMeanRounds
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.personal import PersonalBudgetShares
from sottovoce.protocols.simulate import rounds
from sottovoce.protocols.words.pem import PEM
from sottovoce.protocols.words.verified import VerifiedWords
from tests.each import for_each

RANGE, WIDE = sv.Interval(-1, 1), sv.Interval(-50_000, 50_000)
N = 6_000
RNG = np.random.default_rng(5)
NEAR = np.round(np.clip(RNG.normal(0.2, 0.1, N), -1, 1), 4)
NORMAL = np.round(RNG.normal(123, 1.5, N), 4)
WHOLE = RNG.integers(0, 8, N)

RECORD = sv.Record({"a": sv.Integers(0, 7), "b": sv.Interval(0, 10), "c": sv.Categories(["x", "y"])})
RECORDS = [{"a": int(a), "b": float(a), "c": "xy"[a % 2]} for a in WHOLE[:600]]

BITS = sv.Record({name: sv.Integers(0, 1) for name in "abc"})
BINARY = [{"a": int(a) % 2, "b": int(a) // 2 % 2, "c": int(a) // 4} for a in WHOLE[:900]]
TWO_NUMBERS = sv.Record({"a": sv.Integers(0, 7), "b": sv.Interval(0, 10)})
GROUPED = sv.Pair(sv.Categories(["x", "y"]), sv.Integers(0, 7))
VECTORS = np.stack([WHOLE, WHOLE[::-1]], axis=1)
MEMBERS = [("xy"[a % 2], int(a)) for a in WHOLE]
PAIRS = sv.Record({"a": sv.Integers(0, 7), "c": sv.Categories(["x", "y"])})
ROWS = [{"a": one["a"] % 8, "c": one["c"]} for one in RECORDS]

# A protocol and answers for each of them; several where methods differ in their rounds.
CASES: dict[str, tuple[Protocol, Any]] = {
    "AdaptiveMean": (sv.AdaptiveMeanRounds(RANGE, 4, N, inputs=9), NEAR),
    "AdaptiveMean, grr": (sv.AdaptiveMeanRounds(RANGE, 4, N, first="grr", inputs=9), NEAR),
    "AdaptiveMean, one round": (sv.AdaptiveMeanRounds(RANGE, "0.5", N, inputs=9), NEAR),
    "Ask": (AskEveryone(sv.mechanism("grr", sv.Integers(0, 7), epsilon=1)), WHOLE),
    "AskInTurn": (
        AskInTurn(tuple(Arm(name, sv.mechanism(name, sv.Integers(0, 7), epsilon=1)) for name in ("grr", "oue")), N),
        WHOLE,
    ),
    "AskEach": (
        AskOneOf(tuple(Arm(name, sv.mechanism(name, sv.Integers(0, 7), epsilon=1)) for name in ("grr", "oue"))),
        WHOLE,
    ),
    "PersonalMean": (PersonalBudgetMean(RANGE, [1, 2], method="hybrid"), NEAR),
    "PersonalShares": (PersonalBudgetShares(sv.Integers(0, 7), [1, 2]), WHOLE),
    "PersonalVector": (PersonalBudgetVector(sv.Box(0, 7, 2), [1, 2], method="duchi-linf"), VECTORS),
    "PersonalGroups": (PersonalBudgetGroups(GROUPED, [4, 6], method="group-bernoulli"), MEMBERS),
    "SampledAttributes": (sv.SampledAttributes(RECORD, 2, 2), RECORDS),
    "Refine": (DensestInterval(sv.Integers(0, 7), 1, first=2_000), WHOLE),
    "Variance, split-n": (sv.VarianceRounds(RANGE, 2, method="split-n", mechanism="hybrid"), NEAR),
    "Variance": (sv.VarianceRounds(RANGE, 2, method="sequential", mechanism="hybrid", first=1_500), NEAR),
    "Variance, split-eps": (sv.VarianceRounds(RANGE, 2, method="split-eps", mechanism="n-output"), NEAR),
    "Variance, same-reports": (sv.VarianceRounds(sv.Integers(0, 7), 2, method="same-reports"), WHOLE),
    "RangeSearch": (sv.RangeSearchMean(WIDE, 2, N, method="hybrid"), NORMAL),
    "KVGausstimate": (sv.GaussianMeanKnownSigma(WIDE, "1.5", 1, N), NORMAL),
    "OneRoundKVGausstimate": (sv.GaussianMeanKnownSigma(WIDE, "1.5", 1, N, rounds=1), NORMAL),
    "UVGausstimate": (sv.GaussianMeanUnknownSigma(WIDE, 1, 4, 1, N), NORMAL),
    "OneRoundUVGausstimate": (sv.GaussianMeanUnknownSigma(WIDE, 1, 4, 1, N, rounds=1), NORMAL),
    "KnownVar": (sv.GaussianMeanKnownSigma(sv.Interval(0, 200), "1.5", 1, N, delta="0.000001"), NORMAL),
    "UnkVar": (sv.GaussianMeanUnknownSigma(sv.Interval(0, 200), 1, 4, 1, N, delta="0.000001"), NORMAL),
}
# Protocols of others, their parts, and searches through rr: the digests of what devices send are those above.
NESTED: dict[str, tuple[Protocol, Any]] = {
    "AdaptiveMeans": (
        AdaptiveMeansRounds(TWO_NUMBERS, 3, N, inputs=5),
        [{"a": int(a), "b": float(a)} for a in WHOLE],
    ),
    "Parallel": (
        Parallel(
            (
                Branch("interval", DensestInterval(sv.Integers(0, 7), 1, first=900)),
                Branch("variance", sv.VarianceRounds(sv.Integers(0, 7), 2, method="sequential", first=700), 2),
                Branch("answer", AskEveryone(sv.mechanism("grr", sv.Integers(0, 7), epsilon=1))),
            )
        ),
        WHOLE,
    ),
    "PEM": (PEM(sv.Words("abc", 4), 6, 2, 600, candidates=40), ["ab", "cabb", "a"] * 200),
    "VerifiedWords": (VerifiedWords(sv.Words("abc", 4), 6, 600, deny=["bb"]), ["ab", "cabb", "a"] * 200),
    "AHEAD": (AHEAD(PAIRS, 2, len(ROWS)), ROWS),
    "CopulaRounds": (CopulaRounds(PAIRS, 2, len(ROWS), buckets=8, ranks=2), ROWS),
    "CopulaRounds, one": (CopulaRounds(PAIRS, 2, len(ROWS), buckets=8, ranks=2, rounds=1), ROWS),
    "HDG": (HDG(PAIRS, 2, N), ROWS),
    "HIO": (HIO(PAIRS, 2, branching=2), ROWS),
    "QuantileBayesSearch": (QuantileBayesSearch(RANGE, "0.5", 2, N, rounds=8, parts=64), NEAR),
    "QuantileGradient": (QuantileGradient(RANGE, "0.5", 2, N, rounds=6), NEAR),
    "QuantileBinarySearch": (QuantileBinarySearch(RANGE, "0.5", 2, N, rounds=6), NEAR),
    "QuantileRounds": (sv.QuantileRounds(RANGE, ["0.25", "0.5"], 2, N), NEAR),
    "RangeSearchRounds": (RangeSearchRounds(WIDE, 2, N, method="hybrid", search="0.2"), NORMAL[:1_200]),
    "TableViews": (sv.TableViews(PAIRS, [["a", "c"]], 2), [{"a": one["a"], "c": one["c"]} for one in RECORDS]),
    "ParityBlocks": (ParityBlocks(BITS, 2, 2, ["cells 2", "even 3"], [1, 1]), BINARY),
    "RangeSearchDistribution": (RangeSearchDistribution(WIDE, 2, N, 8, method="haar", search="0.2"), NORMAL),
    "RangeSearchGroupMean": (
        RangeSearchGroupMean(sv.Categories(["a", "b"]), WIDE, 2, N, search="0.2"),
        [("ab"[place % 2], number) for place, number in enumerate(NORMAL)],
    ),
    "TrimmedMeanRounds": (TrimmedMeanRounds(WIDE, "0.2", 2, N, method="hybrid", rounds=2), NORMAL),
    "ClampedMeanRound": (ClampedMeanRound(WIDE, 2, 119, "126.5", N, method="hybrid"), NORMAL),
}
EVERY = CASES | NESTED
LONG = {"RangeSearch", "RangeSearchRounds", "RangeSearchDistribution", "RangeSearchGroupMean"}
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in EVERY]


def test_every_protocol_is_here_and_can_be_written_down() -> None:
    assert set(PROTOCOLS) == {type(protocol).__name__ for protocol, _ in EVERY.values()}
    shown = {name for name in dir(sv) if inspect.isclass(kind := getattr(sv, name)) and issubclass(kind, Protocol)}
    assert shown <= set(PROTOCOLS)
    assert all(load(target).__name__ == name for name, target in PROTOCOLS.items())


@for_each("name", EVERY)
def test_a_specification_loses_nothing(name: str) -> None:
    protocol, _ = EVERY[name]
    again = protocol_from_spec(protocol_spec(protocol))
    assert again == protocol and type(again) is type(protocol)
    first, other = protocol.start(), again.start()
    assert first.quota == other.quota and len(first.arms) == len(other.arms)
    assert all(a.mechanism == b.mechanism and a.weight == b.weight for a, b in zip(first.arms, other.arms, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_stopping_after_every_round_changes_nothing(name: str, seed: int) -> None:
    protocol, answers = EVERY[name]
    choices = np.arange(len(answers)) % 2 if name.startswith("Personal") else None
    straight = sv.simulate(protocol, answers, seed=seed, choices=choices)
    state = resume(checkpoint(State.first(protocol)))
    while not state.is_over:
        after = next(rounds(state.protocol, answers, seed=seed, state=state, choices=choices))
        state = resume(checkpoint(after))
    resumed = state.estimates
    assert list(resumed) == list(straight)
    for key, estimate in straight.items():
        other = resumed[key]
        if hasattr(estimate, "ci"):
            assert np.array_equal(estimate.values, other.values, equal_nan=True)
            assert np.array_equal(estimate.std_errors, other.std_errors, equal_nan=True)
    asked = sum(tally.n for tallies in state.history for tally in tallies)
    assert asked == len(answers) * protocol.answers
