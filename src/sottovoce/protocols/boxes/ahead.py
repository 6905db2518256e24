"""AHEAD: an adaptive tree over a grid, one layer in each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain import Merged, Record
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.round import Arm, Estimates, History, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.partitions import partition_boxes, readings_of
from sottovoce.estimate.boxes.tree import AdaptiveTree
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.boxes.arms import CellsProtocol, check_oracle, part_mechanism

OWNER = "AHEAD"


@dataclass(frozen=True, slots=True)
class AHEAD(CellsProtocol):
    """Estimate the shares of boxes through a tree that is split only where many answers lie, one layer in each round.

    The participants of a round report in which part of the grid they are. Parts with a large share are halved along
    every field, and others are asked about the new parts. The unbiased estimate and the intervals come from the last
    round alone, whose parts do not depend on its reports. `decoded("fitted")` averages all layers, as published.

    Args:
        record: The fields, as a `Record` of `Integers`, `Interval` or `Categories`; one field is possible.
        epsilon: The privacy budget of one participant, who answers once.
        participants: How many participants are expected; every round asks an equal part of them.
        buckets: Into how many parts the range of each field is divided, where it has more values.
        oracle: The mechanism for a part: "oue" as published, "subset" or "sue".

    Examples:
        >>> from sottovoce.protocols.boxes.ahead import AHEAD
        >>> place = sv.Record({"x": sv.Integers(0, 15), "y": sv.Integers(0, 15)})
        >>> protocol = AHEAD(place, epsilon=2, participants=20000)
        >>> people = [{"x": 3, "y": 3}, {"x": 12, "y": 3}] * 10000
        >>> estimate = sv.simulate(protocol, people, seed=1)["boxes"].decoded("fitted")
        >>> estimate.range(x=(2, 4), y=(0, 7)).values.round(1)
        array([0.5])

    See also:
        `HIO` needs one round; the mechanism "torus-wave" with the decoder "grid-prior" is often closer.
    """

    most: ClassVar[int] = 1 << 14  # cells, whose parts are listed in the specification of a round
    record: Record
    epsilon: Any
    participants: int
    buckets: int | None = None
    oracle: str = "oue"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        self.base  # noqa: B018 - refuses other domains
        check_oracle(OWNER, self.oracle)
        check_integer("participants", OWNER, self.participants, self.layers, 1 << 40)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each field."""
        return tuple(field.size or 1 for _, field in self.base.parts)

    @property
    def layers(self) -> int:
        """The number of rounds: as many as halve the longest field into single cells."""
        return max(1, (max(self.shape) - 1).bit_length())

    def effort(self) -> int:
        return ARM_EFFORT * self.layers

    def start(self) -> Round:
        return self._round([])

    def _round(self, rounds: list[Any]) -> Round:
        """The next round: where the parts of the tree lie follows from the rounds before."""
        grid = Grid.of(self.base)
        layers = [(one.shares, one.variance) for one in readings_of(grid, rounds)]
        tree = AdaptiveTree.after(self.shape, layers)
        last = len(rounds) + 1 == self.layers
        arm = Arm("part", self._mechanism(tree))
        return Round((arm,), quota=None if last else max(1, self.participants // self.layers))

    def _mechanism(self, tree: AdaptiveTree) -> Mechanism:
        view = Merged(self.base, tuple(tree.places().tolist()))
        return part_mechanism(self.question, view, self.epsilon, self.oracle)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        tallies = [tally for (tally,) in history]
        if len(tallies) < self.layers and not closing:
            return self._round(tallies)
        evidence = partition_boxes(self.question, self.base, tallies[-1:], tallies)
        estimates = {"boxes": Estimate.of(self.question, evidence, sources_of(tallies))}
        if len(tallies) == self.layers:
            return estimates
        return partial(estimates, f"Closed early: {len(tallies)} of {self.layers} layers of the tree were asked.")
