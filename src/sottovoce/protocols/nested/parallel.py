"""Several protocols at once: coins put each participant into one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, lcm, sqrt
from typing import cast

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question, Several
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, Tallies, partial, reports_of
from sottovoce.core.spec_cost import ROUNDS_EFFORT
from sottovoce.protocols.nested.walk import Rounds, stage_after

MOST_WEIGHT = 1 << 20  # of an arm
SURE = 3.0  # standard deviations by which a round is longer than expected, so that it rarely ends too early


@dataclass(frozen=True, slots=True)
class Branch:
    """A protocol that a share of the participants takes part in."""

    name: str
    protocol: Protocol
    weight: int = 1

    def __post_init__(self) -> None:
        check_integer("weight", f"branch {self.name!r}", self.weight, 1, MOST_WEIGHT)


@dataclass(frozen=True, slots=True)
class _Progress:
    """The progress of a branch: its finished rounds, the next step, and the tallies of its current round so far."""

    branch: Branch
    stage: Round | Estimates
    done: Rounds = ()
    begun: Tallies = ()

    @property
    def asks(self) -> int:
        """How many arms it has in the current round."""
        return len(self.stage.arms) if isinstance(self.stage, Round) else 0

    @property
    def quota(self) -> int | None:
        """How many reports its current round still needs."""
        return self.stage.quota if isinstance(self.stage, Round) else None

    def after(self, tallies: Tallies, *, last: bool) -> _Progress:
        """The branch's progress after a round of all branches; in the last one everyone is asked, so each ends."""
        counted = tuple(a + b for a, b in zip(self.begun, tallies, strict=True)) if self.begun else tallies
        reports = reports_of(counted)
        if reports < (self.quota or 0) or (self.quota is None and not last):
            return _Progress(self.branch, self.stage, self.done, counted)
        if not reports:
            return _Progress(self.branch, {}, self.done)
        done = (*self.done, counted)
        return _Progress(self.branch, stage_after(self.branch.protocol, done), done)


@dataclass(frozen=True, slots=True)
class Parallel(Protocol):
    """Several protocols at once; each participant takes part in one of them, with the whole budget.

    A round has the arms of the current rounds of all branches. It ends when the first of them has its quota; the others
    go on with their round in the next one, and their tallies are added up. A branch without participants has no
    estimate. The results are named after the branch and the result.
    """

    branches: tuple[Branch, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", tuple(self.branches))
        names = [branch.name for branch in self.branches]
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"There must be at least one branch, and their names must differ. Got {names}.")

    @property
    def question(self) -> Question:
        return Several.of(branch.protocol.question for branch in self.branches)

    @property
    def epsilon(self) -> Decimal:
        """Everyone takes part in one branch."""
        largest: Decimal = max(branch.protocol.epsilon for branch in self.branches)
        return largest

    def effort(self) -> int:
        """The work of assigning people, in addition to that of the branches."""
        return ROUNDS_EFFORT

    def start(self) -> Round:
        return _round(self._progress(()))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        progress = self._progress(tuple(history))
        if all(not one.asks for one in progress):
            return _named((one.branch, one.stage) for one in progress if not isinstance(one.stage, Round))
        return _closed(progress) if closing else _round(progress)

    def _progress(self, rounds: Rounds) -> list[_Progress]:
        """The progress of every branch. A round has the tallies of the branches that still asked in it, in order."""
        progress = [_Progress(branch, stage_after(branch.protocol, ())) for branch in self.branches]
        for tallies in rounds:
            if len(tallies) != sum(one.asks for one in progress):
                raise ParameterError("The rounds belong to other protocols than those that run in parallel.")
            last, place = _is_last(progress), 0
            for turn, one in enumerate(progress):
                if one.asks:
                    progress[turn] = one.after(tallies[place : place + one.asks], last=last)
                place += one.asks
        return progress


def _is_last(progress: Sequence[_Progress]) -> bool:
    """Whether no branch has a quota: then everyone who is left is asked."""
    return all(one.stage.quota is None for one in progress if isinstance(one.stage, Round))


def _round(progress: Sequence[_Progress]) -> Round:
    """The arms of all branches; each branch keeps its share of the participants, for any weights of its arms."""
    current = [(one, one.stage) for one in progress if isinstance(one.stage, Round)]
    if any(stage.chosen for _, stage in current):
        raise ParameterError("A protocol in which participants choose their arm cannot run beside others.")
    names = [_name(one.branch.name, arm.name) for one, stage in current for arm in stage.arms]
    mechanisms = [arm.mechanism for _, stage in current for arm in stage.arms]
    arms = map(Arm, names, mechanisms, _weights(current))
    return Round(tuple(arms), quota=min(_waits(current), default=None))


def _weights(current: Sequence[tuple[_Progress, Round]]) -> list[int]:
    common = lcm(*(stage.weight for _, stage in current))
    exact = [one.branch.weight * arm.weight * (common // stage.weight) for one, stage in current for arm in stage.arms]
    largest = max(exact)
    if largest <= MOST_WEIGHT:
        return exact
    return [max(1, weight * MOST_WEIGHT // largest) for weight in exact]


def _waits(current: Sequence[tuple[_Progress, Round]]) -> Iterator[int]:
    """After how many reports of all branches each branch with a quota will almost surely have it."""
    total = sum(one.branch.weight for one, _ in current)
    for one, stage in current:
        if stage.quota is not None:
            left = stage.quota - reports_of(one.begun)
            others = total > one.branch.weight  # coins assign participants to this branch
            yield ceil((left + SURE * sqrt(left) * others) * total / one.branch.weight)


def _closed(progress: Sequence[_Progress]) -> Estimates:
    """The estimates of the branches that have any now; the notes name the others."""
    answered: list[tuple[Branch, Estimates]] = []
    silent: list[str] = []
    for one in progress:
        if not isinstance(one.stage, Round):
            answered.append((one.branch, one.stage))
            continue
        try:
            closed = one.branch.protocol.advance((*one.done, one.begun) if one.begun else one.done, closing=True)
        except ParameterError:
            silent.append(one.branch.name)
        else:
            answered.append((one.branch, cast(Estimates, closed)))
    named = _named(answered)
    if not named:
        raise ParameterError("Nothing can be estimated yet: no branch has enough reports.")
    return partial(named, f"Closed early: no estimates for {', '.join(silent)}.") if silent else named


def _named(answered: Iterable[tuple[Branch, Estimates]]) -> Estimates:
    return {_name(branch.name, key): one for branch, estimates in answered for key, one in estimates.items()}


def _name(branch: str, own: str) -> str:
    """A branch with one result, or one arm, may give it the same name."""
    return branch if own == branch else f"{branch}: {own}"
