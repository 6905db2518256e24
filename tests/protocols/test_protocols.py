"""Protocols: everyone answers once, in an arm that coins choose; the state is the tallies; the truth is found.

Where an interval is compared with the truth it is a simultaneous one at level 1 - ALPHA, so that a right protocol
gives an alarm with probability at most ALPHA per estimate; the seed is fixed by default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.coins import TapeCoins
from sottovoce.core.domain import Select
from sottovoce.core.question import Question
from sottovoce.core.round import Arm, Protocol, Round
from sottovoce.core.specs import canonical
from sottovoce.protocols import simulate as room
from sottovoce.protocols.ask import AskEveryone, AskOneOf
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.mean.personal import PersonalBudgetMean
from sottovoce.protocols.plain import protocol_from_spec, protocol_spec
from sottovoce.protocols.play import State, replay
from sottovoce.protocols.ranges.densest import DensestInterval
from sottovoce.protocols.simulate import play_round, rounds
from sottovoce.testing.statistics import ALPHA, check_rate
from tests.each import for_each

TYPES = sv.Categories(["lark", "owl", "neither"])
HOURS = sv.Integers(0, 15)


def arms(*weights: int, epsilon: float = 2.0) -> tuple[Arm, ...]:
    """Arms that ask the same question by different methods."""
    names = ["grr", "oue", "subset", "hadamard"]
    return tuple(
        Arm(name, sv.mechanism(name, HOURS, epsilon=epsilon), weight)
        for name, weight in zip(names, weights, strict=False)
    )


def covers(estimate: sv.Estimate, truth: Any) -> bool:
    """Whether intervals that all hold at once, but for a chance of ALPHA, hold the shares of the participants."""
    low, high = estimate.ci(1 - ALPHA, target="sample", simultaneous=True)
    return bool(((low <= truth) & (truth <= high)).all())


def shares(values: Any, size: int) -> Any:
    return np.bincount(values, minlength=size) / len(values)


# --- the truth is found -----------------------------------------------------------------------------
def test_one_question_to_everyone(seed: int) -> None:
    answers = np.repeat(["lark", "owl", "neither"], [5000, 12000, 3000])
    found = sv.simulate(AskEveryone(sv.mechanism("grr", TYPES, epsilon=1.0), "type"), answers, seed=seed)
    assert list(found) == ["type"]
    assert found["type"].n == 20_000
    assert covers(found["type"], [0.25, 0.6, 0.15]), f"alarm with probability {ALPHA}"
    assert np.abs(found["type"].values - [0.25, 0.6, 0.15]).max() < 0.05
    assert not covers(found["type"], [0.35, 0.5, 0.15]), "the check has power"


def test_two_arms_answer_for_their_own_part(seed: int) -> None:
    answers = np.repeat(np.arange(16), np.arange(16) * 250 + 100)
    found = sv.simulate(AskOneOf(arms(1, 3)), answers, seed=seed)
    assert list(found) == ["grr", "oue"]
    assert found["grr"].n + found["oue"].n == len(answers)
    truth = shares(answers, 16)
    for estimate in found.values():
        low, high = estimate.ci(1 - ALPHA, target="population", simultaneous=True)
        assert ((low <= truth) & (truth <= high)).all(), f"alarm with probability {ALPHA}"
        assert np.abs(estimate.values - truth).max() < 0.05


def test_two_rounds_find_the_densest_interval_and_look_into_it(seed: int) -> None:
    domain = sv.Integers(10, 41)
    answers = np.concatenate([np.full(14_000, 27), np.full(4000, 29), np.arange(10, 42).repeat(300)])
    found = sv.simulate(DensestInterval(domain, 2.0, first=8000, intervals=4), answers, seed=seed)
    assert found["interval"].n == 8000
    assert found["value"].n == len(answers) - 8000
    assert int(np.argmax(found["interval"].values)) == 2  # 26 ... 33
    fine = found["value"]
    assert fine.mechanism.domain.size == 10  # below, eight integers, above
    truth = np.histogram(answers, [10, *range(26, 35), 42])[0] / len(answers)
    low, high = fine.ci(1 - ALPHA, target="population", simultaneous=True)
    assert ((low <= truth) & (truth <= high)).all(), f"alarm with probability {ALPHA}"
    assert int(np.argmax(fine.values)) == 2  # the integer 27


@pytest.mark.parametrize("intervals", [2, 3, 5, 8])
@pytest.mark.parametrize("low", [-7, 0])
def test_every_interval_can_be_looked_into(low: int, intervals: int) -> None:
    """Its integers one by one, and what is below and above, if anything is."""
    domain = sv.Integers(low, low + 16)
    protocol = DensestInterval(domain, 1.0, first=10, intervals=intervals)
    coarse = protocol.start().arms[0].mechanism.domain
    codes = {value: coarse.encode(value) for value in range(low, low + 17)}
    assert set(codes.values()) == set(range(intervals))
    for interval in range(intervals):
        fine = protocol.fine(interval).domain
        inside = [value for value, code in codes.items() if code == interval]
        alone = [fine.encode(value) for value in inside]
        assert len(set(alone)) == len(inside)
        outside = {fine.encode(value) for value in codes if value not in inside}
        assert outside.isdisjoint(alone)
        assert fine.size == len(inside) + len(outside)


# --- everyone answers once --------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Listen(Protocol):
    """Hands out its rounds one after the other, and then all tallies."""

    rounds: tuple[Round, ...]

    @property
    def question(self) -> Question:
        return self.rounds[0].arms[0].mechanism.question

    @property
    def epsilon(self) -> Any:
        return max(arm.mechanism.claimed for round_ in self.rounds for arm in round_.arms)

    def start(self) -> Round:
        return self.rounds[0]

    def advance(self, history: Any, closing: bool = False) -> Any:
        if len(history) < len(self.rounds):
            return self.rounds[len(history)]
        return {"history": history}


def test_every_participant_answers_exactly_once(seed: int) -> None:
    """Everyone holds a value of their own and epsilon is 20, so that a report is as good as a name.

    A report is wrong with probability 999 / (e**20 + 999) = 2e-6, so one of a thousand is with probability 0.002; the
    seed is fixed by default.
    """
    people = sv.Integers(0, 999)
    clear = [Arm(name, sv.mechanism("grr", people, epsilon=20), w) for name, w in (("a", 1), ("b", 2), ("c", 5))]
    rounds = (Round(tuple(clear[:2]), quota=300), Round(tuple(clear), quota=1), Round((clear[0],)))
    answers = np.random.default_rng(seed).permutation(1000)
    for given in (answers, answers.tolist(), pd.Series(answers, index=answers[::-1])):
        history = sv.simulate(Listen(rounds), given, seed=seed)["history"]
        assert [sum(tally.n for tally in tallies) for tallies in history] == [300, 1, 699]
        cells = sum(tally.cells for tallies in history for tally in tallies)
        assert cells.max() == cells.min() == 1


def test_without_a_seed_coins_are_fresh() -> None:
    rounds = Listen((Round(arms(1, 1), quota=50), Round(arms(1, 1))))
    a, b = (sv.simulate(rounds, np.arange(16).repeat(20))["history"] for _ in range(2))
    assert a != b
    assert sum(tally.n for tallies in a for tally in tallies) == 320


def test_a_seed_fixes_everything_and_neighbouring_seeds_share_nothing() -> None:
    """Replicates with seeds 0, 1, 2, ... must be independent: no arm of one may hear the noise of an arm of another."""
    same = tuple(Arm(name, sv.mechanism("grr", HOURS, epsilon=0.1)) for name in ("a", "b", "c"))
    one_arm = [Listen((Round((arm,)),)) for arm in same]
    answers = np.zeros(2000, int)
    first, second = (sv.simulate(protocol, answers, seed=5)["history"] for protocol in one_arm[:2])
    assert first == second
    seen = []
    for seed in range(8):
        for quota in (600, None):
            protocol = Listen((Round(same, quota=quota), *([Round(same)] if quota else [])))
            seen += [
                tally.cells for tallies in sv.simulate(protocol, answers, seed=seed)["history"] for tally in tallies
            ]
    rows = [tuple(cells) for cells in seen]
    assert len(set(rows)) == len(rows)
    seeds = [
        room.derived_seed(room.derived_seed(seed, f"round {number}"), purpose)
        for seed in range(50)
        for number in range(4)
        for purpose in ("arms", "arm 0", "arm 1", "arm 2")
    ]
    assert len(set(seeds)) == len(seeds)


# --- arms -------------------------------------------------------------------------------------------
def test_the_arm_does_not_depend_on_the_answer(seed: int) -> None:
    """The same people are asked in the same round and arm, whatever they hold."""
    people = sv.Integers(0, 499)
    clear = tuple(Arm(name, sv.mechanism("grr", people, epsilon=20), w) for name, w in (("a", 2), ("b", 3)))
    protocol = Listen((Round(clear, quota=200), Round(clear)))

    def asked(answers: Any) -> list[list[set[int]]]:
        """Who is in which round and arm: a person's name is their answer."""
        history = sv.simulate(protocol, answers, seed=seed)["history"]
        places = {int(answer): person for person, answer in enumerate(answers)}
        return [[{places[int(v)] for v in np.flatnonzero(t.cells)} for t in tallies] for tallies in history]

    answers = np.arange(500)
    assert asked(answers) == asked(answers[::-1].copy()) == asked(np.roll(answers, 77))


def test_weights_are_respected(seed: int) -> None:
    """Binomial tests, each with a false-alarm rate of ALPHA, which also notice a weight that is 30 % off."""
    weights, n = (1, 2, 5, 8), 40_000
    chosen = room._assign(Round(arms(*weights)), n, seed)
    for place, weight in enumerate(weights):
        check_rate(f"arm {place}", int((chosen == place).sum()), n, weight / 16)


def test_the_order_of_the_participants_is_uniform(seed: int) -> None:
    """Those who come first in the list are in the first round as often as others."""
    m = sv.mechanism("grr", sv.Integers(0, 1), epsilon=20)
    protocol = Listen((Round((Arm("a", m),), quota=10_000), Round((Arm("a", m),))))
    answers = np.repeat([1, 0], [20_000, 20_000])
    first = sv.simulate(protocol, answers, seed=seed)["history"][0][0]
    check_rate("the first half of the list in the first round", int(first.cells[1]), first.n, 0.5)


def assigned_one_by_one(stage: Round, participants: int, seed: int) -> list[int]:
    stream = room._stream(seed)
    found = []
    for place in range(participants):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place))
        coins.begin(1)
        found.append(stage.assign(coins))
    return found


@pytest.mark.parametrize("weights", [(1,), (1, 1), (3, 5), (1, 2, 4, 1), (1 << 20, 1, (1 << 20) - 7)])
def test_everyone_at_once_is_everyone_by_the_coins_of_a_round(weights: tuple[int, ...], seed: int) -> None:
    stage = Round(arms(*weights))
    assert room._assign(stage, 400, seed).tolist() == assigned_one_by_one(stage, 400, seed)
    assert len(room._assign(stage, 0, seed)) == 0


def test_rejected_tickets_are_drawn_again_like_the_scalar_coins_do(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 53 bits nothing is ever rejected, so here some words are too large to be a ticket."""
    stage = Round(arms(3, 4, 4))
    assert UNIT % stage.weight
    original = room.WordStream.rows

    def rows(self: Any, first: int, count: int) -> Any:
        words = original(self, first, count).copy()
        words[(np.arange(first, first + count) % 3 == 0)] = (1 << 64) - 1
        return words

    monkeypatch.setattr(room.WordStream, "rows", rows)
    tickets = room._stream(seed).rows(0, 300)[:, 0] >> np.uint64(64 - FINE)
    assert (tickets >= UNIT - UNIT % stage.weight).sum() == 100
    chosen = room._assign(stage, 300, seed)
    assert chosen.tolist() == assigned_one_by_one(stage, 300, seed)
    assert set(chosen[::3]) == {0, 1, 2}


# --- stop, save, go on ------------------------------------------------------------------------------
def through(protocol: Protocol, answers: list[Any], *, stop: bool) -> Any:
    """Round by round; `stop` writes the state to bytes after each of them and forgets everything else."""
    state, left = State.first(protocol), list(answers)
    while not state.is_over:
        asked = left[: state.round.quota]
        left = left[len(asked) :]
        state = state.after(play_round(state.round, asked, seed=len(state.history)))
        if stop:
            state = resume(checkpoint(state))
    return state.history, state.estimates


PROTOCOLS = {
    "ask": AskEveryone(sv.mechanism("hadamard", HOURS, epsilon=1.0)),
    "each": AskOneOf(arms(1, 2, 3)),
    "refine": DensestInterval(HOURS, 1.0, first=700),
    "refine with hashing": DensestInterval(HOURS, 1.0, first=700, method="olh"),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_stopping_and_going_on_changes_nothing(name: str) -> None:
    protocol = PROTOCOLS[name]
    answers = (np.arange(2000) % 16).tolist()
    straight, found = through(protocol, answers, stop=False)
    resumed, again = through(protocol, answers, stop=True)
    assert straight == resumed
    assert list(found) == list(again)
    for key in found:
        assert np.array_equal(found[key].values, again[key].values)
        assert np.array_equal(found[key].ci().low, again[key].ci().low)


def test_a_simulation_goes_on_after_saved_rounds(seed: int) -> None:
    protocol = DensestInterval(HOURS, 2.0, first=3000)
    answers = np.repeat([6, 2], [6000, 2000])
    straight = sv.simulate(protocol, answers, seed=seed)
    first = next(rounds(protocol, answers, seed=seed))
    state = resume(checkpoint(first))
    assert state.protocol == protocol and state.history == first.history
    found = sv.simulate(state.protocol, answers, seed=seed, state=state)
    assert found["interval"].n == 3000 and found["value"].n == 5000
    for name, estimate in straight.items():
        assert np.array_equal(found[name].values, estimate.values) and found[name].n == estimate.n
    assert state.stage == protocol.advance(state.history) == replay(protocol, state.history).stage
    with pytest.raises(sv.ParameterError, match="needs the seed"):
        sv.simulate(protocol, answers, state=state)


def test_a_protocol_is_written_down_and_read_back() -> None:
    prior = sv.Prior.beta(2, 5, 0, 10)
    personal = PersonalBudgetMean(sv.Interval(0, 10), [1, "0.5"], prior=prior)
    for protocol in (*PROTOCOLS.values(), personal):
        spec = protocol_spec(protocol)
        assert protocol_from_spec(spec) == protocol == protocol_from_spec(canonical(spec))
        for wrong in ({**spec, "protocol": "Tell"}, {**spec, "more": 1}, {**spec, "parameters": {}}, []):
            with pytest.raises(sv.SpecError):
                protocol_from_spec(wrong)
    with pytest.raises(sv.SpecError, match="stored as plain data"):
        protocol_spec(Listen(()))
    data = checkpoint(State.first(personal))
    assert resume(data).protocol == personal and resume(data).history == ()
    foreign = checkpoint(State(PROTOCOLS["each"], some_history(), {}))
    for wrong in (b"", data[:30], data[:-1], data[1:], data + b"\0", foreign):
        with pytest.raises(sv.SottovoceError):
            resume(wrong)


def some_history() -> tuple[Any, ...]:
    """Rounds of a protocol that is not the one they are put to."""
    return through(PROTOCOLS["ask"], list(range(16)) * 60, stop=False)[0]


def some_states() -> Iterator[State]:
    """Before, between and after rounds, and in the middle of one."""
    for protocol in PROTOCOLS.values():
        history, _ = through(protocol, list(range(16)) * 60, stop=False)
        for length in range(len(history) + 1):
            yield replay(protocol, history[:length])
        yield State.first(protocol).counted(play_round(protocol.start(), [3] * 5, seed=1))


def test_saved_states_are_read_back_and_damage_is_noticed() -> None:
    for state in some_states():
        data = checkpoint(state)
        again = resume(data)
        assert again.protocol == state.protocol and again.history == state.history and again.begun == state.begun
        assert again.is_over == state.is_over and (state.is_over or again.round == state.round)
        for length in range(0, len(data), 7):
            with pytest.raises(sv.ReportError):
                resume(data[:length])
        with pytest.raises(sv.ReportError, match="digest"):
            resume(data + b"\0")
        for bit in np.random.default_rng(1).integers(0, 8 * len(data), 300).tolist() + list(range(8 * 60)):
            wrong = bytearray(data)
            wrong[bit // 8] ^= 1 << bit % 8
            with pytest.raises(sv.ReportError):
                resume(bytes(wrong))


# --- what is refused --------------------------------------------------------------------------------
def test_wrong_tallies_are_refused_and_both_sides_are_shown() -> None:
    protocol = AskOneOf(arms(1, 1))
    right = play_round(protocol.start(), np.arange(16), seed=0)
    other = sv.Tally.empty(sv.mechanism("grr", HOURS, epsilon=1.0))
    wrong = [right[::-1], right[:1], (*right, right[0]), (), (other, right[1]), (None, right[1]), (1, 2)]
    for tallies in wrong:
        with pytest.raises(sv.ParameterError) as caught:
            replay(protocol, (tallies,))
        said = str(caught.value)
        assert all(f"{arm.name} {arm.mechanism.fingerprint[:12]}" in said for arm in protocol.arms), said
    with pytest.raises(sv.ParameterError, match=other.fingerprint[:12]):
        replay(protocol, ((other, right[1]),))
    with pytest.raises(sv.ParameterError, match="none"):
        replay(protocol, ((),))


def test_a_first_round_of_another_protocol_is_refused() -> None:
    mine, other = DensestInterval(HOURS, 1.0, first=10), DensestInterval(HOURS, 2.0, first=10)
    history = (play_round(other.start(), list(range(16)), seed=0),)
    with pytest.raises(sv.ParameterError):
        replay(mine, history)
    with pytest.raises(sv.MismatchError, match="epsilon"):
        mine.advance(history)


def test_more_rounds_than_the_protocol_has_are_refused() -> None:
    for protocol in PROTOCOLS.values():
        history, _ = through(protocol, list(range(16)) * 60, stop=False)
        with pytest.raises(sv.ReportError, match="more rounds than its protocol"):
            replay(protocol, (*history, history[-1]))
        with pytest.raises(ValueError):
            protocol.advance((*history, history[-1]))


def test_a_round_does_not_end_before_its_quota() -> None:
    protocol = DensestInterval(HOURS, 1.0, first=100)
    for n in (1, 99):
        early = play_round(protocol.start(), [3] * n, seed=0)
        with pytest.raises(sv.ParameterError, match=f"after 100 reports. Got tallies of {n}"):
            replay(protocol, (early,))
    assert replay(protocol, (play_round(protocol.start(), [3] * 101, seed=0),)).round


@pytest.mark.parametrize("people", [0, 1, 99, 100])
def test_a_quota_larger_than_the_crowd_is_refused(people: int) -> None:
    protocol = DensestInterval(HOURS, 1.0, first=100)
    with pytest.raises(sv.ParameterError) as caught:
        sv.simulate(protocol, [3] * people, seed=0)
    said = str(caught.value)
    number = 2 if people == 100 else 1
    assert said.startswith(f"Round {number} waits for") and f"of {people}." in said and "\n" not in said


def test_answers_outside_the_domain_are_refused() -> None:
    with pytest.raises(sv.DomainError, match="1 of 20 answers"):
        sv.simulate(PROTOCOLS["ask"], [3] * 19 + [99], seed=0)


@for_each(
    "make",
    [
        lambda: Round(()),
        lambda: Round((*arms(1), *arms(1))),
        lambda: Round(arms(1), quota=0),
        lambda: Round(arms(1), quota=1.5),  # type: ignore[arg-type]
        lambda: arms(0),
        lambda: arms(1 << 21),
        lambda: Arm("a", arms(1)[0].mechanism, True),
        lambda: AskOneOf(()),
        lambda: AskOneOf((*arms(1), *arms(1))),
        lambda: DensestInterval(HOURS, 1.0, first=10, intervals=1),
        lambda: DensestInterval(HOURS, 1.0, first=10, intervals=9),
        lambda: DensestInterval(HOURS, 1.0, first=0).start(),
        lambda: DensestInterval(HOURS, -1.0, first=10).start(),
    ],
)
def test_wrong_rounds_are_refused(make: Any) -> None:
    with pytest.raises(sv.ParameterError):
        make()


# --- pure -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_are_pure_and_frozen(name: str) -> None:
    protocol = PROTOCOLS[name]
    before = hash(protocol)
    assert protocol.start() == protocol.start()
    assert hash(protocol.start()) == hash(protocol.start())
    history, _ = through(protocol, list(range(16)) * 60, stop=False)
    for length in range(1, len(history) + 1):
        a, b = protocol.advance(history[:length]), protocol.advance(history[:length])
        if isinstance(a, Round):
            assert a == b
        else:
            assert list(a) == list(b)
            assert all(np.array_equal(a[key].values, b[key].values) for key in a)
    assert hash(protocol) == before
    field = dataclasses.fields(protocol)[0].name
    for thing, attribute in ((protocol, field), (protocol.start(), "arms"), (protocol.start().arms[0], "weight")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, attribute, None)


def test_a_list_of_arms_becomes_a_tuple() -> None:
    listed = list(arms(1, 2))
    stage, protocol = Round(listed), AskOneOf(listed)  # type: ignore[arg-type]
    listed.clear()
    assert len(stage.arms) == len(protocol.arms) == 2
    assert hash(stage) == hash(protocol.start())


def test_the_budget_of_a_round_is_that_of_its_most_telling_arm() -> None:
    stage = Round((*arms(1, epsilon=1.0), Arm("much", sv.mechanism("grr", HOURS, epsilon=3.0))))
    assert stage.epsilon == pytest.approx(3.0, abs=1e-9)
    assert stage.weight == 2
    assert [stage.arm_at(ticket) for ticket in range(2)] == [0, 1]
    with pytest.raises(ValueError, match="below 2"):
        stage.arm_at(2)


# --- records ----------------------------------------------------------------------------------------
def test_a_table_is_a_crowd_of_records(seed: int) -> None:
    """Each arm looks at its own columns, one alone or two together."""
    record = sv.Record({"type": TYPES, "hours": sv.Integers(0, 3), "age": sv.Integers(18, 99)})
    build = [
        Arm("type", sv.mechanism("grr", Select(record, ["type"]), epsilon=3.0)),
        Arm("both", sv.mechanism("oue", Select(record, ["type", "hours"]), epsilon=3.0), 2),
    ]
    rng = np.random.default_rng(seed)
    n = 6000
    kinds = rng.choice(3, n, p=[0.2, 0.7, 0.1])
    hours = np.where(kinds == 1, 3, rng.integers(0, 3, n))
    frame = pd.DataFrame(
        {"type": np.array(TYPES.values)[kinds], "hours": hours, "age": rng.integers(18, 100, n)},
        index=rng.permutation(n) + 5,
    )
    found = sv.simulate(AskOneOf(tuple(build)), frame, seed=seed)
    assert found["type"].n + found["both"].n == n
    for key, truth in (("type", shares(kinds, 3)), ("both", shares(kinds * 4 + hours, 12))):
        low, high = found[key].ci(1 - ALPHA, target="population", simultaneous=True)
        assert ((low <= truth) & (truth <= high)).all(), f"alarm with probability {ALPHA}"
    records = frame.to_dict("records")
    again = sv.simulate(AskOneOf(tuple(build)), records, seed=seed)
    assert np.array_equal(again["both"].values, found["both"].values)
    unasked = sv.simulate(AskOneOf(tuple(build)), frame.drop(columns="age"), seed=seed)
    assert np.array_equal(unasked["both"].values, found["both"].values)
    with pytest.raises(sv.DomainError):
        sv.simulate(AskOneOf(tuple(build)), frame.drop(columns="hours"), seed=seed)
