"""The list of experiments: one line each."""

from __future__ import annotations

from sottovoce.core.errors import ParameterError
from sottovoce.papers import group_losses, group_real, group_synthetic
from sottovoce.papers.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *group_synthetic.EXPERIMENTS,
    *group_real.EXPERIMENTS,
    group_losses.EXPERIMENT,
)


def find(id_: str) -> Experiment:
    """The experiment of this id."""
    for experiment in EXPERIMENTS:
        if experiment.id == id_:
            return experiment
    known = ", ".join(experiment.id for experiment in EXPERIMENTS)
    raise ParameterError(f"There is no such experiment. Known: {known}.")
