"""The list of experiments: one line for each module that declares some."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module

from sottovoce.core.errors import ParameterError
from sottovoce_experiments.experiment import PACKAGE, Experiment

MODULES = (
    "group_means.synthetic",
    "group_means.real",
    "group_means.figures",
    "group_means.losses",
    "group_means.orders",
    "group_means.shuffle",
    "planned",
    "decision",
    "hypotheses.null",
    "hypotheses.planned_power",
    "hypotheses.power",
    "hypotheses.watched",
    "means.sok",
    "means.sok_vectors",
    "frequencies.sok",
    "papers.facts",
    "frequencies.decoders",
    "frequencies.compression",
    "survey.tables",
    "survey.vectors",
    "distribution.wave",
    "distribution.decoders",
    "distribution.heaped",
    "distribution.frontier",
    "distribution.reports",
    "words",
    "distribution.table_2",
    "distribution.wave_figures",
    "distribution.designs",
    "distribution.compared",
    "distribution.ordinal",
    "distribution.mixtures",
    "distribution.range_designs",
    "distribution.range_trees",
    "distribution.range_decoders",
    "distribution.pripl",
    "boxes.compared",
    "boxes.normals",
    "boxes.table_8",
    "boxes.authors",
    "boxes.coverage",
    "sets.designs",
    "sets.baskets",
    "sets.rankings",
    "sets.places",
    "sets.mining",
    "sets.key_values",
    "frequent_words.found",
    "frequent_words.english",
    "frequent_words.rounds",
    "tables.designs",
    "tables.coverage",
    "tables.fits",
    "tables.bits",
    "tables.markov",
    "tables.numbers",
    "tables.published",
    "tables.authors",
    "tables.second_round",
    "quantiles.declared",
    "quantiles.published",
    "quantiles.promise",
    "means.aaa",
    "means.decision",
    "means.first_rounds",
    "means.several",
    "means.ranges",
    "means.range_others",
    "means.trimmed",
    "queries.compared",
    "over_time.compared",
    "over_time.formulas",
    "over_time.coverage",
    "over_time.alarms",
    "over_time.attacks",
    "over_time.losses",
    "coverage.survey",
    "coverage.within_groups",
    "coverage.declared.studies",
    "coverage.declared.distributions",
    "coverage.declared.shares",
    "coverage.declared.rounds",
    "coverage.declared.unseen",
)


def _declared(module: str) -> Iterator[Experiment]:
    """The experiments of a module, in the order in which they stand there."""
    for value in vars(import_module(f"{PACKAGE}.{module}")).values():
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Experiment))


EXPERIMENTS = tuple({one.id: one for module in MODULES for one in _declared(module)}.values())


def find(id_: str) -> Experiment:
    """The experiment of this id."""
    for experiment in EXPERIMENTS:
        if experiment.id == id_:
            return experiment
    known = ", ".join(experiment.id for experiment in EXPERIMENTS)
    raise ParameterError(f"Unknown experiment. Known: {known}.")


def matching(pattern: str) -> list[Experiment]:
    """The experiments whose ids match a pattern such as `coverage-*`."""
    found = [experiment for experiment in EXPERIMENTS if fnmatchcase(experiment.id, pattern)]
    return found or [find(pattern)]
