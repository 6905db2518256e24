"""Records of public files as codes, and reports of participants drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Record
from sottovoce.estimate.joint.evidence import JointEvidence, from_tallies
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, PATIENTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
COLUMNS = {
    ADULT.file: (*("workclass", "education", "income", "sex", "marital_status", "occupation", "relationship", "race"),),
    PATIENTS.file: (
        *("race", "gender", "age_band", "admission_type_id", "a1c_result", "insulin", "med_change", "readmitted"),
    ),
}
FILES = {"adult": ADULT.file, "hospital": PATIENTS.file}


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The answers of all people of a file: the code of each in each attribute."""

    sizes: dict[str, int]
    codes: Ints  # one column for each attribute

    @property
    def record(self) -> Record:
        """The record that a participant answers."""
        return Record({name: Integers(0, size - 1) for name, size in self.sizes.items()})

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """All tables of two attributes."""
        return list(combinations(self.sizes, 2))

    def cells(self, rows: Ints, names: tuple[str, ...]) -> Ints:
        """The cell of each of some people in a table."""
        order = list(self.sizes)
        columns = tuple(rows[:, order.index(name)] for name in names)
        return np.asarray(np.ravel_multi_index(columns, [self.sizes[name] for name in names]))

    def table(self, names: tuple[str, ...]) -> Floats:
        """The true shares of a table."""
        shape = [self.sizes[name] for name in names]
        counts = np.bincount(self.cells(self.codes, names), minlength=int(np.prod(shape)))
        return np.asarray(counts.reshape(shape) / len(self.codes))


@lru_cache(maxsize=2)
def records(data: str) -> Records:
    """The records of a file; an empty entry is an answer of its own."""
    file = FILES[data]
    frame = pq.read_table(data_file(file), columns=list(COLUMNS[file]))
    sizes, columns = {}, []
    for name in COLUMNS[file]:
        labels, codes = np.unique([str(value) for value in frame[name].to_pylist()], return_inverse=True)
        sizes[name] = len(labels)
        columns.append(codes)
    return Records(sizes, np.stack(columns, axis=1).astype(np.int64))


def reports(people: Records, protocol: TableViews, participants: int, rng: np.random.Generator) -> JointEvidence:
    """The evidence of participants drawn with replacement, each of whom sends one report."""
    rows = people.codes[rng.integers(0, len(people.codes), participants)]
    weights = np.array(protocol.weights, float)
    arms = rng.choice(len(weights), participants, p=weights / weights.sum())
    tallies = []
    for place, (arm, names) in enumerate(zip(protocol.start().arms, protocol.views, strict=True)):
        codes = people.cells(rows[arms == place], names).astype(np.uint32)
        stream = WordStream.seeded(arm.mechanism.words, int(rng.integers(1 << 62)))
        tallies.append(arm.mechanism.tally(draw(arm.mechanism, codes, stream)))
    return from_tallies(protocol.question, tallies)
