"""Pictures of series."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.figures import plain


def compared(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error of each of our ways over the best published one, a mark for each cell."""
    return _marks(experiment, rows, ("unbiased", "online", "retrospective"), ("stream", "epsilon", "w"), 1.0)


def coverage(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Coverage of each kind of interval, a mark for each design."""
    fields = ("lowest", "highest", "band", "change", "trend")
    return _marks(experiment, rows, fields, ("asked", "target", "changes"), 0.95, log=False)


def formulas(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Errors over their formulas, a mark for each."""
    return _marks(experiment, rows, ("known", "found"), ("rho", "kind"), 1.0, log=False)


def alarms(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The share of series with a false alarm."""
    return _marks(experiment, rows, ("false",), ("epochs", "people", "jump"), 0.05, log=False)


def losses(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The losses of each way."""
    return _marks(experiment, rows, ("report", "unchanged", "window", "sequence"), ("way",), 1.0, log=False)


def attacks(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The share of right guesses of both attacks, beside the bound."""
    fields = ("averaged", "bound", "inferred")
    return _marks(experiment, rows, fields, ("epsilon", "waves", "window"), 0.5, log=False)


def _marks(
    experiment: Experiment,
    rows: Sequence[Row],
    fields: Sequence[str],
    names: Sequence[str],
    line: float,
    *,
    log: bool = True,
) -> Figure:
    figure, axes = plain(experiment.title)
    for field in fields:
        axes.plot([row[field] for row in rows], ".", label=field)
    axes.axhline(line, color="grey", linestyle=":")
    if log:
        axes.set_yscale("log")
    axes.set_xticks(range(len(rows)), [", ".join(str(row[name]) for name in names) for row in rows], rotation=90)
    axes.set_ylabel(experiment.metric)
    axes.legend(fontsize="small")
    return figure
