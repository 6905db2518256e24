"""Pictures of means in rounds."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.figures import plain


def decision(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error over that of one round by epsilon, with a line for each kind of answers."""
    return lines(experiment, rows, by="answers", across="epsilon", of="population", label="error over one round")


def several(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error over that of the best one-round mechanism by epsilon, with a line for each number of dimensions."""
    return lines(experiment, rows, by="d", across="epsilon", of="ratio", label="error over the best of one round")


def ranges(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The error over that of the oracle by epsilon, with a line for each kind of answers."""
    return lines(experiment, rows, by="answers", across="epsilon", of="ratio", label="error over the oracle")


def lines(experiment: Experiment, rows: Sequence[Row], *, by: str, across: str, of: str, label: str) -> Figure:
    """One number over an axis, at the largest number of participants, with a line for each value of another axis."""
    figure, axes = plain(experiment.title)
    most = max(row["n"] for row in rows)
    for name in dict.fromkeys(row[by] for row in rows):
        own = [row for row in rows if row[by] == name and row["n"] == most]
        axes.plot([row[across] for row in own], [row[of] for row in own], marker=".", label=str(name))
    axes.axhline(1, color="grey", linestyle=":")
    axes.set_xlabel(across)
    axes.set_ylabel(f"{label}, n {most:,}")
    axes.legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize="small")
    return figure


def trimmed(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Coverage by epsilon, with a line for each kind of answers."""
    own = [row for row in rows if row["target"] == "trimmed"]
    return lines(experiment, own, by="answers", across="epsilon", of="coverage", label="coverage of the trimmed mean")
