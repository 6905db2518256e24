"""The experiment on the decision of the adaptive mean: its grid, its table and its page."""

from __future__ import annotations

from collections.abc import Sequence

from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.means.laws import LAWS, NEEDS
from sottovoce_experiments.page import THOUSANDS, Page, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import MOST, Picture

PAGE = Page(
    "results/means-in-rounds.md",
    """\
# Means in rounds

How much adaptive means, means of several numbers and searches of a range gain over one round, and whether their
intervals hold. Each section is written by `sottovoce reproduce ID --pages docs`, with the protocols that ship.
""",
)
SIZES = ((1_000, 1.5), (1_000, 3.0), (20_000, 1.5), (20_000, 3.0), (20_000, 5.0))
BAR = 1.02  # of the error of one round


def summary(rows: Sequence[Row]) -> list[str]:
    """The worst ratio, and how many rows are below one."""
    worst = max(rows, key=lambda row: max(row["population"], row["sample"]))
    run = max(max(row["population worst"], row["sample worst"]) for row in rows)
    least = min(rows, key=lambda row: row["population"])
    shown = [row["sample coverage"] for row in rows] + [row["population coverage"] for row in rows]
    largest = max(worst["population"], worst["sample"])
    return [
        f"largest error over that of one round {largest:.3f} ({worst['answers']}, epsilon {worst['epsilon']:g},"
        f" n {worst['n']:,}), bar {BAR}; largest after any single first round {run:.3f}",
        f"smallest for the population {least['population']:.3f} ({least['answers']}, epsilon {least['epsilon']:g})",
        f"coverage {min(shown):.1%} to {max(shown):.1%} in {len(shown)} cells, mean {sum(shown) / len(shown):.1%}",
    ]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    error = max(max(row["population error"], row["sample error"]) for row in rows)
    return (
        "Root mean square error of `AdaptiveMeanRounds` over that of one round through `designed`, for the mean of the"
        f" population and of the participants. A line has {rows[0]['runs']} runs, four second rounds after each first"
        " one. Given a first round both errors are exact, so the largest standard error of a ratio is"
        f" {error:.4f}. `worst` is the largest ratio after any of these first rounds. Coverage in percent and `width`,"
        " half the 95 % interval over 1.96 root mean square errors, are of the drawn crowds. The rule that decides was"
        f" chosen on other laws (those of the page on the adaptive mean).\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="adaptive-mean-decision",
    title="The adaptive mean beside one round, on answers that nothing was chosen on",
    metric="root mean square error over that of one round",
    data=tuple(LAWS),
    methods=("AdaptiveMeanRounds",),
    grid=((("n", "epsilon"), SIZES), ("answers", tuple(LAWS))),
    quick=((("n", "epsilon"), SIZES[1:2]), ("answers", ("days in hospital", "evenly spread"))),
    runs=50,  # first rounds, each with several crowds of round two
    quick_runs=3,
    cell=Late("means.decided:cell"),
    figure=Picture("epsilon", "population", "answers", where=(("n", MOST),), guide=1.0, log=""),
    columns=("n", "epsilon", "answers", "adapted", "population", "sample", "population worst", "sample coverage"),
    summary=summary,
    needs=NEEDS,
    section=Section(
        page=PAGE,
        heading="## Adapting or not",
        text=text,
        lead=(THOUSANDS, "epsilon", "answers"),
        columns=(
            percent("adapted", 0, "adapted"),
            PageColumn("population", "population", ".3f"),
            PageColumn("worst", "population worst", ".3f"),
            percent("coverage", 1, "population coverage"),
            PageColumn("sample", "sample", ".3f"),
            PageColumn("worst", "sample worst", ".3f"),
            percent("coverage", 1, "sample coverage"),
            PageColumn("width", "sample width", ".2f"),
            percent("doubt", 0, "doubt"),
        ),
    ),
)
