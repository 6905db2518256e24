"""Items in cells: a mask over few cells in which a public hash puts the items, for lists of any length."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Hitting, Spread
from sottovoce.core.channel.finite.hitting import hit_units
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.items import CountItems
from sottovoce.mechanisms.sets.mask import best_size, checked_sets, least_variance

MOST_CELLS = 1 << 14
WASTED = 1.01  # of the variance of ever more cells, which fewer cells may cost


def build(domain: Domain, *, epsilon: Any, cells: int | None = None) -> Mechanism:
    """A mask of cells: each item lies in one of g cells, chosen by the report's id.

    Law: m fillers join the d items, and a person who holds fewer than m items also holds the first fillers. Each of
        these elements lies in one of g cells by a public hash. The report is that of `mask` about the cells of the m
        elements held, with the probabilities P and q of a cell that is held and of one that is not.
    Privacy: e**epsilon, that of `mask`, whatever the hash does.
    Estimator: (count / n - r) / (P - r), where count is the number of reports with the item's cell, and r = c P +
        (1 - c) q with c = 1 - (1 - 1/g)**m, since the cell of an item that is not held may be that of one held.
    Cost: g + m bits for any number of items, or an index. By default g is the smallest power of two, times 1 or 3/2,
        whose variance of a rare item is within 1 % of that of twice as many cells; it grows with m, and not with d.
    Reference: this work. The wheel mechanism puts items on a circle instead: Wang, Qian, Du, Hu, Wang, Chen,
        "Set-valued data publication with local privacy: tight error bounds and efficient mechanisms", VLDB 2020.
    """
    budget = check_epsilon("cells", epsilon)
    sets = checked_sets("cells", domain)
    items, most, ratio = len(sets.labels()), sets.most, odds(budget)
    least = max(2, most)
    count = best_cells(most, ratio) if cells is None else check_integer("cells", "cells", cells, least, MOST_CELLS)
    size = best_size(count, most, ratio, spread=True)
    inner = Hitting(count, most, size, hit_units(count + most, most, size, ratio))
    return Mechanism("cells", SetShares(sets), Spread(items, inner), budget, CountItems())


def best_cells(most: int, ratio: Fraction) -> int:
    """The number of cells from which on more of them hardly help."""
    powers = range(1, MOST_CELLS.bit_length() - 1)
    sizes = [size for power in powers for size in (1 << power, 3 << power - 1) if size >= max(2, most)]
    for size in sizes:
        few, many = (least_variance(cells, most, ratio, spread=True)[0] for cells in (size, 2 * size))
        if few <= WASTED * many:
            return size
    return MOST_CELLS
