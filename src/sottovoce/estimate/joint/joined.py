"""Tables from reports that hold something about every attribute of a person, each randomized by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import POOR_BELOW, Flags, Floats, Ints
from sottovoce.estimate.joint.residuals import Names, Reported, TableSource, centred, parts
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class JoinedTables(TableSource):
    """How often each combination of reports was sent, and the law of each attribute's report: one row for a code."""

    sizes: dict[str, int]
    names: Names
    laws: tuple[Floats, ...]
    counts: NDArray[Any]  # one axis for each attribute

    @classmethod
    def of(cls, mechanism: Mechanism, cells: Ints) -> JoinedTables:
        """The tables of a tally."""
        question: Any = mechanism.question
        laws = []
        for part in mechanism.channel.parts:
            reports = range(outputs_of(part) or 0)
            laws.append(np.array([[float(part.likelihood(y, x)) for y in reports] for x in range(part.inputs)]))
        shape = [law.shape[1] for law in laws]
        return cls(question.sizes, tuple(question.sizes), tuple(laws), np.asarray(cells).reshape(shape))

    @property
    def n(self) -> int:
        return round(float(self.counts.sum()))

    @cached_property
    def readers(self) -> tuple[Floats, ...]:
        """For each attribute the linear unbiased estimator of its shares with the least variance at equal shares."""
        estimators = []
        for law in self.laws:
            weighted = law / np.maximum(law.mean(axis=0), 1e-300)
            estimators.append(np.linalg.solve(weighted @ law.T, weighted))
        return tuple(estimators)

    def seen(self, names: Sequence[str]) -> Floats:
        """The counts of the reports about some attributes, in the order of the record."""
        away = tuple(i for i, name in enumerate(self.names) if name not in names)
        return np.asarray(self.counts.sum(axis=away), float)

    def precision(self, block: Names) -> float:
        """The number of reports over the variance of a contrast of one report, times the number of cells."""
        if not {*block} <= {*self.names} or not self.n:
            return 0.0
        spread = 1.0
        for name in block:
            place = self.names.index(name)
            centre = self.readers[place] - self.readers[place].mean(axis=0)
            spread *= float((centre**2 @ self.laws[place].mean(axis=0)).sum()) / (self.sizes[name] - 1)
        return float(self.n / (spread * self.cells(block)))

    def blocks(self) -> list[Reported]:
        return [
            Reported(block, centred(self.values(block)), self.precision(block) * self.cells(block))
            for block in parts(tuple(self.sizes))
            if len(block) <= 2
        ]

    def values(self, names: Names) -> Floats:
        self.check(names)
        return self._read(names, [self.readers[self.names.index(name)] for name in names])

    def _read(self, names: Names, readers: Sequence[Floats]) -> Floats:
        table = self.seen(names) / max(self.n, 1)
        for axis, reader in enumerate(readers):
            table = np.moveaxis(np.tensordot(reader, table, (1, axis)), 0, axis)
        return np.asarray(table)

    def variances(self, names: Names, target: Target = Target.POPULATION) -> Floats:
        squares = self._read(names, [self.readers[self.names.index(name)] ** 2 for name in names])
        shares = self.values(names)
        total = (squares - shares**2) / self.n
        if target == Target.SAMPLE:
            inside = np.clip(shares, 0, 1)
            total = total - inside * (1 - inside) / self.n
        return np.maximum(total, 0)

    def covariance(self, functionals: Sequence[tuple[Names, Floats]], target: Target = Target.POPULATION) -> Floats:
        if len(functionals) > 1:
            self.refuse_sample(target)
        count = len(functionals[0][1])
        used = self.ordered({name for names, _ in functionals for name in names})
        scores = np.zeros((count, *(self.laws[self.names.index(name)].shape[1] for name in used)))
        for names, rows in functionals:
            self.check(names)
            own = rows
            for axis, name in enumerate(names, 1):
                own = np.moveaxis(np.tensordot(own, self.readers[self.names.index(name)], (axis, 0)), -1, axis)
            widths = dict(zip(names, own.shape[1:], strict=True))
            scores = scores + own.reshape(count, *(widths.get(name, 1) for name in used))
        shares, flat = self.seen(used).ravel() / self.n, scores.reshape(count, -1)
        means = flat @ shares
        total = ((flat * shares) @ flat.T - np.outer(means, means)) / self.n
        if target == Target.SAMPLE:
            ((names, rows),) = functionals
            total = total - self.spread_of_answers(names, rows.reshape(count, -1))
        return np.asarray(total)

    def joined(self, others: Sequence[TableSource]) -> TableSource | None:
        counts = [
            other.counts
            for other in others
            if isinstance(other, JoinedTables)
            and len(other.laws) == len(self.laws)
            and all(np.array_equal(one, two) for one, two in zip(self.laws, other.laws, strict=True))
        ]
        return None if len(counts) < len(others) else replace(self, counts=self.counts + sum(counts))

    def few(self, names: Names) -> Flags:
        """All cells, where too few reports are expected of each combination."""
        return np.full([self.sizes[name] for name in names], self.n < POOR_BELOW * self.cells(names))

    def likeliest(self, names: Names, tolerance: float, most: int) -> tuple[Floats, int]:
        """The table with the largest likelihood, by expectation maximization from equal shares, and the steps."""
        laws = [self.laws[self.names.index(name)] for name in names]
        seen = self.seen(names) / max(self.n, 1)
        table = np.full([len(law) for law in laws], 1 / self.cells(names))
        for step in range(1, most + 1):
            expected = table
            for axis, law in enumerate(laws):
                expected = np.moveaxis(np.tensordot(law, expected, (0, axis)), 0, axis)
            gain = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
            for axis, law in enumerate(laws):
                gain = np.moveaxis(np.tensordot(law, gain, (1, axis)), 0, axis)
            moved = table * gain
            change, table = float(np.abs(moved - table).max()), moved
            if change < tolerance:
                return table, step
        return table, most
