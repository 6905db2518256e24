"""Group means of real patients, in the manner of the paper's figures: days in hospital and age, by private groups.

The paper's own data (AQUILA, MIMIC-IV) cannot be redistributed; here it is the record of 130 hospitals. Each admission
counts as a participant, as in the paper. Every method chooses its own split, except the published piecewise mechanism,
which halves the budget. The mean error of a small group at a small epsilon is dominated by its worst runs, since the
estimated size may be near zero; so there is a median too, and the picture shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sottovoce.core.channel import Keyed
from sottovoce.core.channel.facets import Numeric, need
from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.registry import mechanism
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.group_means.counts import GroupMoments, Law, draw_means, error_row
from sottovoce_experiments.group_means.synthetic import PAPER, fingerprint
from sottovoce_experiments.group_means.variants import group_piecewise
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import PATIENTS

FILE = PATIENTS.file
PUBLISHED = "piecewise as published"
METHODS = ("group-laplace", "group-bernoulli", "group-nprr", "group-piecewise")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)

ADMISSIONS = {1: "emergency", 2: "urgent", 3: "elective"}
# First digits of an ICD-9 code; codes that are not listed, and codes with letters, are "other".
DIAGNOSES = {
    "circulatory": (*range(390, 460), 785),
    "respiratory": (*range(460, 520), 786),
    "digestive": (*range(520, 580), 787),
    "diabetes": (250,),
    "injury": tuple(range(800, 1000)),
    "musculoskeletal": tuple(range(710, 740)),
    "genitourinary": (*range(580, 630), 788),
    "neoplasms": tuple(range(140, 240)),
}
_DIAGNOSIS = {code: name for name, codes in DIAGNOSES.items() for code in codes}


def admission(code: int) -> str:
    """The type of an admission; newborns and trauma centres, a few dozen, are put with those of unknown type."""
    return ADMISSIONS.get(code, "other or unknown")


def sex(code: str) -> str | None:
    """Two groups; three admissions without an entry are left out."""
    return code.lower() if code in ("Female", "Male") else None


def diagnosis(code: str) -> str:
    """The kind of disease of a first diagnosis."""
    head = code.partition(".")[0]
    return _DIAGNOSIS.get(int(head), "other") if head.isdigit() else "other"


def band_middle(band: str) -> int:
    """[50-60) is 55."""
    low, high = band.strip("[)").split("-")
    return (int(low) + int(high)) // 2


@dataclass(frozen=True, slots=True)
class PatientQuestion:
    """Which columns are value and group, how they are read, and the range that the collector states."""

    value: str
    group: str
    read_value: Callable[[Any], int]
    read_group: Callable[[Any], str | None]
    low: int
    high: int


DAYS_BY_ADMISSION = PatientQuestion("days_in_hospital", "admission_type_id", int, admission, 1, 14)
AGE_BY_SEX = PatientQuestion("age_band", "gender", band_middle, sex, 0, 100)
AGE_BY_DIAGNOSIS = PatientQuestion("age_band", "diag_1", band_middle, diagnosis, 0, 100)

Counts = dict[str, dict[int, int]]  # how many members of a group have a value


@lru_cache(maxsize=4)
def counts(question: PatientQuestion) -> Counts:
    """The data as a table of counts: there are few values and few groups."""
    columns = [question.group, question.value]
    table = pq.read_table(data_file(FILE), columns=columns)
    seen = table.group_by(columns).aggregate([([], "count_all")])
    found: Counts = {}
    for row in seen.filter(pc.is_valid(seen[question.group])).to_pylist():
        group = question.read_group(row[question.group])
        if group is not None:
            members = found.setdefault(group, {})
            value = question.read_value(row[question.value])
            members[value] = members.get(value, 0) + row["count_all"]
    return dict(sorted(found.items()))


def channel(method: str, epsilon: Any, groups: Sequence[str], question: PatientQuestion) -> tuple[Keyed, str]:
    """The channel of a method, and a fingerprint."""
    budget, values = Decimal(str(epsilon)), Interval(question.low, question.high)
    if method == PUBLISHED:
        law = group_piecewise(budget / 2, budget / 2, groups=len(groups), values=values)
        return law, fingerprint(law)
    found = mechanism(method, Pair(Categories(groups), values), epsilon=budget)
    if not isinstance(found.channel, Keyed):
        raise TypeError("A group mechanism has a keyed channel.")
    return found.channel, found.fingerprint


def crowd(members: Counts, law: Keyed) -> GroupMoments:
    """The moments of each group."""
    rows = []
    for values in members.values():
        weights = np.array(list(values.values()), np.float64)
        first, second = np.array([[float(m) for m in need(law.inner, Numeric).moments(Fraction(v))] for v in values]).T
        size = weights.sum()
        mean = weights @ first / size
        rows.append((size, mean, weights @ (first - mean) ** 2 / size, weights @ (second - first**2) / size))
    return GroupMoments(*np.array(rows).T)


def cell(point: Mapping[str, Any], runs: int, seed: int, *, question: PatientQuestion) -> list[Row]:
    """One row for each group: the truth, the mean of the estimates, and their error in lengths of the range."""
    members = counts(question)
    law, mark = channel(point["method"], point["epsilon"], list(members), question)
    people = crowd(members, law)
    means = draw_means(Law.of(law), people, runs, np.random.default_rng(seed))
    errors = (means - people.mean) / (question.high - question.low)
    return [
        {
            "group": group,
            "members": int(people.size[place]),
            "truth": float(people.mean[place]),
            "estimate": float(means[:, place].mean()),
            **error_row(errors[:, place]),
            "median": float(np.median(np.abs(errors[:, place]))),
            "runs": runs,
            "fingerprint": mark,
        }
        for place, group in enumerate(members)
    ]


def _experiment(id_: str, title: str, question: PatientQuestion) -> Experiment:
    methods = (*METHODS, PUBLISHED)
    return Experiment(
        id=id_,
        paper=f"{PAPER}, in the manner of Figures 12 to 17",
        title=title,
        data=(FILE,),
        methods=methods,
        metric="mean and median of |estimate - mean of the group| / range",
        grid=(("method", methods), ("epsilon", EPSILONS)),
        quick=(("method", methods), ("epsilon", (1.0, 4.0))),
        runs=2000,
        quick_runs=200,
        cell=partial(cell, question=question),
        figure=Picture("epsilon", "median", "method", "group", log="xy"),
        columns=("method", "epsilon", "group", "members", "truth", "estimate", "error", "median"),
        needs=(FILE,),
    )


EXPERIMENTS = (
    _experiment("group-hospital-days-by-admission", "Days in hospital, by type of admission", DAYS_BY_ADMISSION),
    _experiment("group-age-by-sex", "Age of patients, by sex", AGE_BY_SEX),
    _experiment("group-age-by-diagnosis", "Age of patients, by the kind of the first diagnosis", AGE_BY_DIAGNOSIS),
)
