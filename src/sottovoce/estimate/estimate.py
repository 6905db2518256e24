"""The one result class: values, standard errors, intervals, where they come from, and how to show them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text, reject
from sottovoce.core.question import Question
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.by_group import NO_DIFFERENCE, ByGroup
from sottovoce.estimate.candidates import Selection
from sottovoce.estimate.decoder import OWN, OWN_LEVELS, Decoder, Fit, as_decoder
from sottovoce.estimate.decoders.linear import LinearDecoder
from sottovoce.estimate.evidence import Bounds, Evidence, Floats, most_excess
from sottovoce.estimate.of_distribution import OfDistribution
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning, Target
from sottovoce.estimate.show.estimate import ShownEstimate
from sottovoce.estimate.show.remarks import outside, reach, remark

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.combine import CombinedData

LINEAR = LinearDecoder()


class EstimateSource(NamedTuple):
    """A mechanism, and the number of its reports."""

    mechanism: Mechanism
    n: int

    def to_dict(self) -> dict[str, Any]:
        """The source in plain data."""
        mechanism = self.mechanism
        return {
            "mechanism": mechanism.name,
            "fingerprint": mechanism.fingerprint,
            "epsilon": mechanism.epsilon,
            "claimed": decimal_text(mechanism.claimed),
            "guarantee": str(mechanism.guarantee),
            "n": self.n,
        }


def sources_of(tallies: Iterable[Any]) -> tuple[EstimateSource, ...]:
    """The sources of tallies; those of the same mechanism are merged, and those without reports left out."""
    merged: dict[str, EstimateSource] = {}
    for tally in tallies:
        key, n = tally.mechanism.fingerprint, tally.n
        if n:
            merged[key] = EstimateSource(tally.mechanism, n + (merged[key].n if key in merged else 0))
    return tuple(merged.values())


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(ByGroup, OfDistribution, ShownEstimate):
    """The estimated answer to a question, with standard errors for the population.

    Attributes:
        question: what was asked.
        values: one number for each of `labels`.
        std_errors: those of the unbiased values, also if a decoder moved them.
        evidence: the readings of the tallies; it has the intervals.
        sources: the mechanisms of all arms and rounds, with the number of reports of each.
        decoder: computed the values from the evidence.
        fit: how an iterative decoder ended.
        notes: sentences about this estimate, such as the decisions of a protocol.
        assumes: what must hold for the values and intervals but cannot be seen in reports; `doubt` says it.
        combined: the tallies that were combined, if there were several.
        selection: how reports selected the values that are shown, if they did.
        simulated: the reports are simulated; words, tables and pictures say so.
    """

    question: Question
    values: Floats
    std_errors: Floats
    evidence: Evidence
    sources: tuple[EstimateSource, ...]
    decoder: Decoder = LINEAR
    fit: Fit | None = None
    notes: tuple[str, ...] = ()
    simulated: bool = field(default=False, kw_only=True)
    missing: str | None = field(default=None, kw_only=True)
    assumes: str | None = field(default=None, kw_only=True)
    combined: CombinedData | None = field(default=None, kw_only=True)
    selection: Selection | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        question: Question,
        evidence: Evidence,
        sources: Sequence[EstimateSource],
        *,
        notes: Sequence[str] = (),
        simulated: bool = False,
    ) -> Estimate:
        """The unbiased estimate from evidence."""
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(evidence.variances(Target.POPULATION))
        return cls(
            question, evidence.values(), errors, evidence, tuple(sources), notes=tuple(notes), simulated=simulated
        )

    # --- what it is --------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """How many reports the values come from."""
        return int(np.sum(self.evidence.n))

    @property
    def value(self) -> float:
        """The estimate of a single number, such as a mean."""
        if len(self.values) != 1:
            raise ParameterError(f"This estimate has {len(self.values)} values, not one: use `values`.")
        return float(self.values[0])

    @property
    def labels(self) -> Sequence[object]:
        """The label of each value."""
        return self.evidence.labels

    @property
    def axes(self) -> Axes:
        """The axes of the values, with their names and labels."""
        return self.evidence.axes

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, if there is only one."""
        if len(self.sources) != 1:
            raise ParameterError(f"This estimate comes from {len(self.sources)} mechanisms: use `sources`.")
        return self.sources[0].mechanism

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of one report."""
        return max(source.mechanism.epsilon for source in self.sources)

    @property
    def quality(self) -> str:
        """The kind of the values, in a word: unbiased, projected, ..."""
        return self.decoder.quality(self.evidence)

    # --- intervals ---------------------------------------------------------------------------------
    def ci(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> Bounds:
        """Confidence intervals, one per value, by one of `evidence.methods`; by default by `default_method`.

        Method "own" is that of a decoder with a law of its own, such as "simplex" and "em", at 90, 95 and 99 %.

        target "population": the value in the population from which participants were drawn; "sample": the value among
        these participants, so that only the privacy noise counts. `simultaneous` makes all intervals
        hold at once (Bonferroni).
        """
        return self._ci(IntervalRequest.of(level, method, target, simultaneous))

    def _ci(self, request: IntervalRequest) -> Bounds:
        """Intervals, with a warning about poor ones at the line that called the caller."""
        if (doubt := self._doubt(request)) is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=3)
        return self._quiet_ci(request)

    def quiet_ci(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> Bounds:
        """The intervals of `ci` without its warning, for callers who show `doubt` themselves.

        Filters of warnings belong to all threads of a process, so that a service cannot catch its own.
        """
        return self._quiet_ci(IntervalRequest.of(level, method, target, simultaneous))

    def _quiet_ci(self, request: IntervalRequest) -> Bounds:
        return self.decoder.interval(self.evidence, self.values, self._single(request))

    def doubt(self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False) -> str | None:
        """Why the intervals of `ci` may miss more often than they promise, or None."""
        return self._doubt(IntervalRequest.of(level, method, Target.POPULATION, simultaneous))

    def _doubt(self, request: IntervalRequest) -> str | None:
        single = self._single(request)
        poor = self.evidence.doubt(single.instead_of(OWN, use="normal"), most_excess(request.level))
        return " ".join(filter(None, (poor, self.assumes))) or None

    def _single(self, request: IntervalRequest) -> IntervalRequest:
        """The request of each interval, with its method and level."""
        chosen = self.default_method if request.method is None else request.method
        known = self.decoder.methods(self.evidence)
        if chosen not in known:
            raise reject("method", "ci", f"one of {', '.join(known)}", request.method)
        if chosen == OWN and request.level not in OWN_LEVELS:
            raise ParameterError(
                f"The own interval of a decoder has one of the levels {', '.join(map(str, OWN_LEVELS))}, at which its"
                f" coverage is measured; the method '{self.default_method}' has any level."
            )
        return request.single(chosen, len(self.values))

    def chosen(self, request: IntervalRequest) -> IntervalRequest:
        """The request with the method that answers it."""
        return request if request.method else replace(request, method=self.default_method)

    @property
    def default_method(self) -> str:
        """The default method of intervals."""
        return self.decoder.default_method(self.evidence)

    def own_errors(self, *, target: str = "population") -> Floats:
        """Standard errors of the decoder itself, before values are moved into the possible range; see method "own"."""
        if not self.decoder.owns:
            raise ParameterError(f"The decoder {self.decoder.name} has no standard errors of its own.")
        covariance = self.decoder.own(self.evidence, Target.of(target)).covariance
        return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0)))

    def covariance(self, *, target: str = "population") -> Floats:
        """The estimated covariance matrix of the unbiased values."""
        return self.evidence.covariance(Target.of(target))

    def _of(self, evidence: Evidence) -> Estimate:
        """The unbiased estimate from other evidence of the same reports."""
        asked = evidence.question or self.question
        unbiased = Estimate.of(asked, evidence, self.sources, notes=self.notes, simulated=self.simulated)
        return replace(unbiased, assumes=self.assumes)

    # --- several estimates ---------------------------------------------------------------------------
    @property
    def heterogeneity(self) -> float:
        """A p-value of the hypothesis that all combined tallies are about the same population (Cochran's Q)."""
        return self.evidence.heterogeneity if self.combined is None else self.combined.heterogeneity()

    def __sub__(self, other: Estimate) -> NoReturn:
        raise ParameterError(NO_DIFFERENCE)

    # --- other values, other questions -------------------------------------------------------------
    def decoded(self, decoder: str | Decoder) -> Estimate:
        """The estimate of another decoder from this evidence."""
        chosen = as_decoder(decoder)
        values, fit = chosen.decode(self.evidence)
        notes = self.notes if fit is None else (*self.notes, *fit.sentences())
        selection = self.selection if fit is None else fit.selection or self.selection
        return replace(self, values=values, decoder=chosen, fit=fit, notes=notes, selection=selection)

    def project(self, name: str) -> Estimate:
        """A new estimate whose values are the unbiased ones projected, by a decoder of this name.

        "simplex" makes them shares that sum to one; "range" moves a mean into the range of the answers.
        """
        chosen = as_decoder(name)
        if not chosen.projects:
            raise ParameterError(
                f"{chosen.name} is not a projection of unbiased values: use the mechanism's"
                f" estimate(tally, decoder={chosen.name!r})."
            )
        return self.decoded(chosen)

    def answer(self, question: Question) -> Estimate:
        """The unbiased estimate of another question from the same reports."""
        evidence = self.evidence if question == self.question else self.evidence.answer(question)
        return replace(self._of(evidence), question=question)

    # --- showing -----------------------------------------------------------------------------------
    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> pd.DataFrame:
        """A table: labels along each axis, estimate, standard error and interval for the target.

        A simulation has one more column. `attrs["remark"]` is `remark`, `attrs["missing"]` is `missing`.
        """
        return self._frame(IntervalRequest.of(level, method, target, simultaneous))

    def _frame(self, request: IntervalRequest) -> pd.DataFrame:
        import pandas as pd

        bounds = self._ci(request)
        numbers = {"estimate": self.values, "std_error": np.sqrt(self.evidence.variances(request.target))}
        labels = dict(zip(self.axes.headings, self.axes.columns(), strict=True))
        frame = self.evidence.framed(pd.DataFrame({**labels, **numbers, "low": bounds.low, "high": bounds.high}))
        if self.simulated:
            frame[COLUMN] = True
        frame.attrs["remark"] = remark(self, bounds, request.target)
        frame.attrs["missing"] = self.missing
        return frame

    def to_dict(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> dict[str, Any]:
        """The estimate in plain data for JSON; numbers that are not finite are None."""
        request = IntervalRequest.of(level, method, target, simultaneous)
        bounds, errors = self._ci(request), np.sqrt(self.evidence.variances(request.target))
        columns = (*self.axes.columns(), self.values, errors, *bounds)
        names = (*self.axes.keys, "estimate", "std_error", "low", "high")
        return {
            "question": self.question.spec(),
            "n": self.n,
            "decoder": self.decoder.spec(),
            "fit": None if self.fit is None else {"iterations": self.fit.iterations, "gap": self.fit.gap},
            **self.chosen(request).to_dict(),
            "axes": list(self.axes.names),
            "rows": [dict(zip(names, map(_plain, row), strict=True)) for row in zip(*columns, strict=True)],
            "sources": [source.to_dict() for source in self.sources],
            "remark": remark(self, bounds, request.target),
            "notes": [*self.notes, *filter(None, [self.assumes])],
            "selection": None if self.selection is None else self.selection.to_dict(),
            "missing": self.missing,
            "simulation": self.simulated,
        }

    def remark(self, bounds: Bounds, *, target: str = "population") -> str | None:
        """One sentence if estimates or intervals lie outside the possible range; else None."""
        return remark(self, bounds, Target.of(target))

    def explain(self, level: float = 0.95) -> str:
        """A paragraph that explains these numbers."""
        selected = None if self.selection is None else self.selection.sentence()
        said = (self._promise(), self.evidence.sentence(self, level), selected, *self.notes, self.assumes, self.missing)
        return in_words(" ".join(filter(None, said)), self.simulated)

    def _promise(self) -> str:
        """Who answered, and the privacy loss of a report; true for any prior odds."""
        through = " and ".join(dict.fromkeys(source.mechanism.name for source in self.sources))
        remarks = {source.mechanism.guarantee.remark for source in self.sources} - {""}
        but = f" ({', '.join(sorted(remarks))})" if remarks else ""
        return (
            f"{self.n} participants answered through {through}; one report changes the odds between two answers by at"
            f" most a factor e^{self.epsilon:.4g} = {math.exp(self.epsilon):.3g}{but}."
        )

    def __repr__(self) -> str:
        through = ", ".join(dict.fromkeys(source.mechanism.name for source in self.sources))
        kind = (f", decoder={self.decoder.name!r}" if self.decoder != LINEAR else "") + ", simulation" * self.simulated
        kind += ", partial" * (self.missing is not None)
        noise = f", {count} outside {reach(self)} by noise" if (count := outside(self)) else ""
        return f"Estimate({through}, n={self.n}, {len(self.values)} values{kind}{noise})"


def _plain(value: Any) -> Any:
    """A number, a text or None."""
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else str(value)
