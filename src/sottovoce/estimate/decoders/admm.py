"""HH-ADMM: the nearest shares to the estimates of all levels of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.distribution.hierarchy import HierarchyEvidence
from sottovoce.estimate.distribution.nearest import nearest_shares
from sottovoce.estimate.distribution.tree import Tree
from sottovoce.estimate.evidence import Evidence, Offer


@dataclass(frozen=True, slots=True)
class AdmmDecoder(Decoder):
    """Shares that are consistent on all levels, sum to one and are not negative, by alternating directions.

    Levels are weighted by the information of their reports; `weighted=False` gives all the same weight, as in Li, Wang,
    Lopuhaä-Zwakenberg, Skoric, Li, "Estimating numerical distributions under local differential privacy", SIGMOD 2020.
    The gap is that of the normal log-likelihood per report.
    """

    name: ClassVar[str] = "admm"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LEVELS})
    weighted: bool = True
    tolerance: float = 1e-10
    steps: int = 5000

    def decode(self, evidence: Evidence) -> Decoded:
        if not isinstance(evidence, HierarchyEvidence):
            raise TypeError("Levels are those of evidence about a hierarchy.")
        branches = evidence.branches
        # A level that nobody answered about says nothing; least squares needs some weight for the leaves.
        weights = [max(weight, 1e-9) if self.weighted else 1.0 for weight in evidence.level_weights()]
        tree = Tree(branches[0].sets.codes, tuple(one.sets.width for one in branches), tuple(weights))
        found = nearest_shares(tree, evidence.levels(), tolerance=self.tolerance, steps=self.steps)
        return Decoded(found.shares, Fit(found.steps, found.gap))
