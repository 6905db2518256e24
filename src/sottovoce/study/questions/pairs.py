"""Questions whose answer is a group and a value: their columns in a file, and differences between groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.errors import SottovoceError
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.questions.result_lines import ResultLine

if TYPE_CHECKING:
    from collections.abc import Collection

SEPARATOR = "/"  # between the name of a question and "by", for the column of the groups
LESS = " less "  # between the two sides of a difference


class PairColumns:
    """Two columns: the values under the name of the question, and the groups under NAME/by."""

    __slots__ = ()
    if TYPE_CHECKING:
        asked: Asked

    @property
    def columns(self) -> list[str]:
        """The names of the columns in a file of answers."""
        return [self.asked.name, f"{self.asked.name}{SEPARATOR}by"]

    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """Pairs of a group and a value, or reasons for giving none."""
        missing = self.asked.missing

        def pair(group: Any, value: Any) -> Any:
            if missing and (is_empty(group) or is_empty(value)):
                return missing[0]
            return value if isinstance(value, str) and value in missing else (group, value)

        values, groups = cells(self.asked.key), cells(f"{self.asked.key}{SEPARATOR}by")
        return [pair(group, value) for group, value in zip(groups, values, strict=True)]


def difference_lines(
    estimate: Estimate | None, level: float, noun: str, skip: Collection[str] = ()
) -> list[ResultLine]:
    """Every two groups compared: simultaneous intervals and adjusted p-values; none where there are too many pairs."""
    if estimate is None:
        return []
    try:
        pairs = estimate.all_pairs(level)
        low, high = pairs.ci()
    except SottovoceError:
        return []
    numbers = zip(pairs.values, pairs.std_errors, low, high, pairs.adjusted, strict=True)
    return [
        ResultLine(f"{noun} difference", f"{group}{LESS}{other}", value, error, least, most, p_value=p_value)
        for group, other, row in zip(pairs.groups, pairs.others, numbers, strict=True)
        for value, error, least, most, p_value in [map(float, row)]
        if not {str(group), str(other)} & {*skip}
    ]
