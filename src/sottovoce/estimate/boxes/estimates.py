"""Estimates over several fields: the shares of boxes, of their unions and of their complements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.estimate import Estimate

if TYPE_CHECKING:
    from sottovoce.estimate.boxes.base import GridEvidence


class BoxesEstimate(Estimate):
    """The shares of the cells of a grid. `range` gives the share of any box, with an interval."""

    __slots__ = ()

    def range(self, *boxes: Mapping[str, Any], **limits: Any) -> Estimate:
        """Estimate the share of the answers in a box, or in at least one of several boxes.

        After a decoder the values are those of the decoder; the intervals stay those of the unbiased shares. Where a
        limit lies inside a cell, the interval allows for any place of the answers inside that cell.

        Args:
            *boxes: Several boxes as mappings from fields to limits, for the share of their union.
            **limits: One box: for each field its first and last value, both included, or a single value. Fields that
                are left out are not limited.

        Returns:
            An estimate with one value.
        """
        return self._share(boxes, limits, outside=False)

    def outside(self, *boxes: Mapping[str, Any], **limits: Any) -> Estimate:
        """Estimate the share of the answers that lie in none of the boxes.

        Args:
            *boxes: Several boxes, as in `range`.
            **limits: One box, as in `range`.

        Returns:
            An estimate with one value.
        """
        return self._share(boxes, limits, outside=True)

    def _share(self, boxes: tuple[Mapping[str, Any], ...], limits: Mapping[str, Any], *, outside: bool) -> Estimate:
        if bool(boxes) == bool(limits) or not all(isinstance(box, Mapping) for box in boxes):
            raise ParameterError(
                "Give one box by the names of its fields, such as range(age=(30, 39)), or several as mappings, such as"
                " range({'age': (30, 39)}, {'age': (60, 69)})."
            )
        answer = cast("GridEvidence", self.evidence).boxes(boxes or (limits,), outside=outside)
        unbiased = self._of(answer)
        if not self.decoder.moves:
            return unbiased
        return replace(unbiased, values=answer.read(self.values), decoder=self.decoder, fit=self.fit)
