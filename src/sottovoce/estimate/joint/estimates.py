"""Estimates of contingency tables: one table, shares within groups, and measures of association."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.estimate.decoders.latent_classes import LatentClassesDecoder
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.joint import association
from sottovoce.estimate.joint.association import Association, Ratio
from sottovoce.estimate.joint.fitted import JointFit
from sottovoce.estimate.joint.latent import BucketClasses
from sottovoce.estimate.request import Target, check_level

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.joint.evidence import JointEvidence


class JointEstimate(Estimate):
    """The cells of several tables. `table` gives one of them, or any table that is part of them."""

    __slots__ = ()

    def table(self, *names: str) -> TableEstimate:
        """The contingency table of these attributes, from all reports that hold any of them.

        After `consistent()` the values are those of the fit; the intervals stay those of the unbiased shares.
        """
        unbiased = self._of(cast("JointEvidence", self.evidence).table(names))
        if isinstance(self.fit, JointFit):
            values = self.fit.model.table(names).ravel()
            unbiased = replace(unbiased, values=values, decoder=self.decoder, fit=self.fit)
        return cast(TableEstimate, unbiased)

    def consistent(self, *, classes: int | None = None, seed: int = 0) -> JointEstimate:
        """One joint distribution of all attributes: tables that agree with each other, without negative shares.

        It is a fit with latent classes: more accurate on average than the unbiased shares, but biased. Its values have
        no intervals of their own; those of the unbiased shares are shown.
        """
        return cast(JointEstimate, self.decoded(LatentClassesDecoder(classes, seed)))

    def synthesize(self, count: int, *, seed: int | None = None) -> pd.DataFrame:
        """Records drawn from the fit of `consistent()`, with the answers of every attribute.

        They are computed from the estimate, so that they reveal no more than it. They show associations only as well as
        the fit does; do not compute intervals from them. A number that was asked through a wave is a number inside its
        bucket, any other one the label of its bin.
        """
        import pandas as pd

        if not isinstance(self.fit, JointFit):
            raise ParameterError("Records are drawn from a fit: use consistent().synthesize(count).")
        check_integer("count", "synthesize", count, 1, 1 << 26)
        model, generator = self.fit.model, np.random.default_rng(seed)
        if isinstance(model, BucketClasses):
            drawn, numbers = model.synthesize(count, generator)
        else:
            drawn, numbers = model.draw(count, generator), {}
        fields = dict(cast("JointEvidence", self.evidence).asked.domain.fields)
        labels = {name: np.array(list(fields[name].labels()), object) for name in drawn}
        return pd.DataFrame({name: numbers.get(name, labels[name][codes]) for name, codes in drawn.items()})


class TableEstimate(Estimate):
    """One contingency table: a share of all participants in each cell."""

    __slots__ = ()
    _cells = delegated("evidence")

    def shares_within(self, *given: str) -> Estimate:
        """The shares within each group of people with the same answers to `given`: row or column shares.

        Values and intervals lie in [0, 1]; a group that may be empty has the interval from 0 to 1.
        """
        return self._of(self._cells.within(given))

    def relative_risk(
        self, outcome: Any, group: Any, other: Any, *, level: float = 0.95, target: str = "population"
    ) -> Ratio:
        """The share of an outcome in one group over that in another, with an interval.

        The groups are answers to the first attribute of a table of two, the outcome is an answer to the second.
        """
        check_level(level)
        return association.relative_risk(self._cells, outcome, group, other, level, Target.of(target))

    def odds_ratio(
        self,
        outcome: Any,
        group: Any,
        other: Any,
        *,
        against: Any = None,
        level: float = 0.95,
        target: str = "population",
    ) -> Ratio:
        """The odds of an outcome in one group over those in another, with an interval.

        `against` is the answer that the outcome is compared with; by default all other answers together.
        """
        check_level(level)
        return association.odds_ratio(self._cells, outcome, group, other, against, level, Target.of(target))

    def cramers_v(self, *, level: float = 0.95) -> Association:
        """How strongly the two attributes of a table depend on each other, from 0 to 1, with an interval and a test."""
        check_level(level)
        return association.cramers_v(self._cells, level)
