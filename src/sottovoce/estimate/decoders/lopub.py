"""LoPub: pairs of attributes by expectation maximization or Lasso, a graph of dependent pairs, and records from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.params import reject
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.evidence import Evidence, Floats, Offer
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.joint.joined import JoinedTables
from sottovoce.estimate.joint.latent import independence
from sottovoce.estimate.joint.models import forest, mutual_information
from sottovoce.estimate.joint.residuals import Names

_TOLERANCE, _STEPS = 1e-5, 2_000
_SWEEPS = 200


@dataclass(frozen=True, slots=True)
class LopubDecoder(Decoder):
    """A joint distribution of all attributes in which only strongly dependent pairs depend on each other.

    Each pair has a table, by expectation maximization or by the Lasso (`method="lasso"`). Two attributes are joined
    where their mutual information is at least (k - 1) `degree`**2 / 2, with k the smaller number of answers. Of these
    pairs the strongest that form no circle are kept, so that a cluster is a tree of pairs; `synthesize` draws records
    from it. Reference: Ren, Yu, Yu, Yang, Yang, McCann, Yu, "LoPub: high-dimensional crowdsourced data publication with
    local differential privacy", IEEE TIFS 2018.
    """

    name: ClassVar[str] = "lopub"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.JOINED_REPORTS})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "fitted"
    method: str = "em"
    degree: float = 0.2

    def __post_init__(self) -> None:
        if self.method not in ("em", "lasso"):
            raise reject("method", self.name, '"em" or "lasso"', self.method)
        if not isinstance(self.degree, float) or not 0 <= self.degree <= 1:
            raise reject("degree", self.name, "a number in [0, 1]", self.degree)

    def solve(self, evidence: Evidence) -> Decoded:
        joint: Any = evidence
        tables: JoinedTables = joint.tables
        singles = {name: self._table(tables, (name,)) for name in tables.sizes}
        strength = {}
        for first, second in combinations(tables.sizes, 2):
            table = self._table(tables, (first, second))
            least = (min(table.shape) - 1) * self.degree**2 / 2
            if (found := mutual_information(table)) >= least:
                strength[first, second] = found, table
        kept = _spanning(tuple(tables.sizes), {pair: found for pair, (found, _) in strength.items()})
        model = forest(tables.sizes, {pair: strength[pair][1] for pair in kept}, singles)
        values = [model.table(names).ravel() for names in joint.asked.tables]
        alone = independence(tables.sizes, tables.blocks())
        said = (
            f"The values are those of {len(kept)} dependent pairs of attributes; intervals are those of the unbiased"
            " shares."
        )
        return Decoded(np.concatenate(values), JointFit(0, 0.0, model, alone, 0.0, said))

    def _table(self, tables: JoinedTables, names: Names) -> Floats:
        if self.method == "em":
            return tables.likeliest(names, _TOLERANCE, _STEPS)[0]
        return lasso(tables, names)


def lasso(tables: JoinedTables, names: Names) -> Floats:
    """Non-negative shares with the least weighted squares of the reports' frequencies, and a penalty for each share.

    The penalty is the largest noise that a share of zero shows by chance, sqrt(2 log K) standard errors, so that most
    cells of a sparse table become zero. Coordinate descent.
    """
    laws = [tables.laws[tables.names.index(name)] for name in names]
    design = laws[0]
    for law in laws[1:]:
        design = (design[:, None, :, None] * law[None, :, None, :]).reshape(len(design) * len(law), -1)
    seen = tables.seen(names).ravel() / max(tables.n, 1)
    weights = 1 / np.maximum(design.mean(axis=0), 1e-300)
    gram, target = (design * weights) @ design.T, (design * weights) @ seen
    inverse = np.diag(np.linalg.pinv(gram))
    penalty = np.sqrt(2 * np.log(len(design)) / max(tables.n, 1)) / np.sqrt(np.maximum(inverse, 1e-300))
    shares = np.full(len(design), 1 / len(design))
    for _ in range(_SWEEPS):
        before = shares.copy()
        for cell in range(len(shares)):
            rest = target[cell] - gram[cell] @ shares + gram[cell, cell] * shares[cell]
            shares[cell] = max(0.0, rest - penalty[cell]) / gram[cell, cell]
        if np.abs(shares - before).max() < 1e-9:
            break
    total = shares.sum()
    shares = shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
    return np.asarray(shares.reshape([len(law) for law in laws]))


def _spanning(names: Names, strength: dict[tuple[str, str], float]) -> list[tuple[str, str]]:
    """The strongest pairs that form no circle."""
    group = {name: name for name in names}
    kept = []
    for first, second in sorted(strength, key=lambda pair: -strength[pair]):
        if group[first] != group[second]:
            kept.append((first, second))
            old = group[second]
            group = {name: group[first] if own == old else own for name, own in group.items()}
    return kept
