"""One estimate from several tallies of the same question, of different people: other mechanisms, other budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.candidates import candidate_codes, selection_of
from sottovoce.estimate.decoder import Decoder, as_decoder
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import NOT_POOLED, Evidence, Offer
from sottovoce.estimate.from_tally import estimate, unbiased
from sottovoce.estimate.heterogeneity import of_parts
from sottovoce.fast.batch import Reports
from sottovoce.tally.tally import Tally

SAME = (
    "Tallies of the same people cannot be combined: their answers are not independent. Estimate each tally by itself."
)
ADDED = (
    "{tallies} tallies were combined, and those of the same mechanism were added: the estimate describes the people of"
    " all of them together. For the difference between two samples, such as the arms of an experiment, use sv.compare."
)
UNKNOWN = (
    "This estimate assumes that nobody is in two of the combined tallies. If so, say people='different'; intervals for"
    " waves of the same people are too narrow."
)


def combine(
    data: Sequence[Any],
    question: Question | None = None,
    decoder: str | Decoder | None = None,
    candidates: Iterable[object] | None = None,
    *,
    people: str | None = None,
) -> Estimate:
    """Estimate one question from several tallies of different mechanisms, budgets or collectors.

    The estimate describes the people of all tallies together: tallies of the same mechanism are added. The difference
    between two samples, such as the arms of an experiment, is `compare`.

    Each person must be in one tally only. Repeated answers of the same people are one sample of the population, and
    intervals for independent samples are then too narrow: with little noise 95 % intervals of two such waves cover 83
    %, of four 67 %. Estimate such waves one by one.

    Args:
        data: Tallies whose mechanisms ask the same question; reports where a likelihood needs them.
        question: Another question that all tallies answer. Default: their own.
        decoder: A decoder such as "em", which maximises one likelihood of all reports. Default: the unbiased weighted
            sum of least variance, whose weights come from laws and numbers of reports.
        candidates: The answers of interest, where not all shares are wanted.
        people: "different" states that nobody is in two of the tallies. Without it every interval carries a doubt.

    Returns:
        An `Estimate`; `heterogeneity` is a p-value of "all tallies describe one population".

    Raises:
        ParameterError: The tallies ask different questions, or `people` is "same".

    Examples:
        >>> a, b = (sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=e) for e in (1, 2))
        >>> north, south = (m.tally(m.privatize(["yes"] * 500 + ["no"] * 500, seed=3)) for m in (a, b))
        >>> sv.combine([north, south], people="different")
        Estimate(grr, n=2000, 2 values, simulation)

    See also:
        `compare` for the difference of two samples, `Estimate.heterogeneity`, `Tally.merge`.
    """
    if people not in ("different", None):
        raise ParameterError(SAME if people == "same" else str(reject("people", "combine", "'different'", people)))
    merged = _merged(data)
    combined = _together(merged, question, decoder, candidates)
    several = tuple(item for item in data if not isinstance(item, Tally) or item.n)
    if len(several) == 1:
        return combined
    if len(merged) < len(several):
        combined = replace(combined, notes=(*combined.notes, ADDED.format(tallies=len(several))))
    assumes = UNKNOWN if people is None else combined.assumes
    return replace(combined, combined=CombinedData(several), assumes=assumes)


def _together(
    merged: list[tuple[Mechanism, Any]],
    question: Question | None,
    decoder: str | Decoder | None,
    candidates: Iterable[object] | None,
) -> Estimate:
    first = merged[0][0]
    if len(merged) == 1:
        return estimate(*merged[0], question, decoder, candidates)
    asked = first.question
    if any(mechanism.question != asked for mechanism, _ in merged):
        raise ParameterError(NOT_POOLED)
    chosen = None if decoder is None else as_decoder(decoder)
    keep = chosen is not None and Offer.LIKELIHOOD in chosen.needs
    combined = pooled([unbiased(mechanism, item, keep_reports=keep) for mechanism, item in merged])
    if candidates is not None:
        listed = combined.evidence.restricted(*candidate_codes(first.question.choices, candidates))
        combined = Estimate.of(asked, listed, combined.sources, simulated=combined.simulated)
        combined = replace(combined, selection=selection_of(candidates))
    if question is not None and question != asked:
        combined = combined.answer(question)
    return combined if chosen is None else combined.decoded(chosen)


def pooled(estimates: Sequence[Estimate], weights: Sequence[float] | None = None) -> Estimate:
    """The weighted sum of estimates of different people; weights are those of least variance unless some are given."""
    if not estimates:
        raise ParameterError(NOT_POOLED)
    first, *others = (part.evidence for part in estimates)
    return together(first.pooled(others, weights), estimates)


def together(evidence: Evidence, estimates: Sequence[Estimate]) -> Estimate:
    """The estimate from evidence that was read from several estimates."""
    sources = [source for part in estimates for source in part.sources]
    simulated = any(part.simulated for part in estimates)
    return Estimate.of(estimates[0].question, evidence, sources, simulated=simulated)


@dataclass(frozen=True, slots=True, eq=False)
class CombinedData:
    """The tallies or reports that one estimate was made from."""

    data: tuple[Tally | Reports, ...]

    def heterogeneity(self) -> float:
        """A p-value of the hypothesis that all of these tallies or reports have the same values."""
        return of_parts(unbiased(item.mechanism, item).evidence for item in self.data)


def _merged(data: Sequence[Any]) -> list[tuple[Mechanism, Any]]:
    """Each mechanism with its data; tallies of the same mechanism are added up."""
    if not isinstance(data, (list, tuple)) or not data or not all(isinstance(item, (Tally, Reports)) for item in data):
        raise ParameterError("Estimates are combined from a list of tallies, or of reports, at least one.")
    merged: dict[str | int, Any] = {}
    for item in data:
        if not isinstance(item, Tally):
            merged[len(merged)] = item
        elif item.n:
            key = item.mechanism.fingerprint
            merged[key] = merged[key] + item if key in merged else item
    if not merged:
        raise ParameterError("An estimate needs at least one report; these tallies have none.")
    return [(item.mechanism, item) for item in merged.values()]
