"""The search for the sets of a table: which outputs are likelier for which codes?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sottovoce.design.descent import Cost, best_share, descend
from sottovoce.design.projection import project_columns
from sottovoce.estimate.distribution.queries import Floats

QUICK, STEPS = 100, 400
SEEDS = (0, 1)
ROUGHNESS = 3.0
BLUR = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Matrices of `outputs` rows whose columns sum to `size`. If `mirrored`, `t` holds half of the rows.

    The other half are their mirror images; then codes c and n - 1 - c share the sum.
    """

    price: Cost
    outputs: int
    size: int
    mirrored: bool

    @property
    def weight(self) -> float:
        return 1 / (self.outputs + (self.price.odds - 1) * self.size)

    def project(self, t: Floats) -> Floats:
        entries = self._whole(t)
        project_columns(entries, float(self.size))
        return entries[: len(t)]

    def _whole(self, t: Floats) -> Floats:
        return np.concatenate([t, t[:, ::-1]]) if self.mirrored else t.copy()

    def cost(self, t: Floats) -> tuple[float, Floats]:
        return self.price(t, self.weight, mirrored=self.mirrored)

    @property
    def shape(self) -> tuple[int, int]:
        return self.outputs // (1 + self.mirrored), self.price.wanted.bins

    def walks(self, seed: int) -> Floats:
        """Rows like random walks: neighbouring codes begin alike. Best for small budgets."""
        walks = np.cumsum(np.random.default_rng(seed).normal(size=self.shape), axis=1)
        walks -= walks.mean(axis=1)[:, None]
        return np.asarray(self.size / self.outputs * (1 + ROUGHNESS * walks / np.sqrt(self.shape[1])))

    def windows(self, seed: int) -> Floats:
        """Rows like square waves around random codes. Best for large budgets."""
        (rows, codes), rng = self.shape, np.random.default_rng(seed)
        away = np.abs(np.arange(codes) + 0.5 - codes * rng.random((rows, 1)))
        return np.asarray((away < self.size / self.outputs * codes / 2) + BLUR * rng.normal(size=self.shape), float)

    def bits(self, t: Floats) -> Floats:
        """The `size` largest entries of each column; in the middle column, half of them in each half."""
        entries = self._whole(t)
        marks = np.zeros_like(entries)
        codes = entries.shape[1]
        for code in range((codes + 1) // 2 if self.mirrored else codes):
            middle = self.mirrored and 2 * code == codes - 1
            column, size = (entries[: len(t), code], self.size // 2) if middle else (entries[:, code], self.size)
            chosen = np.argsort(-column.round(9), kind="stable")[:size]
            marks[chosen, code] = 1
            if self.mirrored:
                marks[(chosen + len(t)) % self.outputs, codes - 1 - code] = 1
        return marks


def listed_bits(price: Cost, outputs: int, *, mirrored: bool) -> Floats:
    """The bits of a table that a descent from several starts finds best, one row for each output."""

    def table(share: float) -> _Table:
        size = 2 * round(share * outputs / 2) if mirrored else round(share * outputs)
        return _Table(price, outputs, min(max(size, 1 + mirrored), outputs - 1 - mirrored), mirrored)

    def quick(share: float) -> float:
        search = table(share)
        return descend(search, search.walks(0), QUICK)[1]

    search = table(best_share(max(1 / (price.odds + 1), 1 / price.wanted.bins), quick))
    starts = [start(seed) for start in (search.walks, search.windows) for seed in SEEDS]
    candidates = [search.bits(descend(search, start, STEPS)[0]) for start in starts]
    return min(candidates, key=lambda bits: price.value(bits, search.weight))
