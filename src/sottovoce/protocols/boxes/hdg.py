"""HDG and TDG: a grid over each field and a coarse grid over each pair of fields, each asked of some participants."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, exp
from typing import Any

from sottovoce.core.domain import Domain, Record, Select
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_epsilon, check_people, reject
from sottovoce.core.question import Boxes
from sottovoce.core.round import Arm, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.boxes.pairs import pair_boxes
from sottovoce.mechanisms.distribution.grid_common import grid_of
from sottovoce.protocols.boxes.arms import MOST_ARMS, BoxesInOneRound, check_oracle, coarse, part_mechanism, part_view

OWNER = "HDG"
OF_LINES, OF_PAIRS = 0.7, 0.03  # alpha 1 and alpha 2 of the paper
MOST_PARTS = 1 << 11


@dataclass(frozen=True, slots=True)
class HDG(BoxesInOneRound):
    """Estimate the shares of boxes over many fields through grids of one and two fields, in one round.

    Coins give every participant one field or one pair of fields, and the participant reports the cell of its grid with
    the whole budget. The sizes of the grids follow from the number of participants, as published. Shares of boxes of
    one or two fields are unbiased where their limits are edges of the grid; `decoded("fitted")` is the published
    estimate. Without `lines` only pairs are asked: this is TDG.

    Args:
        record: Two or more fields, as a `Record` of `Integers`, `Interval` or `Categories`.
        epsilon: The privacy budget of one participant.
        participants: How many participants are expected.
        lines: Whether some participants are asked about one field.
        parts: The number of parts of a field by itself and in a pair. Default: from the number of participants.
        oracle: The mechanism for a cell: "oue" as published (it has the variance of local hashing), "subset" or "sue".

    Examples:
        >>> from sottovoce.protocols.boxes.hdg import HDG
        >>> person = sv.Record({name: sv.Integers(0, 15) for name in ("age", "income", "rooms")})
        >>> protocol = HDG(person, epsilon=2, participants=30000)
        >>> people = [{"age": 3, "income": 2, "rooms": 1}, {"age": 12, "income": 14, "rooms": 9}] * 15000
        >>> estimate = sv.simulate(protocol, people, seed=1)["boxes"].decoded("fitted")
        >>> estimate.range(age=(0, 7), income=(0, 7), rooms=(0, 7)).values.round(1)
        array([0.5])

    See also:
        `HIO` and `AHEAD` for few fields.
    """

    evidence_of = staticmethod(pair_boxes)
    record: Record
    epsilon: Any
    participants: int
    lines: bool = True
    parts: tuple[int, int] | None = None
    oracle: str = "oue"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        check_people("participants", OWNER, self.participants)
        check_oracle(OWNER, self.oracle)
        fields = getattr(self.record, "fields", ())
        if len(fields) < 2 or len(fields) + comb(len(fields), 2) > MOST_ARMS:
            raise ParameterError(f"HDG needs a record of 2 to 44 fields. Got {len(fields)}.")
        if self.parts is not None:
            object.__setattr__(self, "parts", tuple(self.parts))
            if len(self.parts) != 2 or not all(
                type(one) is int and 2 <= one <= MOST_PARTS for one in (self.parts or ())
            ):
                raise reject("parts", OWNER, f"two whole numbers from 2 to {MOST_PARTS}", self.parts)
        self.base  # noqa: B018 - refuses other domains

    @property
    def granularity(self) -> tuple[int, int]:
        """The number of parts of a field by itself and in a pair, powers of two."""
        if self.parts is not None:
            return self.parts
        count, e = len(self.record.fields), exp(float(self.epsilon))
        groups = comb(count, 2) + (count if self.lines else 0)
        each = self.participants / groups
        pair = (2 * OF_PAIRS * (e - 1) * (each / e) ** 0.5) ** 0.5
        line = (each * (e - 1) ** 2 * OF_LINES**2 / (2 * e)) ** (1 / 3)
        in_pair = _power_of_two(pair)
        return (max(_power_of_two(line), in_pair) if self.lines else in_pair), in_pair

    @property
    def question(self) -> Boxes:
        return Boxes(self.record)

    @property
    def base(self) -> Select:
        """The cells of each field by itself, as a view of all of them."""
        record = Record(
            {
                name: grid_of(OWNER, Record({name: field}), self.granularity[0], MOST_PARTS)[1].parts[0][1]
                for name, field in self.record.fields
            }
        )
        return Select(record, record.labels())

    def effort(self) -> int:
        return ARM_EFFORT * (len(self.record.fields) + comb(len(self.record.fields), 2))

    def start(self) -> Round:
        base, in_pair = self.base, self.granularity[1]
        fields: dict[str, Domain] = dict(base.parts)
        grids = [{name: field} for name, field in fields.items()] if self.lines else []
        grids += [{name: coarse(fields[name], in_pair) for name in pair} for pair in combinations(fields, 2)]
        return Round(
            tuple(
                Arm(
                    " x ".join(grid),
                    part_mechanism(self.question, part_view(base, grid), self.epsilon, self.oracle),
                )
                for grid in grids
            )
        )


def _power_of_two(number: float) -> int:
    """The nearest power of two, at least 2; below the middle of two of them the smaller one."""
    low = 2
    while 2 * low <= number:
        low *= 2
    return 2 * low if number - low > low / 2 and number > 2 else min(low, MOST_PARTS)
