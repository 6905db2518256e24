"""Estimates of a stored study. They depend only on its tallies, and are recomputed when these change."""

from __future__ import annotations

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Estimates, Tallies, reports_of
from sottovoce.protocols.play import State
from sottovoce.service.fake_report_signs import FAKES, alarms_of, manipulation_rows
from sottovoce.service.intake import CONFLICT
from sottovoce.service.running_study import name_of, read_manifest, read_protocol, read_study, state_of, stored_tallies
from sottovoce.service.stores.base import StoreError, StudyRow, Transaction
from sottovoce.study.display.experiment import comparison_sentence
from sottovoce.study.experiments.comparisons import ArmComparison
from sottovoce.study.export import comma_separated
from sottovoce.study.repeats.waves import Wave, WaveSeries, series_of, waves_frame
from sottovoce.study.results import StudyResults, results_of
from sottovoce.study.strata import combined
from sottovoce.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

MOST_KEPT = 2048  # waves
NOTHING_YET = "Nothing can be estimated yet."
REPEATED = (
    "Devices that keep a memo report the same answer again in each epoch. Intervals and n count reports as if each were"
    " of another person: with reports of several epochs they are too narrow."
)


@dataclass(frozen=True)
class StudyOutcome:
    """The current results of a study, with notes and alarms."""

    row: StudyRow
    manifest: Manifest
    results: StudyResults
    notes: tuple[str, ...]
    alarms: tuple[str, ...] = ()
    waves: tuple[Wave, ...] = ()

    @cached_property
    def series(self) -> tuple[WaveSeries, ...]:
        """Every question over the waves of a repeated study."""
        repeat = self.manifest.facts.repeat
        return () if repeat is None else tuple(series_of(self.waves, repeat))

    def to_frame(self) -> pd.DataFrame:
        """The table of all numbers; of a repeated study those of all waves."""
        return waves_frame(self.waves) if self.waves else self.results.to_frame()

    def header(self) -> dict[str, Any]:
        """The fields common to all output formats."""
        return {
            "study": self.manifest.facts.name,
            "id": self.row.name,
            "state": self.row.state,
            "round": self.row.round,
            "manifest": self.manifest.hash,
            "reports": self.row.reports,
            "checksum": self.row.checksum.hex(),
            "level": self.results.level,
            "notes": list(self.notes),
            "alarms": list(self.alarms),
        }

    def to_dict(self, fakes: float = FAKES) -> dict[str, Any]:
        """Header, rows, and bounds on the effect of a share of fake reports. Unknown numbers are null."""
        frame = self.to_frame()
        rows = [
            {key: _plain(one) for key, one in zip(frame.columns, values, strict=True)}
            for values in frame.itertuples(index=False, name=None)
        ]
        moved = manipulation_rows(self.results.questions, fakes, self.row.reports)
        compared = {"comparisons": [_comparison(one) for one in self.results.comparisons]}
        experiment = compared if self.results.comparisons else {}
        return {**self.header(), "rows": rows, "fakes": {"share": fakes, "estimates": moved}, **experiment}

    def to_json(self, fakes: float = FAKES) -> bytes:
        """Header, rows and bounds as JSON."""
        return json.dumps(self.to_dict(fakes), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def to_csv(self) -> bytes:
        """The rows as CSV."""
        return comma_separated(self.to_frame())

    def to_arrow(self) -> bytes:
        """The rows as an Arrow stream, with the header as metadata."""
        import pyarrow as pa

        table = pa.Table.from_pandas(self.to_frame(), preserve_index=False)
        table = table.replace_schema_metadata({"sottovoce": json.dumps(self.header())})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return bytes(sink.getvalue().to_pybytes())


def outcome(work: Transaction, row: StudyRow, level: float) -> StudyOutcome:
    """The results from the current counts. Notes state what an unfinished protocol leaves out."""
    manifests = [read_manifest(content) for content in work.manifests(row.number)]
    if name_of(manifests[0]) != row.name:
        raise StoreError("The manifest of a study in this store was changed.")
    if manifests[0].facts.repeat is not None:
        return _over_waves(work, row, manifests[0], level)
    rounds = [stored_tallies(work, row.number, manifest, row.epoch) for manifest in manifests]
    study = read_study(row.source)
    try:
        estimates: Estimates = state_of(row, manifests, rounds).closed()
        notes = tuple(dict.fromkeys(filter(None, (getattr(one, "missing", None) for one in estimates.values()))))
    except ParameterError:  # no report was counted, or too few
        estimates, notes = {}, (NOTHING_YET,)
    _, report_names = read_protocol(row.protocol)
    conflicts = work.outcomes(row.number).get(CONFLICT, 0)
    signs = alarms_of(manifests, rounds, work.first_bytes(row.number), conflicts)
    results = results_of(study, report_names, estimates, level, reports=row.reports)
    kept = any(arm.mechanism.claimed_forever is not None for one in manifests for arm in one.stage.arms)
    notes = (*notes, *results.doubts, *((REPEATED,) if kept and estimates else ()))
    return StudyOutcome(row, manifests[-1], results, notes, signs)


def _over_waves(work: Transaction, row: StudyRow, manifest: Manifest, level: float) -> StudyOutcome:
    """The results of every wave that has reports; those of the last one are the results of the study so far."""
    repeat, start, study = manifest.facts.repeat, manifest.facts.start, read_study(row.source)
    assert repeat is not None and start is not None
    _, report_names = read_protocol(row.protocol)
    waves: list[Wave] = []
    signs: dict[str, None] = {}
    epochs = work.epochs(row.number, manifest.number)
    for epoch in epochs:
        tallies = stored_tallies(work, row.number, manifest, epoch)
        estimates = _estimates(row.protocol, manifest, tallies)
        own = results_of(study, report_names, estimates, level, reports=reports_of(tallies))
        waves.append(Wave(epoch + 1, repeat.begins(date.fromisoformat(start), epoch), own))
        if epoch == epochs[-1]:
            conflicts = work.outcomes(row.number).get(CONFLICT, 0)
            signs = dict.fromkeys(alarms_of([manifest], [tallies], work.first_bytes(row.number), conflicts))
    last = waves[-1].results if waves else results_of(study, report_names, {}, level, reports=0)
    notes = last.doubts if waves else (NOTHING_YET,)
    return StudyOutcome(row, manifest, last, notes, tuple(signs), tuple(waves))


_KEPT: OrderedDict[bytes, Estimates] = OrderedDict()  # estimates of waves, of which only the last ones change


def _estimates(protocol: bytes, manifest: Manifest, tallies: Tallies) -> Estimates:
    """The estimates of one wave; those of a wave whose counts did not change are not computed again."""
    parts = (bytes.fromhex(manifest.hash), protocol, *(one.to_bytes() for one in tallies))
    key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
    kept = _KEPT.get(key)
    if kept is None:
        try:
            kept = State(read_protocol(protocol)[0], (), manifest.stage).counted(tallies).closed()
        except ParameterError:  # too few reports
            kept = {}
        _KEPT[key] = kept
        if len(_KEPT) > MOST_KEPT:  # another thread may have removed the same one
            _KEPT.pop(next(iter(_KEPT)), None)
    return kept


def over_strata_of(work: Transaction, name: str | None, level: float) -> tuple[StudyResults, dict[str, StudyResults]]:
    """The results of all strata of a study together, weighted by their people; and of each stratum by itself.

    `name` is that of the study file; it may be left out where the store has one study with strata.
    """
    studies = [(row, read_study(row.source)) for row in work.studies()]
    families = {study.family for _, study in studies if study.stratum and name in (None, study.family)}
    if len(families) != 1:
        raise ParameterError("Name one study with strata of this store by --study, as its study file does.")
    members = {study.stratum: (row, study) for row, study in studies if study.stratum and study.family in families}
    first = next(iter(members.values()))[1]
    estimates: dict[str, Estimates] = {}
    parts: dict[str, StudyResults] = {}
    for stratum, (row, study) in members.items():
        manifests = [read_manifest(content) for content in work.manifests(row.number)]
        rounds = [stored_tallies(work, row.number, manifest, row.epoch) for manifest in manifests]
        _, report_names = read_protocol(row.protocol)
        try:
            estimates[stratum] = state_of(row, manifests, rounds).closed()
        except ParameterError:  # no report was counted, or too few
            continue
        parts[stratum] = results_of(study, report_names, estimates[stratum], level, reports=row.reports)
    reports = sum(row.reports for row, _ in members.values())
    whole = replace_stratum(first)
    return results_of(whole, report_names, combined(estimates, first.strata), level, reports=reports), parts


def replace_stratum(study: Study) -> Study:
    """The study of all strata."""
    label = next(one for one in study.strata if one.name == study.stratum).label(study.languages[0])
    return replace(study, name=study.family, stratum="", title=study.title.removesuffix(f" ({label})"), translations=())


def _comparison(one: ArmComparison) -> dict[str, Any]:
    """The verdict about two arms of an experiment; the rows of the results have its differences."""
    overall = one.overall
    return {
        "question": one.asked.name,
        "arm": one.arm,
        "baseline": one.baseline,
        "sentence": comparison_sentence(one),
        "p_value": min((line.p_value for line in one.lines), default=None),
        "overall_p_value": None if overall is None else overall.p_value,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, bool, int)) else value.item()


def tally_rows(work: Transaction, row: StudyRow) -> list[Mapping[str, Any]]:
    """The counts of every arm of every round and epoch, so that anyone can repeat the estimates.

    A study that asks once has epoch 0 alone, and its rows do not name it.
    """
    tallies: list[Mapping[str, Any]] = []
    for manifest in map(read_manifest, work.manifests(row.number)):
        for epoch in sorted({row.epoch, *work.epochs(row.number, manifest.number)}):
            for place, tally in enumerate(stored_tallies(work, row.number, manifest, epoch)):
                arm = manifest.stage.arms[place]
                tallies.append(
                    {
                        "round": manifest.number,
                        **({"epoch": epoch} if epoch else {}),
                        "arm": place,
                        "name": arm.name,
                        "manifest": manifest.hash,
                        "fingerprint": arm.mechanism.fingerprint,
                        "reports": tally.n,
                        "cells": [[int(cell), int(tally.cells[cell])] for cell in np.flatnonzero(tally.cells)],
                    }
                )
    return tallies
