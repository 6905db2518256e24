"""Seven published ways to publish a histogram at every epoch with one epsilon for any w epochs in a row.

From Ren et al., "LDP-IDS: local differential privacy for infinite data streams", SIGMOD 2022. LBU and LPU divide the
budget or the participants evenly over a window. LSP asks everyone once in a window and repeats the last value. LBD,
LBA, LPD and LPA spend one half to notice whether the stream has moved, and publish only then: D hands out half of what
is left, A gives an epoch what the epochs skipped before it have saved.

All runs are computed at once: arrays have one row for each run. How reports are drawn is a function of its own, so that
the same steps are simulated from counts and enumerated for one person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NAMES = ("LBU", "LSP", "LBD", "LBA", "LPU", "LPD", "LPA")
FEWEST = 3  # participants of a publication
SMALLEST = 1e-9  # epsilon of a publication that is not made

# Shares from the reports of so many participants with these budgets, for the runs of a mask: (part, n, epsilon, mask).
Ask = Callable[[int, Floats, Floats, NDArray[np.bool_]], Floats]


def oracle(d: int, epsilon: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """How often a report supports its own category and any other, and where randomized response is used, else OUE."""
    odds = np.exp(epsilon)
    direct = d < 3 * odds + 2
    return np.where(direct, odds / (odds + d - 1), 0.5), np.where(direct, 1 / (odds + d - 1), 1 / (odds + 1)), direct


def mean_variance(d: int, epsilon: Floats, n: Floats) -> Floats:
    """The variance of a share that n participants estimate, averaged over all categories."""
    own, other, _ = oracle(d, epsilon)
    slope = own - other
    noise = other * (1 - other) / slope**2 + (1 - own - other) / slope / d
    return np.asarray(noise / np.maximum(n, 1))


@dataclass(frozen=True)
class Division:
    """One of the seven, for N participants, d categories, a budget and a window of w epochs."""

    name: str
    participants: int
    d: int
    epsilon: float
    window: int

    @property
    def divides_people(self) -> bool:
        """Whether participants are divided; else each participant's budget is."""
        return self.name[1] == "P"

    def run(self, epochs: int, runs: int, ask: Callable[[int], Ask]) -> tuple[Floats, Floats]:
        """Published shares (epochs x runs x d), and what each epoch used (epochs x runs): epsilon, or participants."""
        if self.name in ("LBU", "LPU", "LSP"):
            return self._fixed(epochs, runs, ask)
        return self._adaptive(epochs, runs, ask)

    def _fixed(self, epochs: int, runs: int, ask: Callable[[int], Ask]) -> tuple[Floats, Floats]:
        people = self.participants // self.window if self.name == "LPU" else self.participants
        budget = self.epsilon / self.window if self.name == "LBU" else self.epsilon
        published, used = np.zeros((epochs, runs, self.d)), np.zeros((epochs, runs))
        for epoch in range(epochs):
            if self.name == "LSP" and epoch % self.window:
                published[epoch] = published[epoch - 1]
                continue
            everyone = np.ones(runs, bool)
            published[epoch] = ask(epoch)(1, np.full(runs, float(people)), np.full(runs, budget), everyone)
            used[epoch] = people if self.divides_people else budget
        return published, used

    def _adaptive(self, epochs: int, runs: int, ask: Callable[[int], Ask]) -> tuple[Floats, Floats]:
        total = float(self.participants) if self.divides_people else self.epsilon
        unit = total / (2 * self.window)
        if self.divides_people:
            unit = np.floor(unit)
        published, used, spent = np.zeros((epochs, runs, self.d)), np.zeros((epochs, runs)), np.zeros((epochs, runs))
        last, last_epoch, last_amount = np.zeros((runs, self.d)), np.full(runs, -1), np.zeros(runs)
        everyone, all_people = np.ones(runs, bool), np.full(runs, float(self.participants))
        for epoch in range(epochs):
            reports = ask(epoch)
            if self.divides_people:
                first = reports(0, np.full(runs, unit), np.full(runs, self.epsilon), everyone)
                noise = mean_variance(self.d, np.full(runs, self.epsilon), np.full(runs, unit))
            else:
                first = reports(0, all_people, np.full(runs, unit), everyone)
                noise = mean_variance(self.d, np.full(runs, unit), all_people)
            moved = np.mean((first - last) ** 2, axis=1) - noise
            if self.name[2] == "D":
                left = total / 2 - spent[max(0, epoch - self.window + 1) : epoch].sum(axis=0)
                amount, waits = left / 2, np.zeros(runs, bool)
            else:
                begun = last_epoch >= 0
                pays_back = np.maximum(np.round(last_amount / unit) - 1, 0)
                waits = begun & (epoch - last_epoch <= pays_back)
                saved = np.where(begun, epoch - last_epoch - pays_back, epoch + 1)
                amount = unit * np.clip(saved, 0, self.window)
            if self.divides_people:
                amount = np.floor(amount)
            can = ~waits & (amount >= (FEWEST if self.divides_people else SMALLEST))
            amount = np.where(can, amount, FEWEST if self.divides_people else SMALLEST)
            n = amount if self.divides_people else all_people
            budget = np.full(runs, self.epsilon) if self.divides_people else amount
            publishes = can & ((moved > mean_variance(self.d, budget, n)) | (epoch == 0))
            second = reports(1, n, budget, publishes)
            last = np.where(publishes[:, None], second, last)
            spent[epoch] = np.where(publishes, amount, 0)
            last_epoch = np.where(publishes, epoch, last_epoch)
            last_amount = np.where(publishes, amount, last_amount)
            published[epoch], used[epoch] = last, unit + spent[epoch]
        return published, used


def from_counts(counts: NDArray[np.int64], rng: np.random.Generator) -> Ask:
    """Shares from drawn counts of supports: the exact law of the sums of all reports."""

    def ask(part: int, n: Floats, epsilon: Floats, mask: NDArray[np.bool_]) -> Floats:
        asked = _drawn(counts, np.asarray(n, np.int64), rng)
        size, d = asked.sum(axis=1), len(counts)
        own, other, direct = oracle(d, epsilon)
        supports = np.zeros(asked.shape)
        if direct.any():
            kept = rng.binomial(asked, np.where(direct, own - other, 0)[:, None])
            rest = rng.multinomial(size - kept.sum(axis=1), np.full(d, 1 / d))
            supports = np.where(direct[:, None], kept + rest, supports)
        if not direct.all():
            bits = rng.binomial(asked, 0.5) + rng.binomial(size[:, None] - asked, np.where(direct, 0, other)[:, None])
            supports = np.where(direct[:, None], supports, bits)
        return np.asarray((supports / size[:, None] - other[:, None]) / (own - other)[:, None])

    return ask


def _drawn(counts: NDArray[np.int64], n: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """How many of n people, drawn without replacement, hold each category."""
    if (n >= counts.sum()).all():
        return np.tile(counts, (len(n), 1))
    taken, left, others = np.zeros((len(n), len(counts)), np.int64), n.copy(), int(counts.sum())
    for place, count in enumerate(counts[:-1]):
        others -= int(count)
        taken[:, place] = rng.hypergeometric(count, others, left)
        left = left - taken[:, place]
    taken[:, -1] = left
    return taken


def window_loss(division: Division, epochs: int) -> float:
    """The exact loss of one person alone over any two histories of yes and no that differ within one window.

    For the ways that divide a budget. The person is the only participant, so every step of the collector depends on
    their reports: each history of reports is enumerated, with its probability under each history of answers.
    """
    if division.divides_people or division.d != 2 or division.participants != 1:
        raise ValueError("Losses are enumerated for one participant, two categories and divided budgets.")
    parts = 1 if division.name in ("LBU", "LSP") else 2
    paths = 1 << (parts * epochs)
    bits = (np.arange(paths)[:, None] >> np.arange(parts * epochs)) & 1
    logs = np.zeros((epochs, 2, paths))  # of the reports of each epoch, under both answers

    def ask(epoch: int) -> Ask:
        def reports(part: int, n: Floats, epsilon: Floats, mask: NDArray[np.bool_]) -> Floats:
            sent = bits[:, epoch * parts + min(part, parts - 1)]
            own, other, _ = oracle(2, epsilon)
            for answer in (0, 1):
                chance = np.where(sent == answer, own, other)
                silent = np.where(sent == 0, 1.0, 0.0)  # no report is one path
                with np.errstate(divide="ignore"):
                    logs[epoch, answer] += np.log(np.where(mask, chance, silent))
            shares = np.where(sent[:, None] == np.arange(2), 1.0, 0.0)
            return np.asarray((shares - other[:, None]) / (own - other)[:, None])

        return reports

    division.run(epochs, paths, ask)
    possible = np.isfinite(logs).all(axis=(0, 1))
    # Given all reports, epochs add up; the worst answers of each epoch are chosen one by one.
    gaps = np.abs(logs[:, 0, possible] - logs[:, 1, possible])
    sums = np.cumsum(np.vstack([np.zeros((1, gaps.shape[1])), gaps]), axis=0)
    width = min(division.window, epochs)
    return float((sums[width:] - sums[:-width]).max())
