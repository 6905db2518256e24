"""The one result class: values, standard errors, intervals, where they come from, and how to show them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import Selection
from sottovoce.estimate.decoder import OWN_LEVELS, Decoder, Fit, as_decoder
from sottovoce.estimate.decoders.linear import LinearDecoder
from sottovoce.estimate.evidence import Bounds, Evidence, Floats, most_excess
from sottovoce.estimate.largest import Largest
from sottovoce.estimate.request import IntervalRequest, Method, PoorIntervalWarning, Target, check_level
from sottovoce.estimate.show.estimate import ShownEstimate
from sottovoce.estimate.show.remarks import outside, reach, remark
from sottovoce.estimate.sources import EstimateSource

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.by_group import ByGroup
    from sottovoce.estimate.combine import CombinedData
    from sottovoce.estimate.of_distribution import OfDistribution

    class _OfSomeRoom(ByGroup, OfDistribution):
        """The question of a mechanism is no type, so type checkers allow the members of all rooms."""

else:
    _OfSomeRoom = object

LINEAR = LinearDecoder()
ROOMS = ("estimate.by_group:ByGroup", "estimate.of_distribution:OfDistribution")
NO_DIFFERENCE = (
    "Two estimates cannot be subtracted: whether they come from the same people is not known. From different people the"
    " difference of their values has the standard errors (a.std_errors**2 + b.std_errors**2)**0.5. Groups within one"
    " estimate of means by group are compared by difference(group, other)."
)


class NotOfferedError(ParameterError, AttributeError):
    """An estimate was asked for a member that only estimates of other questions have."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(ShownEstimate, Largest, _OfSomeRoom):
    """Hold the estimated answer to a question, with standard errors and intervals for the population.

    Values are unbiased unless `decoder` says otherwise, so shares may be negative by chance. Estimates of distributions
    and of groups have further members; other estimates refuse them with a sentence.

    Attributes:
        question: What was asked.
        values: One number for each of `labels`.
        std_errors: The standard errors of the unbiased values, also where a decoder moved the values.
        evidence: The readings of the tallies, from which intervals are computed.
        sources: The mechanisms of all arms and rounds, with the number of reports of each.
        decoder: The decoder that computed the values.
        fit: How an iterative decoder ended.
        notes: Sentences about this estimate, such as the decisions of a protocol.
        simulated: True if the reports are simulated; words, tables and pictures say so.
        missing: The estimated shares of reasons for giving no answer.
        assumes: What must hold for values and intervals but cannot be seen in reports; `doubt` says it.
        combined: The tallies that were combined, if there were several.
        selection: How reports selected the values that are shown, if they did.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> smokers = m.estimate(m.tally(m.privatize(["yes"] * 700 + ["no"] * 300, seed=1)))
        >>> low, high = smokers.ci(0.95)
        >>> print(f"{smokers.values[0]:.2f} ({low[0]:.2f} to {high[0]:.2f})")
        0.69 (0.63 to 0.76)

    See also:
        `Mechanism.estimate` and `combine` make estimates.
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
        """The unbiased estimate from evidence, of the class that offers what its question can answer."""
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(evidence.variances(Target.POPULATION))
        return (evidence.estimate_class or cls)(
            question, evidence.values(), errors, evidence, tuple(sources), notes=tuple(notes), simulated=simulated
        )

    if not TYPE_CHECKING:  # for which any name would do

        def __getattr__(self, name: str) -> NoReturn:
            """Say why a member of other estimates is missing here."""
            for room in (load(path) for path in ROOMS if not name.startswith("__")):
                if hasattr(room, name):
                    more = f" {NO_DIFFERENCE}" if name == "difference" else ""
                    raise NotOfferedError(room.needs.format(noun=self.evidence.noun) + more)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- what it is --------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """Return the number of reports behind the values."""
        return int(np.sum(self.evidence.n))

    @property
    def value(self) -> float:
        """Return the estimate of a single number, such as a mean."""
        if len(self.values) != 1:
            raise ParameterError(f"This estimate has {len(self.values)} values, not one: use `values`.")
        return float(self.values[0])

    @property
    def labels(self) -> Sequence[object]:
        """Return the label of each value."""
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
        """Return the largest privacy loss of one report."""
        return max(source.mechanism.epsilon for source in self.sources)

    @property
    def quality(self) -> str:
        """The kind of the values, in a word: unbiased, projected, ..."""
        return self.decoder.quality(self.evidence)

    # --- intervals ---------------------------------------------------------------------------------
    def ci(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> Bounds:
        """Compute confidence intervals, one per value.

        A warning (`PoorIntervalWarning`) says where the intervals may miss more often than their level promises.

        Args:
            level: The level, such as 0.95.
            method: One of `evidence.methods`. "own" is that of a decoder with a law of its own, such as "simplex" and
                "em", at 90, 95 and 99 %. Default: `default_method`.
            target: "population" is the value in the population from which participants were drawn; "sample" the value
                among these participants, so that only the privacy noise counts.
            simultaneous: Make all intervals hold at once with this level.

        Returns:
            Two arrays: lower and upper ends.
        """
        return self._ci(self._request(level, method, target, simultaneous))

    def _request(self, level: float, method: str | None, target: str, simultaneous: bool) -> IntervalRequest:
        """The request of a caller, checked, with the method that answers it."""
        known = self.decoder.methods(self.evidence)
        request = IntervalRequest.of(level, method, target, simultaneous, known)
        if request.method is None:
            request = replace(request, method=self.decoder.default_method(self.evidence))
        if request.method == Method.OWN and level not in OWN_LEVELS:
            raise ParameterError(
                f"The own interval of a decoder has one of the levels {', '.join(map(str, OWN_LEVELS))}, at which its"
                f" coverage is measured; the method '{self.default_method}' has any level."
            )
        return request

    def _ci(self, request: IntervalRequest, *, quiet: bool = False) -> Bounds:
        """Intervals, with a warning about poor ones at the line that called the caller, unless they are `quiet`."""
        if not quiet and (doubt := self._doubt(request)) is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=3)
        return self.decoder.interval(self.evidence, self.values, request.single(len(self.values)))

    def quiet_ci(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> Bounds:
        """The intervals of `ci` without its warning, for callers who show `doubt` themselves.

        Filters of warnings belong to all threads of a process, so that a service cannot catch its own.
        """
        return self._ci(self._request(level, method, target, simultaneous), quiet=True)

    def doubt(self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False) -> str | None:
        """Say why the intervals of `ci` may miss more often than they promise.

        Args:
            level: The level of the intervals.
            method: The method of the intervals.
            simultaneous: Whether the intervals hold at once.

        Returns:
            A sentence, or None.
        """
        return self._doubt(self._request(level, method, Target.POPULATION, simultaneous))

    def _doubt(self, request: IntervalRequest) -> str | None:
        single = request.single(len(self.values))
        if single.method == Method.OWN:
            single = single.by(Method.NORMAL)
        poor = self.evidence.doubt(single, most_excess(request.level))
        return " ".join(filter(None, (poor, self.assumes))) or None

    def chosen(self, request: IntervalRequest) -> IntervalRequest:
        """The request with the method that answers it."""
        return request if request.method else replace(request, method=self.default_method)

    @property
    def default_method(self) -> Method:
        """Return the name of the default interval method."""
        return self.decoder.default_method(self.evidence)

    def own_errors(self, *, target: str = "population") -> Floats:
        """Standard errors of the decoder itself, before values are moved into the possible range; see method "own"."""
        if not self.decoder.owns:
            raise ParameterError(f"The decoder {self.decoder.name} has no standard errors of its own.")
        covariance = self.decoder.own(self.evidence, Target.of(target)).covariance
        return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0)))

    def covariance(self, *, target: str = "population") -> Floats:
        """Estimate the covariance matrix of the unbiased values.

        Args:
            target: "population", or "sample" for the privacy noise alone.

        Returns:
            A square matrix.
        """
        return self.evidence.covariance(Target.of(target))

    def _of(self, evidence: Evidence) -> Estimate:
        """The unbiased estimate from other evidence of the same reports."""
        asked = evidence.question or self.question
        unbiased = Estimate.of(asked, evidence, self.sources, notes=self.notes, simulated=self.simulated)
        return replace(unbiased, assumes=self.assumes)

    # --- several estimates ---------------------------------------------------------------------------
    @property
    def heterogeneity(self) -> float:
        """Compute a p-value of the hypothesis that all combined tallies describe one population (Cochran's Q)."""
        return self.evidence.heterogeneity if self.combined is None else self.combined.heterogeneity()

    def __sub__(self, other: Estimate) -> NoReturn:
        raise ParameterError(NO_DIFFERENCE)

    # --- other values, other questions -------------------------------------------------------------
    def decoded(self, decoder: str | Decoder) -> Estimate:
        """Compute the values again with another decoder.

        Args:
            decoder: A name such as "em", or a decoder.

        Returns:
            A new estimate.
        """
        chosen = as_decoder(decoder)
        values, fit = chosen.decode(self.evidence)
        notes = self.notes if fit is None else (*self.notes, *fit.sentences())
        selection = self.selection if fit is None else fit.selection or self.selection
        return replace(self, values=values, decoder=chosen, fit=fit, notes=notes, selection=selection)

    def project(self, name: str) -> Estimate:
        """Project the unbiased values onto possible ones.

        Args:
            name: "simplex" makes shares non-negative with sum one; "range" moves a mean into the range of the answers.

        Returns:
            A new estimate; standard errors and intervals stay those of the unbiased values.
        """
        chosen = as_decoder(name)
        if not chosen.projects:
            raise ParameterError(
                f"{chosen.name} is not a projection of unbiased values: use the mechanism's"
                f" estimate(tally, decoder={chosen.name!r})."
            )
        return self.decoded(chosen)

    def answer(self, question: Question) -> Estimate:
        """Answer another question from the same reports, without bias.

        Args:
            question: Another question about the same answers, such as `Range`.

        Returns:
            A new estimate.
        """
        evidence = self.evidence if question == self.question else self.evidence.answer(question)
        return replace(self._of(evidence), question=question)

    # --- showing -----------------------------------------------------------------------------------
    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> pd.DataFrame:
        """Return a table with labels, estimate, standard error and interval.

        A simulation has one more column. `attrs["remark"]` is `remark`, `attrs["missing"]` is `missing`.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.

        Returns:
            A pandas data frame, one row per value.
        """
        return self._frame(self._request(level, method, target, simultaneous))

    def _frame(self, request: IntervalRequest) -> pd.DataFrame:
        import pandas as pd

        bounds = self._ci(request)
        numbers = {"estimate": self.values, "std_error": np.sqrt(self.evidence.variances(request.target))}
        axes = self.evidence.axes
        labels = dict(zip(axes.headings, axes.columns(), strict=True))
        frame = self.evidence.framed(pd.DataFrame({**labels, **numbers, "low": bounds.low, "high": bounds.high}))
        if self.simulated:
            frame[COLUMN] = True
        frame.attrs["remark"] = remark(self, bounds, request.target)
        frame.attrs["missing"] = self.missing
        return frame

    def to_dict(
        self, level: float = 0.95, *, method: str | None = None, target: str = "population", simultaneous: bool = False
    ) -> dict[str, Any]:
        """Return the estimate as plain data for JSON; numbers that are not finite are None.

        Args:
            level: The level of the intervals.
            method: The method of the intervals, as in `ci`.
            target: "population" or "sample", as in `ci`.
            simultaneous: Make all intervals hold at once.

        Returns:
            A dictionary.
        """
        request = self._request(level, method, target, simultaneous)
        bounds, errors = self._ci(request), np.sqrt(self.evidence.variances(request.target))
        columns = (*self.axes.columns(), self.values, errors, *bounds)
        names = (*self.axes.keys, "estimate", "std_error", "low", "high")
        return {
            "question": self.question.spec(),
            "n": self.n,
            "decoder": self.decoder.spec(),
            "fit": None if self.fit is None else {"iterations": self.fit.iterations, "gap": self.fit.gap},
            **request.to_dict(),
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
        """Explain the estimate in a paragraph: reports, privacy, standard error and interval.

        Args:
            level: The level of the intervals.

        Returns:
            Some sentences.
        """
        check_level(level)
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
