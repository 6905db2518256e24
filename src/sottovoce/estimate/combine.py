"""One estimate from several tallies of the same question, of different people: other mechanisms, other budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.candidates import candidate_codes, selection_of
from sottovoce.estimate.decoder import Decoder, as_decoder
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import NOT_POOLED, Evidence, Offer
from sottovoce.estimate.from_tally import estimate, unbiased
from sottovoce.estimate.heterogeneity import p_value
from sottovoce.estimate.request import Target
from sottovoce.fast.batch import Reports
from sottovoce.tally.tally import Tally

SAME = (
    "Tallies of the same people cannot be combined: their answers are not independent. Estimate each tally by itself."
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
    """The estimate from several tallies, if all ask the same question; everyone answered in one of them.

    Say `people="different"` where nobody is in two of the tallies, such as the arms of a study. Without it, every
    interval carries a doubt: waves of the same people are one sample of the population, and intervals for independent
    samples are too narrow. With little noise 95 % intervals of two such waves cover 83 %, of four 67 %. Estimate such
    waves one by one.

    By default it is the weighted sum of least variance. Its weights come from laws and numbers of reports, so it is
    unbiased if all tallies are about the same population. A decoder such as "em" maximises one likelihood of all
    reports (generalised iterative Bayesian update, maximum likelihood over several budgets). Where a likelihood needs
    reports instead of their tally, they are given in its place.
    """
    if people not in ("different", None):
        raise ParameterError(SAME if people == "same" else str(reject("people", "combine", "'different'", people)))
    given = _merged(data)
    found = _together(given, question, decoder, candidates)
    several = tuple(one for one in data if not isinstance(one, Tally) or one.n)
    if len(several) == 1:
        return found
    return replace(found, combined=CombinedData(several), assumes=UNKNOWN if people is None else found.assumes)


def _together(
    given: list[tuple[Mechanism, Any]],
    question: Question | None,
    decoder: str | Decoder | None,
    candidates: Iterable[object] | None,
) -> Estimate:
    first = given[0][0]
    if len(given) == 1:
        return estimate(*given[0], question, decoder, candidates)
    asked = first.question
    if any(mechanism.question != asked for mechanism, _ in given):
        raise ParameterError(NOT_POOLED)
    chosen = None if decoder is None else as_decoder(decoder)
    keep = chosen is not None and Offer.LIKELIHOOD in chosen.needs
    each = [unbiased(mechanism, one, keep_reports=keep) for mechanism, one in given]
    found = pooled(each)
    if candidates is not None:
        some = found.evidence.restricted(*candidate_codes(first, candidates))
        found = Estimate.of(asked, some, found.sources, simulated=found.simulated)
        found = replace(found, selection=selection_of(candidates))
    if question is not None and question != asked:
        found = found.answer(question)
    return found if chosen is None else found.decoded(chosen)


def pooled(estimates: Sequence[Estimate], weights: Sequence[float] | None = None) -> Estimate:
    """The weighted sum of estimates of different people; weights are those of least variance unless some are given."""
    if not estimates:
        raise ParameterError(NOT_POOLED)
    first, *others = (one.evidence for one in estimates)
    return together(first.pooled(others, weights), estimates)


def together(evidence: Evidence, estimates: Sequence[Estimate]) -> Estimate:
    """The estimate from evidence that was read from several estimates."""
    sources = [source for one in estimates for source in one.sources]
    simulated = any(one.simulated for one in estimates)
    return Estimate.of(estimates[0].question, evidence, sources, simulated=simulated)


@dataclass(frozen=True, slots=True, eq=False)
class CombinedData:
    """The tallies or reports that one estimate was made from."""

    data: tuple[Tally | Reports, ...]

    def heterogeneity(self) -> float:
        """A p-value of the hypothesis that all of these tallies or reports have the same values."""
        each = [unbiased(one.mechanism, one).evidence for one in self.data]
        return p_value(np.stack([e.values() for e in each]), np.stack([e.variances(Target.POPULATION) for e in each]))


def _merged(data: Sequence[Any]) -> list[tuple[Mechanism, Any]]:
    """Each mechanism with its data; tallies of the same mechanism are added up."""
    if not isinstance(data, (list, tuple)) or not data or not all(isinstance(one, (Tally, Reports)) for one in data):
        raise ParameterError("Estimates are combined from a list of tallies, or of reports, at least one.")
    found: list[tuple[Mechanism, Any]] = []
    places: dict[str, int] = {}
    for one in data:
        key = one.mechanism.fingerprint
        if isinstance(one, Tally) and not one.n:
            continue
        if isinstance(one, Tally) and key in places:
            mechanism, before = found[places[key]]
            found[places[key]] = (mechanism, before + one)
            continue
        if isinstance(one, Tally):
            places[key] = len(found)
        found.append((one.mechanism, one))
    if not found:
        raise ParameterError("An estimate needs at least one report; these tallies have none.")
    return found
