"""Permutation tests where two samples answered through one mechanism: exact, whatever the number of reports."""

from __future__ import annotations

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.estimate.comparison.chi_square import along_simplex_many
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Offer
from sottovoce.estimate.frequency.evidence import from_cells

MOST_DRAWS = 1_000_000


def permutation_test(a: Estimate, b: Estimate, draws: int = 9999, seed: int | None = None) -> Test:
    """Test equal shares in two samples by exchanging reports between them.

    If nothing differs, every assignment of the reports to the two samples is equally likely: the counts of one sample
    are multivariate hypergeometric given those of both together. The p-value is valid for any number of reports.

    Args:
        a, b: Estimates of shares, of one mechanism that counts each report that can be sent (such as grr, hadamard).
        draws: Random assignments; the p-value is at least 1 / (draws + 1).
        seed: Repeats the draws; the operating system's randomness without one.
    """
    count = check_integer("draws", "permutation_test", draws, 99, MOST_DRAWS)
    for one in (a, b):
        if Offer.OUTPUT_TALLIES not in one.evidence.offers or len(one.sources) != 1:
            raise ParameterError(
                "A permutation test from tallies needs estimates of shares whose tally counts each report that can be"
                " sent, such as those of grr or hadamard; use sv.compare for others."
            )
    mechanism = a.mechanism
    if mechanism.fingerprint != b.mechanism.fingerprint:
        raise ParameterError("A permutation test needs one mechanism for both samples: their reports are exchanged.")
    (first,), (second,) = a.evidence.output_tallies(), b.evidence.output_tallies()
    pooled = first.cells + second.cells
    together = from_cells(mechanism, a.n + b.n, pooled)
    scores = together.cell_scores(mechanism, np.arange(mechanism.channel.inputs))
    covariance = covariance_at(mechanism, simplex(together.values())) * (1 / a.n + 1 / b.n)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(pooled, a.n, size=count, method="marginals")
    samples = np.vstack([first.cells, drawn])
    differences = samples @ scores.T / a.n - (pooled - samples) @ scores.T / b.n
    observed, *permuted = along_simplex_many(differences, covariance)
    # Rounding must not turn ties into smaller statistics.
    larger = int(np.count_nonzero(np.asarray(permuted) >= observed * (1 - 1e-9)))
    return Test(
        "Both samples have the same shares.",
        float(observed),
        (1 + larger) / (1 + count),
        "chi-square",
        effect=Effect("largest difference of a share", float(np.abs(differences[0]).max())),
        valid_given="each person was put into one of the samples at random. No other assumption is made.",
        sources=(*a.sources, *b.sources),
        simulated=a.simulated or b.simulated,
    )
