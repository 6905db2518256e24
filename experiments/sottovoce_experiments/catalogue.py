"""The list of experiments: one line each."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sottovoce.core.errors import ParameterError
from sottovoce_experiments import planned, words
from sottovoce_experiments.boxes import authors as boxes_authors
from sottovoce_experiments.boxes import compared as boxes
from sottovoce_experiments.boxes import coverage as boxes_coverage
from sottovoce_experiments.boxes import normals, table_8
from sottovoce_experiments.coverage import survey as survey_designs
from sottovoce_experiments.coverage import within_groups
from sottovoce_experiments.coverage.declared import distributions as studies_of_distributions
from sottovoce_experiments.coverage.declared import rounds as studies_of_rounds
from sottovoce_experiments.coverage.declared import shares as studies_of_shares
from sottovoce_experiments.coverage.declared import studies
from sottovoce_experiments.coverage.declared import unseen as studies_unseen
from sottovoce_experiments.distribution import (
    compared,
    designs,
    frontier,
    heaped,
    mixtures,
    pripl,
    range_decoders,
    range_designs,
    range_trees,
    reports,
    table_2,
    wave,
    wave_figures,
)
from sottovoce_experiments.distribution import decoders as distribution_decoders
from sottovoce_experiments.experiment import Experiment
from sottovoce_experiments.frequencies import compression, decoders, sok
from sottovoce_experiments.group_means import losses as group_losses
from sottovoce_experiments.group_means import real as group_real
from sottovoce_experiments.group_means import synthetic as group_synthetic
from sottovoce_experiments.hypotheses import null as null_tests
from sottovoce_experiments.hypotheses import planned_power
from sottovoce_experiments.hypotheses import power as power_of_tests
from sottovoce_experiments.hypotheses import watched as watched_tests
from sottovoce_experiments.means import decision as adaptive_decision
from sottovoce_experiments.means import ranges as range_search
from sottovoce_experiments.means import several as adaptive_several
from sottovoce_experiments.means import trimmed as trimmed_means
from sottovoce_experiments.over_time import alarms as series_alarms
from sottovoce_experiments.over_time import attacks as series_attacks
from sottovoce_experiments.over_time import compared as series_compared
from sottovoce_experiments.over_time import coverage as series_coverage
from sottovoce_experiments.over_time import formulas as series_formulas
from sottovoce_experiments.over_time import losses as series_losses
from sottovoce_experiments.quantiles import declared as quantiles
from sottovoce_experiments.quantiles import promise as quantile_promises
from sottovoce_experiments.quantiles import published as published_quantiles
from sottovoce_experiments.queries import compared as linear_queries
from sottovoce_experiments.sets import baskets as set_baskets
from sottovoce_experiments.sets import designs as set_designs
from sottovoce_experiments.sets import key_values
from sottovoce_experiments.sets import rankings as set_rankings
from sottovoce_experiments.survey import tables as survey
from sottovoce_experiments.tables import authors as table_authors
from sottovoce_experiments.tables import bits as table_bits
from sottovoce_experiments.tables import coverage as table_coverage
from sottovoce_experiments.tables import designs as table_designs
from sottovoce_experiments.tables import fits as table_fits
from sottovoce_experiments.tables import markov as table_markov
from sottovoce_experiments.tables import numbers as table_numbers
from sottovoce_experiments.tables import published as table_published
from sottovoce_experiments.tables import second_round as table_rounds

EXPERIMENTS: tuple[Experiment, ...] = (
    *group_synthetic.EXPERIMENTS,
    *group_real.EXPERIMENTS,
    group_losses.EXPERIMENT,
    planned.EXPERIMENT,
    null_tests.EXPERIMENT,
    planned_power.EXPERIMENT,
    planned_power.FURTHER_TESTS,
    power_of_tests.EXPERIMENT,
    watched_tests.EXPERIMENT,
    *sok.EXPERIMENTS,
    decoders.EXPERIMENT,
    compression.EXPERIMENT,
    *survey.EXPERIMENTS,
    wave.EXPERIMENT,
    distribution_decoders.EXPERIMENT,
    heaped.EXPERIMENT,
    frontier.EXPERIMENT,
    reports.EXPERIMENT,
    words.EXPERIMENT,
    table_2.EXPERIMENT,
    *wave_figures.EXPERIMENTS,
    designs.EXPERIMENT,
    compared.EXPERIMENT,
    mixtures.EXPERIMENT,
    range_designs.EXPERIMENT,
    range_trees.EXPERIMENT,
    range_decoders.EXPERIMENT,
    pripl.EXPERIMENT,
    boxes.EXPERIMENT,
    normals.EXPERIMENT,
    table_8.EXPERIMENT,
    boxes_authors.EXPERIMENT,
    boxes_coverage.EXPERIMENT,
    set_designs.EXPERIMENT,
    set_baskets.EXPERIMENT,
    set_rankings.EXPERIMENT,
    key_values.EXPERIMENT,
    key_values.COVERAGE,
    table_designs.EXPERIMENT,
    table_coverage.EXPERIMENT,
    table_fits.EXPERIMENT,
    table_bits.EXPERIMENT,
    table_bits.FITS,
    table_markov.EXPERIMENT,
    table_numbers.EXPERIMENT,
    table_published.EXPERIMENT,
    table_authors.EXPERIMENT,
    table_rounds.EXPERIMENT,
    quantiles.EXPERIMENT,
    published_quantiles.EXPERIMENT,
    quantile_promises.EXPERIMENT,
    adaptive_decision.EXPERIMENT,
    adaptive_several.EXPERIMENT,
    range_search.EXPERIMENT,
    trimmed_means.EXPERIMENT,
    linear_queries.EXPERIMENT,
    series_compared.EXPERIMENT,
    series_formulas.EXPERIMENT,
    series_coverage.EXPERIMENT,
    series_alarms.EXPERIMENT,
    series_attacks.EXPERIMENT,
    series_losses.EXPERIMENT,
    survey_designs.EXPERIMENT,
    within_groups.EXPERIMENT,
    *studies.STUDIES,
    *studies_of_distributions.STUDIES,
    *studies_of_shares.STUDIES,
    *studies_of_rounds.STUDIES,
    *studies_unseen.STUDIES,
)


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
