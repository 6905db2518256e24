"""Views that are made consistent and non-negative in turn, as in CALM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Evidence, Floats, Offer
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.joint.latent import independence
from sottovoce.estimate.joint.models import ViewTables
from sottovoce.estimate.joint.residuals import Names, ResidualTables, parts, placed


@dataclass(frozen=True, slots=True)
class CalmDecoder(Decoder):
    """Post-processing of CALM: common marginal tables of the views are averaged, and negative shares removed, in turn.

    In each round every marginal table that several views share becomes the mean of theirs, weighted by precision, small
    tables first. Then each view is moved to the nearest shares that sum to one. Tables are read from the views that
    hold them; `fit.model.table` gives any other one by maximum entropy. `protocols.shares.published.calm` chooses the
    number and size of the views. Reference: Zhang, Wang, Li, He, Chen, "CALM: Consistent adaptive local marginal for
    marginal release under local differential privacy", CCS 2018.
    """

    name: ClassVar[str] = "calm"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.TABLES})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "fitted"
    rounds: int = 12

    def __post_init__(self) -> None:
        check_integer("rounds", self.name, self.rounds, 1, 10_000)

    def solve(self, evidence: Evidence) -> Decoded:
        joint: Any = evidence
        tables = joint.tables
        if not isinstance(tables, ResidualTables):
            raise ParameterError("The decoder calm needs reports about views: use TableViews.")
        views = tuple(view for view in tables.views if view.n)
        shares, used = [view.shares for view in views], [view.names for view in views]
        weights = np.array([view.precision for view in views])
        for _ in range(self.rounds):
            for block in _shared(used):
                holders = [place for place, names in enumerate(used) if {*block} <= {*names}]
                own = {place: _marginal(shares[place], used[place], block) for place in holders}
                mean = sum(weights[place] * own[place] for place in holders) / weights[holders].sum()
                for place in holders:
                    rest = shares[place].size / own[place].size
                    shares[place] = shares[place] + placed((mean - own[place]) / rest, block, used[place])
            shares = [simplex(one.ravel()).reshape(one.shape) for one in shares]
        model = ViewTables(tables.sizes, tuple(zip(used, shares, weights.tolist(), strict=True)))
        values = [model.table(names).ravel() for names in joint.asked.tables]
        alone = independence(tables.sizes, tables.blocks())
        said = "The values are those of views made consistent (CALM); intervals are those of the unbiased shares."
        return Decoded(np.concatenate(values), JointFit(self.rounds, 0.0, model, alone, 0.0, said))


def _shared(used: list[Names]) -> list[Names]:
    """The sets of attributes that at least two views hold, small ones first."""
    counts: dict[Names, int] = {}
    for names in used:
        for block in parts(names):
            counts[block] = counts.get(block, 0) + 1
    return sorted((block for block, count in counts.items() if count > 1), key=len)


def _marginal(shares: Floats, names: Names, block: Names) -> Floats:
    return np.asarray(shares.sum(tuple(place for place, name in enumerate(names) if name not in block)))
