"""`Cohorts`: a public map that a device draws once and keeps, above the memo of a chain."""

from __future__ import annotations

from typing import ClassVar, cast

from sottovoce.core.channel.base import Channel, Words
from sottovoce.core.channel.compose.maps import AskedMap, NumberedMap
from sottovoce.core.channel.compose.public import Public
from sottovoce.core.channel.compose.stages import Chain
from sottovoce.core.channel.facets import Memoised, need
from sottovoce.core.declared import declared, delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import count_text

MAX_COHORTS = 1 << 10  # also the mean number of ids drawn for one report: some milliseconds


@declared
class Cohorts(Public, Memoised):
    """Public words that stay the same for a device: the number of its map, which is its cohort.

    A device draws its cohort once, uniformly, and then for each report draws ids until one is of this cohort. So an id
    is uniform among those of its cohort, and the collector reads the map from it as from any id. In a single report
    the cohort is as likely as in fresh public words, and the law is that of `Public`.

    All reports of one value are functions of one cohort, of the memo in this cohort, and of fresh coins: together they
    lose what the memo loses. A new cohort in each report would need a memo of its own, and losses would add up.
    """

    kind: ClassVar[str] = "cohorts"
    holds_chain: ClassVar[bool] = True
    cohorts = delegated("map.seeds")
    mapped_in = delegated("map.value")

    def check_fields(self) -> None:
        if not isinstance(self.map, (NumberedMap, AskedMap)) or not isinstance(self.inner, Chain):
            raise ParameterError("Cohorts need numbered maps, and a chain as the inner channel.")
        if self.map.seeds > MAX_COHORTS:
            raise ParameterError(f"There are at most {MAX_COHORTS} cohorts. Got {count_text(self.map.seeds)}.")
        Public.check_fields(self)

    @property
    def stages(self) -> tuple[Channel, Channel]:
        return need(self.inner, Memoised).stages

    @property
    def kept(self) -> Channel:
        return Public(self.map, self.stages[0])

    def cohort(self, public: Words) -> int:
        return cast(NumberedMap, self.map).seed(self._words(public))

    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances with few cohorts and words of two bits: every id is enumerated, each with many outcomes."""
        inners = self.inner.shortened(2) if isinstance(self.inner, Chain) else ()
        smallest = cast(NumberedMap, self.map).smallest
        return tuple(type(self)(small, inner) for inner in inners for small in smallest(inner.inputs))
