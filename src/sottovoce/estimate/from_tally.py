"""From a tally to an estimate: evidence of the mechanism's room, another question or candidates, a decoder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sottovoce.core import late
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.question import Question
from sottovoce.core.registry import DECODERS
from sottovoce.estimate.candidates import selection_of
from sottovoce.estimate.decoder import Decoder, as_decoder
from sottovoce.estimate.decoder import decoder as decoder_named
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.on_demand import TallyOnDemand
from sottovoce.estimate.sources import sources_of
from sottovoce.fast.batch import Reports, from_messages
from sottovoce.tally.tally import Tally


def estimate(
    mechanism: Mechanism,
    data: Any,
    question: Question | None = None,
    decoder: str | Decoder | None = None,
    candidates: Iterable[object] | None = None,
) -> Estimate:
    """The estimate. Decoders that need a likelihood accept reports too: not every tally determines it."""
    chosen = decoder_of(mechanism.name) if decoder is None else as_decoder(decoder)
    keep = chosen is not None and Offer.LIKELIHOOD in chosen.needs
    linear = unbiased(mechanism, data, question, keep_reports=keep, candidates=candidates)
    return linear if chosen is None else linear.decoded(chosen)


def decoder_of(name: str) -> Decoder | None:
    """The decoder that belongs to a published name; None where an estimate is unbiased by default."""
    if name not in DECODERS:
        return None
    known, options = DECODERS[name]
    return decoder_named(known, **options)


def unbiased(
    mechanism: Mechanism,
    data: Any,
    question: Question | None = None,
    *,
    keep_reports: bool = False,
    candidates: Iterable[object] | None = None,
) -> Estimate:
    """The estimate without a decoder; reports are kept for their likelihood if one will need it."""
    room = late.load(f"estimate.{mechanism.question.room}.evidence")
    if not isinstance(mechanism.statistic, room.READS):
        raise ParameterError(
            f"A question of kind {mechanism.question.kind} is not answered from counts of kind"
            f" {mechanism.statistic.kind}. Known: {', '.join(statistic.kind for statistic in room.READS)}."
        )
    reports = _reports(mechanism, data) if keep_reports or candidates is not None else None
    tally = check_tally(mechanism, data if reports is None else TallyOnDemand(mechanism, reports))
    evidence: Evidence = room.evidence(mechanism, tally, candidates)
    asked = mechanism.question if question is None else question
    if asked != mechanism.question:
        evidence = evidence.answer(asked)
    unbiased = Estimate.of(asked, evidence, sources_of([tally]), simulated=tally.simulated)
    return replace(unbiased, selection=selection_of(candidates) or evidence.selection)


def check_tally(mechanism: Mechanism, tally: object) -> Tally | TallyOnDemand:
    """A tally of this mechanism with at least one report."""
    if not isinstance(tally, (Tally, TallyOnDemand)):
        raise ParameterError(f"An estimate needs a tally: count the reports first. Got {type(tally).__name__}.")
    check_same(mechanism, tally.mechanism, "estimate from the tally")
    if tally.n == 0:
        raise ParameterError("An estimate needs at least one report; this tally has none.")
    return tally


def _reports(mechanism: Mechanism, data: Any) -> Reports | None:
    """Reports, if they were given: a batch, or messages as devices send them."""
    if isinstance(data, Reports):
        check_same(mechanism, data.mechanism, "estimate from reports")
        return data
    messages = isinstance(data, (list, tuple)) and bool(data) and all(isinstance(item, bytes) for item in data)
    return from_messages(mechanism, list(data)) if messages else None
