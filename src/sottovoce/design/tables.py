"""Which view each participant answers: shares of the views with the least total variance of all wanted tables.

A view is a set of attributes whose cell goes through a near-optimal oracle. Reports about view V give each contrast of
every block A inside V the information a_V, so the total variance of all cells of all wanted tables is
sum over A of g_A D_A / sum over V that hold A of share_V a_V, with D_A = product of (k - 1) over the attributes of A
and g_A = sum over the wanted tables M that hold A of 1 / K_M. It is convex in the shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint.residuals import Names, parts

WHOLE = 100_000  # the weights of all views together, before each is at least one
_STEPS, _CLOSE = 20_000, 1e-7
_WORK = 2_000_000_000  # products of all steps: a stranger's specification must not take long


@dataclass(frozen=True)
class TableWorkload:
    """Wanted tables of attributes with so many answers each."""

    sizes: Mapping[str, int]
    tables: Sequence[Names]

    def cells(self, names: Names) -> int:
        """How many cells a table has."""
        return prod(self.sizes[name] for name in names)

    @cached_property
    def blocks(self) -> dict[Names, tuple[float, int]]:
        """Every block of the wanted tables with g_A and D_A."""
        blocks: dict[Names, tuple[float, int]] = {}
        for names in self.tables:
            for block in parts(names):
                before, contrasts = blocks.get(block, (0.0, prod(self.sizes[name] - 1 for name in block)))
                blocks[block] = before + 1 / self.cells(names), contrasts
        return blocks

    @cached_property
    def spread(self) -> float:
        """The spread of the answers themselves, at equal shares, summed over all tables."""
        return sum(1 - 1 / self.cells(names) for names in self.tables)

    def lower_bound(self, epsilon: float) -> float:
        """No channel has a smaller total variance of the noise from one report, at equal shares.

        The information of a report about all contrasts together is at most (e**eps - 1)**2 / (4 e**eps). Divided among
        the blocks in proportion to sqrt(g_A) it gives (sum of D_A sqrt(g_A))**2 over that, less the answers' spread.
        """
        odds = math.exp(epsilon)
        most = (odds - 1) ** 2 / (4 * odds)
        return sum(contrasts * math.sqrt(gain) for gain, contrasts in self.blocks.values()) ** 2 / most - self.spread

    def information(self, views: Mapping[Names, float], spreads: Mapping[Names, float]) -> dict[Names, float]:
        """The average information of one report about each contrast of a block, for shares of views.

        `spreads` is 1 / a_V of each view.
        """
        information: dict[Names, float] = dict.fromkeys(self.blocks, 0.0)
        for names, share in views.items():
            for block in parts(names):
                if block in information:
                    information[block] += share / spreads[names]
        return information

    def variance(self, views: Mapping[Names, float], spreads: Mapping[Names, float]) -> float:
        """The total variance of the noise of one report for shares of views; `spreads` is 1 / a_V of each view."""
        information = self.information(views, spreads)
        return sum(g * d / information[block] for block, (g, d) in self.blocks.items()) - self.spread

    def shares(self, spreads: Mapping[Names, float]) -> dict[Names, float]:
        """The shares of the views with the least total variance, by multiplicative steps.

        A step multiplies each share by the root of its derivative; the total falls until all derivatives of used views
        are equal (Kuhn and Tucker). The gap to the optimum is known: the largest derivative less the mean one.
        """
        views, blocks = list(spreads), list(self.blocks)
        place = {block: i for i, block in enumerate(blocks)}
        information = np.zeros((len(blocks), len(views)))
        for column, names in enumerate(views):
            for block in parts(names):
                if block in place:
                    information[place[block], column] = 1 / spreads[names]
        cost: Floats = np.array([g * d for g, d in self.blocks.values()])
        shares = np.full(len(views), 1 / len(views))
        for _ in range(min(_STEPS, _WORK // information.size)):
            slopes = information.T @ (cost / (information @ shares) ** 2)
            mean = float(shares @ slopes)
            if slopes.max() <= mean * (1 + _CLOSE):
                break
            shares = shares * np.sqrt(slopes)
            shares /= shares.sum()
        return dict(zip(views, shares.tolist(), strict=True))


def weights_of(shares: Mapping[Names, float]) -> tuple[int, ...]:
    """Shares as whole weights of arms; every view keeps some participants, since only it holds all its attributes."""
    return tuple(max(1, round(share * WHOLE)) for share in shares.values())
