"""Plans for contingency tables: views and parity blocks with optimal shares, beside the lower bound of all methods."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.params import reject
from sottovoce.core.question import Joint
from sottovoce.design.tables import TableWorkload
from sottovoce.estimate.request import Target
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.published import PUBLISHED
from sottovoce.protocols.shares.tables import TableDesign, TableViews
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays

VIEWS, WIDER, PARITY = "table-views", "wider-table-views", "parity-blocks"
GAIN = 0.98  # of the variance that wider views must not exceed


@dataclass(frozen=True, slots=True)
class JointPlanner(Planner):
    """Errors are exact at equal shares of all cells, where they are largest on average."""

    measure: ClassVar[str] = "the share of a cell, root mean square over all cells of all tables"

    question: Joint
    methods: tuple[str, ...]
    target: Target

    @property
    def _cells(self) -> int:
        sizes = self.question.sizes
        return sum(math.prod(sizes[name] for name in names) for names in self.question.tables)

    @property
    def subject(self) -> str:
        count = len(self.question.tables)
        return f"{self._cells} cells of {count} table{'s' * (count > 1)}"

    def _error(self, noise: float, epsilon: Decimal) -> float:
        """The standard error of one cell from one report; for the population with the spread of the answers."""
        spread = TableWorkload(self.question.sizes, self.question.tables).spread
        return math.sqrt((noise + (spread if self.target == Target.POPULATION else 0.0)) / self._cells)

    def ways(self, epsilon: Decimal) -> RootWays:
        designs = {name: design for name in self.methods if (design := self._design(name, epsilon)) is not None}
        noise = {name: design.variance() for name, design in designs.items()}
        if WIDER in designs and VIEWS in designs and noise[WIDER] > GAIN * noise[VIEWS]:
            del designs[WIDER]  # longer reports must be worth it
        if not designs:
            raise ParameterError(f"The methods {', '.join(self.methods)} do not fit the tables: name other methods.")
        options = [self._option(name, designs[name], noise[name]) for name in designs]
        options.sort(key=lambda option: option.std_error)
        return RootWays(tuple(options), options[0].std_error)

    def _design(self, name: str, epsilon: Decimal) -> TableDesign | None:
        """The design of a method, or None where it does not fit the tables."""
        record, tables = self.question.domain, self.question.tables
        try:
            if name in (VIEWS, WIDER):
                return (TableViews if name == VIEWS else TableViews.wider)(record, tables, epsilon)
            if name == PARITY:
                ways = len(tables[0])
                return ParityBlocks(record, ways, epsilon) if Joint(record, ways) == self.question else None
            return PUBLISHED[name](self.question, epsilon)
        except ParameterError:
            return None

    def _option(self, name: str, design: TableDesign, noise: float) -> Option:
        arms = design.start().arms
        width = max(codec.payload_bytes(arm.mechanism.channel) for arm in arms)
        ratio = noise / design.lower_bound()
        bound = self._error(design.lower_bound(), design.epsilon)
        reason = (
            f"{ratio:.3f} times the smallest noise variance that any one-round method can have, which is a standard"
            f" error of {bound:.3g} from one report."
        )
        kinds = "views" if isinstance(design, TableViews) else "kinds of blocks"
        return Option(f"{name} ({len(arms)} {kinds})", design, self._error(noise, design.epsilon), width, reason)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        bound = TableWorkload(self.question.sizes, self.question.tables).lower_bound(float(epsilon))
        bound = self._error(bound, epsilon) / math.sqrt(participants)
        yield f"No one-round method has a standard error below {bound:.4g} for this measure."


def planner(request: Request) -> JointPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    known = (VIEWS, WIDER, PARITY, *PUBLISHED)
    methods = tuple(request.listed(known)) if request.methods is not None else known[:3]
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for tables", request.prior)
    question: Any = request.question  # `Joint`, whose room this is
    return JointPlanner(question, methods, request.target)
