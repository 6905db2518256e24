"""Simulation of a whole protocol on known answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.coins import TapeCoins
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import VectorMean
from sottovoce.core.round import Estimates, Protocol, Round, reports_of
from sottovoce.fast.words import WordStream
from sottovoce.protocols.play import Ask, State, play, states


def simulate(
    protocol: Protocol,
    answers: Any,
    *,
    seed: int | None = None,
    state: State | None = None,
    choices: Any = None,
    closing: bool = False,
) -> Estimates:
    """Run a protocol on known answers: chance puts each participant into one round and arm, and each answers once.

    Where a protocol asks the same people again, the first of them answer in every round.

    Args:
        protocol: A protocol such as `AdaptiveMeanRounds`.
        answers: The answers of all participants.
        seed: The seed of the simulation. Default: secure randomness.
        state: Where to resume. `answers` and `seed` must be those of the interrupted run; the result is then the same.
        choices: The place of each participant's arm, in rounds whose arms participants choose.
        closing: Close the protocol where there are too few participants for the quota of a round.

    Returns:
        Estimates by name, such as "mean".

    Raises:
        ParameterError: There are too few participants for a round.

    Examples:
        >>> protocol = sv.AdaptiveMeanRounds(sv.Interval(0, 100), epsilon=1, participants=4000)
        >>> estimates = sv.simulate(protocol, [20, 21, 22, 23] * 1000, seed=1)
        >>> round(estimates["mean"].value)
        23

    See also:
        `SampledAttributes`, `VarianceRounds` and `RangeSearchMean`, other protocols.
    """
    crowd = _Crowd(answers, seed, choices, closing=closing, again=getattr(protocol, "answers", 1) > 1)
    last = play(protocol, crowd.ask(state), state=state)
    if crowd.unfinished:
        last = last.counted(crowd.unfinished)
    return last.closed() if closing else last.estimates


def rounds(
    protocol: Protocol, answers: Any, *, seed: int | None = None, state: State | None = None, choices: Any = None
) -> Iterator[State]:
    """The state after each round, which may be saved and resumed."""
    first = State.first(protocol) if state is None else state
    return states(first, _Crowd(answers, seed, choices, again=protocol.answers > 1).ask(state))


class _Crowd:
    """Participants whose answers are known, in the order in which they are asked."""

    def __init__(
        self, answers: Any, seed: int | None, choices: Any, *, closing: bool = False, again: bool = False
    ) -> None:
        self.answers, self.seed, self.choices, self.closing = answers, seed, choices, closing
        self.again = again  # whether the same people answer in every round
        self.unfinished: tuple[Any, ...] = ()  # tallies of a round that did not get its quota

    def ask(self, state: State | None) -> Ask:
        """The participants who are asked in each round after a state."""
        done = () if state is None else state.history
        if done and self.seed is None:
            raise ParameterError(
                "Resuming a simulation needs the seed it began with, which determines who has answered."
            )
        everyone = _order(self.answers, self.seed)
        waiting = everyone if self.again else everyone[sum(map(reports_of, done)) :]

        def asked(stage: Round, number: int) -> tuple[Any, ...] | None:
            nonlocal waiting
            quota = len(waiting) if stage.quota is None else stage.quota
            short = quota > len(waiting) or not quota
            if short and not self.closing:
                raise ParameterError(
                    f"Round {number} waits for {max(quota, 1)} participants; {len(waiting)} are left of"
                    f" {len(self.answers)}."
                )
            if not len(waiting):
                return None
            now, waiting = waiting[:quota], waiting if self.again else waiting[quota:]
            tallies = _ask(stage, self.answers, now, derived_seed(self.seed, f"round {number}"), self.choices)
            self.unfinished = tallies if short else ()
            return None if short else tallies

        return asked


def play_round(stage: Round, answers: Any, *, seed: int | None = None, choices: Any = None) -> tuple[Any, ...]:
    """One round in which all of these participants answer: its tallies."""
    return _ask(stage, answers, np.arange(len(answers)), seed, choices)


def _stream(seed: int | None, words: int = 2) -> WordStream:
    return WordStream.secure(words) if seed is None else WordStream.seeded(words, seed)


def derived_seed(seed: int | None, purpose: str) -> int | None:
    """A separate seed for each purpose: with seed + 1 and the like, runs of neighbouring seeds would share noise."""
    if seed is None:
        return None
    return int.from_bytes(hashlib.sha256(b"sottovoce simulate 1|%d|%s" % (seed, purpose.encode())).digest(), "little")


def _order(answers: Any, seed: int | None) -> NDArray[np.int64]:
    """A random order of the participants, by words that are independent of the answers."""
    return np.argsort(_stream(derived_seed(seed, "order")).rows(0, len(answers))[:, 0], kind="stable")


def _ask(stage: Round, answers: Any, who: NDArray[np.int64], seed: int | None, choices: Any = None) -> tuple[Any, ...]:
    if stage.chosen:
        arms = _chosen(stage, len(answers), choices)[who]
    else:
        arms = _assign(stage, len(who), derived_seed(seed, "arms"))
    tallies = []
    for place, arm in enumerate(stage.arms):
        chosen = who[arms == place]
        values = _take(answers, chosen, as_table=isinstance(arm.mechanism.question, VectorMean))
        reports = arm.mechanism.privatize(values, seed=derived_seed(seed, f"arm {place}"))
        tallies.append(replace(arm.mechanism.tally(reports), simulated=True))  # with any source of noise
    return tuple(tallies)


def _chosen(stage: Round, participants: int, choices: Any) -> NDArray[np.int64]:
    """The arm that each participant takes."""
    places = np.asarray([] if choices is None else choices)
    if places.shape != (participants,) or places.dtype.kind not in "iu":
        raise ParameterError(
            "A round whose arms are chosen needs `choices` with the place of an arm for each participant."
        )
    if places.min(initial=0) < 0 or places.max(initial=0) >= len(stage.arms):
        raise ParameterError(f"A choice must be the place of an arm, from 0 to {len(stage.arms) - 1}.")
    return places.astype(np.int64)


def _assign(stage: Round, participants: int, seed: int | None) -> NDArray[np.int64]:
    """`Round.assign` for everyone: the same arms as its coins would give."""
    stream = _stream(seed)
    tickets = stream.rows(0, participants)[:, 0] >> np.uint64(64 - FINE)
    rejected = np.flatnonzero(tickets >= UNIT - UNIT % stage.weight)
    starts = np.cumsum([arm.weight for arm in stage.arms])
    arms = np.searchsorted(starts, tickets % np.uint64(stage.weight), side="right")
    for place in rejected:
        coins = TapeCoins(stream.rows(int(place), 1).tobytes(), stream.overflow(int(place)))
        coins.begin(1)
        arms[place] = stage.assign(coins)
    return arms


def _take(answers: Any, chosen: NDArray[np.int64], *, as_table: bool = False) -> Any:
    """The answers of the chosen participants; the rows of a table become records, unless vectors take it whole."""
    if hasattr(answers, "iloc"):
        part = answers.iloc[chosen]
        if as_table and part.ndim == 2:
            return part
        return list(part.to_dict("records")) if part.ndim == 2 else part.to_numpy()
    if isinstance(answers, np.ndarray):
        return answers[chosen]
    return [answers[int(i)] for i in chosen]
