"""Which blocks of yes/no attributes participants report: shares of kinds of blocks with the least total variance.

All tables of `ways` of m attributes are wanted, and all blocks of a kind are equally likely. A report about a block of
2**b values keeps lambda = (e**eps - 1) / (e**eps + 2**b - 1) of each parity, so that it gives lambda**2 of information
to each parity in its span. All sets of r attributes have the same information, hence there is one term for each r in
the total variance, which is convex in the shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from sottovoce.core.channel.compose.parities import MOST_BLOCKS, MOST_DIGITS, digits_of
from sottovoce.estimate.evidence import Floats

MOST_CELLS = 1 << 20  # of a tally
RARE = 0.01  # share of the participants below which a kind of blocks is left out
_STEPS, _CLOSE = 20_000, 1e-9


class BlockKind(NamedTuple):
    """Blocks of `size` attributes, of which a report tells the cells, the even parities or one parity."""

    form: str
    size: int

    @property
    def digits(self) -> int:
        """Bits of a report."""
        return digits_of(self.form, self.size)

    def told(self, size: int) -> int:
        """How many sets of this size a report tells about."""
        if self.form == "parity":
            return int(size == self.size)
        return comb(self.size, size) if self.form == "cells" or size % 2 == 0 else 0


@dataclass(frozen=True, slots=True)
class ParityWorkload:
    """All tables of `ways` of `attributes` yes/no attributes."""

    attributes: int
    ways: int

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return comb(self.attributes, self.ways)

    @property
    def _costs(self) -> Floats:
        """For sets of each size, their number times the number of tables that hold one, over the cells of a table."""
        m, k = self.attributes, self.ways
        return np.array([comb(m, r) * comb(m - r, k - r) for r in range(1, k + 1)]) / 2.0**k

    @property
    def spread(self) -> float:
        """The spread of the answers themselves, at equal shares, summed over all tables."""
        return self.tables * (1 - 0.5**self.ways)

    def lower_bound(self, epsilon: float) -> float:
        """No channel has a smaller total variance of the noise from one report, at equal shares."""
        odds, m = math.exp(epsilon), self.attributes
        counts = np.array([comb(m, r) for r in range(1, self.ways + 1)], float)
        return float(np.sqrt(self._costs * counts).sum() ** 2 / ((odds - 1) ** 2 / (4 * odds)) - self.spread)

    def information(self, kind: BlockKind, epsilon: float) -> Floats:
        """What one report gives on average to the parity of a set of each size."""
        odds = math.exp(epsilon)
        kept = (odds - 1) / (odds + 2**kind.digits - 1)
        sizes = range(1, self.ways + 1)
        return np.array([kept**2 * kind.told(r) / comb(self.attributes, r) for r in sizes])

    def variance(self, kinds: Sequence[BlockKind], shares: Sequence[float], epsilon: float) -> float:
        """The total variance of the noise of one report over all cells of all tables, at equal shares."""
        information_by_kind = np.array([self.information(kind, epsilon) for kind in kinds])
        with np.errstate(divide="ignore"):
            return float((self._costs / (np.asarray(shares) @ information_by_kind)).sum() - self.spread)

    def kinds(self) -> list[BlockKind]:
        """All kinds of blocks that are not too many to be counted apart."""
        sized = range(1, self.attributes + 1)
        every = [BlockKind(form, size) for form in ("cells", "even", "parity") for size in sized]
        return [kind for kind in every if self._is_used(kind)]

    def _is_used(self, kind: BlockKind) -> bool:
        least, blocks = (
            2 if kind.form == "parity" else 3 if kind.form == "even" else 1,
            comb(self.attributes, kind.size),
        )
        most = self.ways if kind.form == "parity" else MOST_DIGITS
        fits = blocks <= MOST_BLOCKS and blocks << kind.digits <= MOST_CELLS
        return least <= kind.size <= most and kind.digits <= MOST_DIGITS and fits

    def best(self, epsilon: float) -> dict[BlockKind, float]:
        """Kinds of blocks with their shares of the participants, by multiplicative steps; rare ones are left out."""
        shares = self._shares(self.kinds(), epsilon)
        return self._shares([kind for kind, share in shares.items() if share > RARE], epsilon)

    def _shares(self, kinds: Sequence[BlockKind], epsilon: float) -> dict[BlockKind, float]:
        information_by_kind = np.array([self.information(kind, epsilon) for kind in kinds])
        shares = np.full(len(kinds), 1 / len(kinds))
        for _ in range(_STEPS):
            slopes = information_by_kind @ (self._costs / (shares @ information_by_kind) ** 2)
            mean = float(shares @ slopes)
            if slopes.max() <= mean * (1 + _CLOSE):
                break
            shares = shares * np.sqrt(slopes)
            shares /= shares.sum()
        return dict(zip(kinds, shares.tolist(), strict=True))
