"""Decoding distributions: whole decodes at the stop of their authors, one iteration of EM by the number of buckets."""

from __future__ import annotations

from functools import partial

import numpy as np

import sottovoce as sv
from benchmarks.timing import Row, clock, median
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.iterate import iterate


def decoders(quick: bool) -> list[Row]:
    """100,000 reports of Beta(5, 2) through the square wave at epsilon 1."""
    answers = np.random.default_rng(11).beta(5, 2, 100_000)
    rows = []
    for buckets in (256, 1024):
        for decoder, target in (("ems", 0.1), ("em", None)):
            m = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=buckets)
            tally = m.tally(m.privatize(answers, seed=1))
            evidence = from_cells(m, tally.n, tally.cells)
            decode = partial(sv.decoder(decoder).decode, evidence)
            decode()
            seconds = median(clock(decode) for _ in range(3 if quick else 7))
            rows.append(Row(f"decode {buckets} buckets by {decoder}", seconds, "s", target, "max"))
    return [*rows, *iterations(answers, quick)]


def iterations(answers: np.ndarray, quick: bool) -> list[Row]:
    """Nanoseconds of one iteration for each bucket: about the same at every size."""
    rows = []
    for buckets in (1024, 8192, 65_536):
        m = sv.mechanism("square-wave-discrete", sv.Interval(0, 1), epsilon=1, buckets=buckets)
        codes = np.minimum((answers * buckets).astype(np.int64), buckets - 1)
        counts = sv.simulate_counts(m, np.bincount(codes, minlength=buckets), seed=1).cells
        mixture = from_cells(m, len(answers), counts).likelihood()
        count = max(10, 200_000 // buckets) * (1 if quick else 5)
        work = partial(iterate, mixture, stop=1e-300, smooth=False, max_iterations=count)
        work()
        seconds = median(clock(work) for _ in range(3 if quick else 5))
        rows.append(Row(f"one iteration of EM, {buckets} buckets", 1e9 * seconds / count / buckets, "ns/bucket"))
    return rows
