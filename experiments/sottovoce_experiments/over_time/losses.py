"""What published ways to answer again and again lose: per report, unchanged, per window, over sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from typing import Any

from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.over_time import devices
from sottovoce_experiments.over_time.compared import PAGE
from sottovoce_experiments.over_time.ldp_ids import Division, window_loss
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture

WAVES, WINDOW, EPSILON = 4, 2, 1.0
# A name, how many answers there are, the device, and what is claimed for whom.
METHODS: dict[str, tuple[int, Callable[[], devices.Device], str]] = {
    "fresh reports": (2, lambda: devices.fresh(EPSILON), "each report"),
    "window of 2": (2, lambda: devices.scheduled(EPSILON, WINDOW), "a window of 2"),
    "one wave each": (2, lambda: devices.scheduled(EPSILON, WAVES), "the sequence"),
    "personal window of 2": (2, lambda: devices.fresh(EPSILON / WINDOW), "a window of 2"),
    "memo alone": (2, lambda: devices.memo(EPSILON, inf), "an unchanged value"),
    "RAPPOR": (2, lambda: devices.memo(EPSILON, 2 * EPSILON), "an unchanged value"),
    "LOLOHA": (3, lambda: devices.hashed_memo(3, 2, EPSILON, 2 * EPSILON), "an unchanged value"),
    "1BitMean": (3, lambda: devices.rounded_memo(3, EPSILON, inf), "an unchanged value"),
    "1BitMean with flips": (3, lambda: devices.rounded_memo(3, EPSILON, 2 * EPSILON), "an unchanged value"),
    "d-bit flip": (3, lambda: devices.bits_memo(3, 1, EPSILON, inf), "an unchanged value"),
    "d-bit flip with flips": (3, lambda: devices.bits_memo(3, 1, EPSILON, 2 * EPSILON), "an unchanged value"),
    "Thresh, 1 change": (2, lambda: devices.votes(EPSILON / 4, EPSILON / 4, 1), "the sequence"),
    "tree of changes": (2, lambda: devices.tree(EPSILON, 1), "the sequence, 1 change"),
}
DIVISIONS = ("LBU", "LSP", "LBD", "LBA")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The losses of one way, by enumeration."""
    name = str(point["way"])
    if name in DIVISIONS:
        division = Division(name, 1, 2, EPSILON, WINDOW)
        found = {
            "report": window_loss(Division(name, 1, 2, EPSILON, WINDOW), 1) if name != "LSP" else EPSILON,
            "unchanged": None,
            "window": window_loss(division, WAVES),
            "sequence": None,
        }
        return [{**point, "claim": "a window of 2", **found}]
    values, build, claim = METHODS[name]
    device = build()
    return [
        {
            **point,
            "claim": claim,
            "report": devices.loss(device, values, 1),
            "unchanged": devices.loss(device, values, WAVES, constant=True),
            "window": devices.loss(device, values, WAVES, WINDOW),
            "sequence": devices.loss(device, values, WAVES),
        }
    ]


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Text above the table."""
    endless = [str(row["way"]) for row in rows if row["sequence"] is not None and not isfinite(row["sequence"])]
    return (
        f"Exact losses of one device over {WAVES} waves, by enumeration of all histories of answers and all messages:"
        " of the first report; of all reports where the answer never changes; over histories that differ within any"
        f" {WINDOW} waves in a row; over all histories. Answers are yes or no, or three values. Memos are kept with"
        f" epsilon {EPSILON:g}; fresh noise on top of them has epsilon {2 * EPSILON:g}. *Claim* says whose epsilon"
        f" {EPSILON:g} is. A memo protects an unchanged value and nothing more. Without fresh noise"
        f" ({', '.join(endless)}) some histories can be excluded, so the loss is infinite. `Thresh` loses at most twice"
        " its votes and answers. The tree of changes, as published, loses half of its epsilon where a yes or no changes"
        " once. `LBU`, `LSP`, `LBD` and `LBA` are enumerated for a person who is alone, on whose reports every step of"
        " the collector depends."
    )


EXPERIMENT = Experiment(
    id="over-time-losses",
    title="Losses of ways to answer again",
    metric="epsilon",
    methods=(*METHODS, *DIVISIONS),
    grid=(("way", (*METHODS, *DIVISIONS)),),
    quick=(("way", ("RAPPOR", "LBA")),),
    runs=1,
    quick_runs=1,
    cell=Late("over_time.losses:cell"),
    figure=Picture("way", ("report", "unchanged", "window", "sequence"), dots=True, guide=1.0, log=""),
    columns=("way", "claim", "report", "unchanged", "window", "sequence"),
    section=Section(
        page=PAGE,
        heading="## Losses",
        text=text,
        lead=("way", "claim"),
        columns=tuple(
            PageColumn(head, field, ".3f")
            for head, field in (
                ("one report", "report"),
                ("unchanged value", "unchanged"),
                ("window of 2", "window"),
                ("sequence", "sequence"),
            )
        ),
    ),
)
