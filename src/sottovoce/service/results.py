"""Estimates of a stored study. They depend only on its tallies, and are recomputed when these change."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Estimates
from sottovoce.service.fake_report_signs import FAKES, alarms_of, manipulation_rows
from sottovoce.service.intake import CONFLICT
from sottovoce.service.running_study import name_of, read_manifest, read_protocol, read_study, state_of, stored_tallies
from sottovoce.service.stores.base import StoreError, StudyRow, Transaction
from sottovoce.study.export import comma_separated
from sottovoce.study.results import COLUMNS, StudyResults, results_of

NOTHING_YET = "Nothing can be estimated yet."
REPEATED = (
    "Devices that keep a memo report the same answer again in each epoch. Intervals and n count reports as if each were"
    " of another person: with reports of several epochs they are too narrow."
)


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The current results of a study, with notes and alarms."""

    row: StudyRow
    manifest: Manifest
    results: StudyResults
    notes: tuple[str, ...]
    alarms: tuple[str, ...] = ()

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
        frame = self.results.to_frame()
        rows = [
            {key: _plain(one) for key, one in zip(COLUMNS, values, strict=True)}
            for values in frame.itertuples(index=False, name=None)
        ]
        moved = manipulation_rows(self.results.questions, fakes, self.row.reports)
        return {**self.header(), "rows": rows, "fakes": {"share": fakes, "estimates": moved}}

    def to_json(self, fakes: float = FAKES) -> bytes:
        """Header, rows and bounds as JSON."""
        return json.dumps(self.to_dict(fakes), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def to_csv(self) -> bytes:
        """The rows as CSV."""
        return comma_separated(self.results.to_frame())

    def to_arrow(self) -> bytes:
        """The rows as an Arrow stream, with the header as metadata."""
        import pyarrow as pa

        table = pa.Table.from_pandas(self.results.to_frame(), preserve_index=False)
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
    rounds = [stored_tallies(work, row.number, manifest) for manifest in manifests]
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


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, bool, int)) else value.item()


def tally_rows(work: Transaction, row: StudyRow) -> list[Mapping[str, Any]]:
    """The counts of every arm of every round, so that anyone can repeat the estimates."""
    tallies: list[Mapping[str, Any]] = []
    for content in work.manifests(row.number):
        manifest = read_manifest(content)
        for place, tally in enumerate(stored_tallies(work, row.number, manifest)):
            arm = manifest.stage.arms[place]
            rows = [[int(cell), int(tally.cells[cell])] for cell in np.flatnonzero(tally.cells)]
            tallies.append(
                {
                    "round": manifest.number,
                    "arm": place,
                    "name": arm.name,
                    "manifest": manifest.hash,
                    "fingerprint": arm.mechanism.fingerprint,
                    "reports": tally.n,
                    "cells": rows,
                }
            )
    return tallies
