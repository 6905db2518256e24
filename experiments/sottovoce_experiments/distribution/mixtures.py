"""PrivGMM: how often a mixture of two Gaussians is found, refused or wrong, by noise, epsilon and participants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from scipy.special import ndtr

from sottovoce.core.domain import Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.decoders.gmm import GmmDecoder, MixtureFit
from sottovoce.mechanisms.distribution import gaussian
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import Page, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import Picture

DELTA = "0.00001"
BUCKETS = 32
MODES = {
    "apart": ((0.5, 0.3, 0.07), (0.5, 0.7, 0.08)),
    "one mode": ((1.0, 0.45, 0.12),),
}
CENTRE, WEIGHT = 0.1, 0.15  # a fit within these of the truth is right
PAGE = Page(
    "results/mixtures.md",
    "# Mixtures of Gaussians\n\nHow many people it takes to find two groups of answers with the decoder `gmm`,"
    " and what it does with fewer. `sottovoce reproduce gaussian-mixtures --pages docs` writes this page.\n",
)


def made(noise: str, epsilon: float) -> Mechanism:
    """The mechanism: Gaussian noise as in PrivGMM, or a square wave."""
    domain = Interval(0, 1)
    if noise == "Gaussian":
        return gaussian.build(domain, epsilon=epsilon, delta=DELTA, buckets=BUCKETS)
    return mechanism("square-wave-discrete", domain, epsilon=epsilon, buckets=BUCKETS)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Tallies are drawn from the law of the reports; the answers are those of the mixture, cut off at the ends."""
    asked, rng = made(point["noise"], point["epsilon"]), np.random.default_rng(seed)
    modes, edges = MODES[point["answers"]], np.linspace(0, 1, BUCKETS + 1)
    shares = sum(
        weight * np.diff(ndtr((edges - centre) / spread)) / np.ptp(ndtr((np.array([0, 1]) - centre) / spread))
        for weight, centre, spread in modes
    )
    law = np.asarray(shares) @ np.array([law_row(asked.channel, code) for code in range(BUCKETS)])
    refused = right = 0
    for _ in range(runs):
        tally = Tally(asked, point["n"], rng.multinomial(point["n"], law / law.sum()))
        try:
            fit = cast(MixtureFit, asked.estimate(tally, decoder=GmmDecoder(2)).fit)
        except ParameterError:
            refused += 1
            continue
        found = sorted(fit.components, key=lambda one: one[1])
        near = (
            abs(own[0] - true[0]) <= WEIGHT and abs(own[1] - true[1]) <= CENTRE
            for own, true in zip(found, modes, strict=False)
        )
        right += len(modes) == 2 and all(near)
    return [
        {**point, "runs": runs, "refused": refused / runs, "right": right / runs, "wrong": 1 - (refused + right) / runs}
    ]


def text(rows: Sequence[Row]) -> str:
    """What was measured, and why the published form is not offered as a method of its own."""
    return (
        "PrivGMM (Diao and others, DASFAA 2020) adds noise to every answer on the device, and fits a mixture of"
        " Gaussians by EM in which both the component and the answer behind the noise are latent. `Gaussian` is that:"
        f" discrete Gaussian noise on one of {BUCKETS} buckets with the least deviation for (epsilon, {DELTA}), and the"
        " decoder `gmm`. `square wave` is the same decoder on reports with the same epsilon and no delta. One"
        " population has two groups of answers, the other a single one. A fit is *right* if all centres are within"
        f" {CENTRE:g} and all weights within {WEIGHT:g} of the truth; it is *refused* if the reports do not tell two"
        " components from one, so that the decoder would give back its start. With one group, every fit that is not"
        f" refused counts as wrong, and 5 % is the level of the test. {rows[0]['runs']} runs a line. Nothing was"
        " tuned on these populations."
    )


EXPERIMENT = Experiment(
    id="gaussian-mixtures",
    title="Mixtures of two Gaussians from noisy reports: found, refused or wrong",
    metric="share of runs",
    methods=("gaussian-distribution", "square-wave-discrete", "gmm"),
    paper="Diao et al., PrivGMM, DASFAA 2020",
    grid=(
        ("noise", ("Gaussian", "square wave")),
        ("epsilon", (1.0, 8.0)),
        ("n", (20_000, 1_000_000)),
        ("answers", ("apart", "one mode")),
    ),
    quick=(("noise", ("square wave",)), ("epsilon", (8.0,)), ("n", (20_000,)), ("answers", ("apart",))),
    runs=8,
    quick_runs=2,
    cell=Late("distribution.mixtures:cell"),
    figure=Picture("n", "right", ("noise", "epsilon"), where=(("answers", "apart"),), log="x"),
    columns=("noise", "epsilon", "n", "answers", "right", "refused", "wrong"),
    section=Section(
        page=PAGE,
        heading="## Found, refused or wrong",
        text=text,
        lead=("noise", "epsilon", PageColumn("n", "n", ","), "answers"),
        columns=(percent("right", 0, "right"), percent("refused", 0, "refused"), percent("wrong", 0, "wrong")),
    ),
)
