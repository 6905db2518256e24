"""From a tally to an estimate: evidence of the mechanism's room, another question or candidates, a decoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sottovoce.core import late
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.question import Question
from sottovoce.core.statistic import Statistic
from sottovoce.estimate.decoder import Decoder, as_decoder
from sottovoce.estimate.estimate import Estimate, EstimateSource, sources_of
from sottovoce.estimate.evidence import Evidence, Ints, Offer
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
    chosen = None if decoder is None else as_decoder(decoder)
    keep = chosen is not None and Offer.LIKELIHOOD in chosen.needs
    found = unbiased(mechanism, data, question, keep_reports=keep, candidates=candidates)
    return found if chosen is None else found.decoded(chosen)


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
    _check_reads(mechanism, room.READS)
    if candidates is not None:
        found, source, simulated = _about_candidates(mechanism, data, candidates)
        sources: tuple[EstimateSource, ...] = (source,)
    else:
        reports = _reports(mechanism, data) if keep_reports else None
        tally = check_tally(mechanism, data if reports is None else mechanism.tally(reports))
        found = room.evidence(mechanism, tally)
        if reports is not None:
            found = found.with_reports(reports)
        sources, simulated = sources_of([tally]), tally.simulated
    asked = mechanism.question if question is None else question
    if asked != mechanism.question:
        found = found.answer(asked)
    return Estimate.of(asked, found, sources, simulated=simulated)


def _check_reads(mechanism: Mechanism, known: tuple[type[Statistic], ...]) -> None:
    """Refuse cells that this room would take for those of another statistic."""
    if not isinstance(mechanism.statistic, known):
        raise ParameterError(
            f"A question of kind {mechanism.question.kind} is not answered from counts of kind"
            f" {mechanism.statistic.kind}. Known: {', '.join(one.kind for one in known)}."
        )


def check_tally(mechanism: Mechanism, tally: object) -> Tally:
    """A tally of this mechanism with at least one report."""
    if not isinstance(tally, Tally):
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
    messages = isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, bytes) for one in data)
    return from_messages(mechanism, list(data)) if messages else None


def _about_candidates(
    mechanism: Mechanism, data: Any, candidates: Iterable[object]
) -> tuple[Evidence, EstimateSource, bool]:
    """The evidence about some answers; from hashed reports without counting all others."""
    room = late.load(f"estimate.{mechanism.question.room}.evidence")
    if not hasattr(room, "evidence_about"):
        raise ParameterError(f"Candidates are supported for shares only, not for a {mechanism.question.noun}.")
    codes, names = _codes(mechanism, candidates)
    reports = _reports(mechanism, data)
    counted: Reports | Tally
    if reports is not None and late.load("estimate.shares.candidates:hashed_by_report")(mechanism):
        counted, n = reports, len(reports)
        if not n:
            raise ParameterError("An estimate needs at least one report; there is none.")
    else:
        counted = check_tally(mechanism, data if reports is None else mechanism.tally(reports))
        n = counted.n
    found: Evidence = room.evidence_about(mechanism, counted, codes, names)
    return found, EstimateSource(mechanism, n), counted.simulated


def among(mechanism: Mechanism, found: Evidence, candidates: Iterable[object]) -> Evidence:
    """The same evidence about some answers only."""
    if Offer.CANDIDATES not in found.offers:
        raise ParameterError(f"Candidates are supported for shares only, not for a {found.noun}.")
    return found.restricted(*_codes(mechanism, candidates))


def _codes(mechanism: Mechanism, candidates: Iterable[object]) -> tuple[Ints, tuple[object, ...]]:
    """The codes of candidates, and their names."""
    sentence = "Candidates must be a list of at least one answer, all different"
    if isinstance(candidates, (str, bytes, Mapping)) or not isinstance(candidates, Iterable):
        raise ParameterError(f"{sentence}. Got one value of type {type(candidates).__name__}.")
    listed = list(candidates)
    codes = [mechanism.domain.encode(candidate) for candidate in listed]
    if not codes:
        raise ParameterError(f"{sentence}. Got none.")
    first: dict[int, int] = {}
    for place, code in enumerate(codes):
        if first.setdefault(code, place) != place:  # of 100,000 texts, two with one code are likely
            raise ParameterError(
                f"{sentence}. Those at positions {first[code]} and {place} have the same code: list one of them."
            )
    return np.array(codes, np.int64), tuple(listed)
