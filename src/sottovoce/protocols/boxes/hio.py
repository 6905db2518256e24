"""HIO: every combination of levels of a tree over each field is asked of a part of the participants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from sottovoce.core.domain import Domain, Level, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.round import Arm, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.boxes.partitions import partition_boxes
from sottovoce.protocols.boxes.arms import (
    MOST_ARMS,
    BoxesInOneRound,
    CellsProtocol,
    check_oracle,
    part_mechanism,
    part_view,
)

OWNER = "HIO"


@dataclass(frozen=True, slots=True, init=False)
class HIO(CellsProtocol, BoxesInOneRound):
    """Estimate the shares of boxes through trees over all fields, without bias, in one round.

    Each field has a tree; a categorical field has a root and one node for each category. Coins give every participant
    one combination of levels, and the participant reports the node of that combination with the whole budget. Least
    squares combines all levels, so that no box is worse than by the sum of its own nodes, as published.

    Args:
        record: The fields, as a `Record` of `Integers`, `Interval` or `Categories`.
        epsilon: The privacy budget of one participant.
        buckets: Into how many parts the range of each field is divided, where it has more values.
        branching: The number of children of a node.
        categorical: The fields without an order between root and leaves.
        oracle: The mechanism for a node: "oue" as published (it has the variance of local hashing), "subset" or "sue".

    Examples:
        >>> from sottovoce.protocols.boxes.hio import HIO
        >>> person = sv.Record({"age": sv.Integers(0, 15), "sex": sv.Categories(["f", "m"])})
        >>> protocol = HIO(person, epsilon=2, categorical=["sex"])
        >>> people = [{"age": 3, "sex": "f"}, {"age": 12, "sex": "m"}] * 10000
        >>> estimate = sv.simulate(protocol, people, seed=1)["boxes"]
        >>> estimate.range(age=(0, 7), sex="f").values.round(1)
        array([0.5])

    See also:
        `AHEAD` and `HDG` are other published methods; the mechanism "torus-wave" has less variance.
    """

    evidence_of = staticmethod(partition_boxes)
    record: Record
    epsilon: Any
    buckets: int | None
    branching: int
    categorical: tuple[str, ...]
    oracle: str

    def __init__(
        self,
        record: Record,
        epsilon: Any,
        buckets: int | None = None,
        branching: int = 4,
        categorical: Iterable[str] = (),
        oracle: str = "oue",
    ) -> None:
        values: dict[str, Any] = {
            "record": record,
            "epsilon": check_epsilon(OWNER, epsilon),
            "buckets": buckets,
            "branching": check_integer("branching", OWNER, branching, 2, 1 << 12),
            "categorical": tuple(categorical),
            "oracle": check_oracle(OWNER, oracle),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        known = [name for name, _ in self.base.parts]
        if not {*self.categorical} <= {*known}:
            raise reject("categorical", OWNER, f"names among {', '.join(known)}", self.categorical)
        arms = prod(len(levels) for levels in self.levels().values()) - 1
        if arms > MOST_ARMS:
            raise ParameterError(
                f"HIO over these fields has {arms:,} combinations of levels; at most {MOST_ARMS:,} are possible. Use"
                " fewer fields, fewer buckets or more children."
            )

    def levels(self) -> dict[str, list[Domain | None]]:
        """The levels of the tree over each field, from the root (None) to the leaves."""
        return {name: self._levels(name, field) for name, field in self.base.parts}

    def _levels(self, name: str, field: Domain) -> list[Domain | None]:
        if name in self.categorical or (field.size or 0) <= self.branching:
            return [None, field]
        depth = Level(field, self.branching, 1).depth
        inner = [Level(field, self.branching, level) for level in range(1, depth)]
        return [None, *inner, field]

    def effort(self) -> int:
        return ARM_EFFORT * prod(len(levels) for levels in self.levels().values())

    def start(self) -> Round:
        question, arms = self.question, []
        levels = self.levels()
        for places in product(*(range(len(own)) for own in levels.values())):
            chosen = {name: own[place] for (name, own), place in zip(levels.items(), places, strict=True) if place}
            if not chosen:
                continue
            view = part_view(self.base, {name: field for name, field in chosen.items() if field is not None})
            label = ", ".join(f"{name} level {place}" for name, place in zip(levels, places, strict=True) if place)
            arms.append(Arm(label, part_mechanism(question, view, self.epsilon, self.oracle)))
        return Round(tuple(arms))
