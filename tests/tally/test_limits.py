"""Integers that no reports can give are no tally: they would be estimated as if they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel import Each
from sottovoce.core.domain import KeyValue
from sottovoce.core.registry import fits
from sottovoce.core.registry import mechanism as registered
from sottovoce.core.statistic.each import CountEach
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.moments import Moments
from tests.each import for_each

TEN, N = sv.Integers(0, 9), 1000
COHORTS = ("cms", "pcs", "rappor", "one-time-rappor", "o-rappor")
SEEDS = ("flh", "hrr", "hcms", "o-rr")


def named(name: str, **options: Any) -> sv.Mechanism:
    return sv.mechanism(name, TEN, epsilon=1, **options)


def real(mechanism: sv.Mechanism, n: int = N) -> np.ndarray:
    cells: np.ndarray = mechanism.tally(mechanism.privatize(np.arange(n) % 10, seed=1)).cells
    return cells


def refused(mechanism: sv.Mechanism, cells: np.ndarray, match: str, n: int = N) -> None:
    with pytest.raises(sv.MismatchError, match=match):
        sv.Tally(mechanism, n, cells)


@for_each("name", COHORTS)
def test_cohorts_have_all_reports_once_and_no_more_bits_than_reports(name: str) -> None:
    mechanism = named(name)
    cells, width = real(mechanism), mechanism.statistic.limits(mechanism.channel).rows
    assert width is not None and sv.Tally(mechanism, N, cells).n == N
    refused(mechanism, np.zeros_like(cells), "0 reports, not 1000")
    everywhere = cells.copy()
    everywhere[::width] = N
    refused(mechanism, everywhere, "reports, not 1000")
    more = cells.copy()
    more[1] = more[0] + 1
    refused(mechanism, more, "more than the reports of its row")
    moved = cells.copy()
    moved[0] += 1
    refused(mechanism, moved, "1001 reports, not 1000")


@for_each("name", SEEDS)
def test_functions_with_numbers_have_all_reports_once(name: str) -> None:
    cells = real(named(name))
    refused(named(name), np.zeros_like(cells), "sum to 0, not to 1000")
    cells = cells.copy()
    cells[0] += 1
    refused(named(name), cells, "sum to 1001, not to 1000")


def test_sets_support_as_many_codes_as_they_have() -> None:
    sets = sv.mechanism("subset", TEN, epsilon=1, w=3)
    cells = real(sets).copy()
    assert cells.sum() == 3 * N
    cells[4] -= 1
    refused(sets, cells, "sum to 2999, not to 3000: 3 for each")
    refused(sets, np.zeros(10, np.int64), "sum to 0")


def test_public_sets_lose_the_codes_beyond_the_last() -> None:
    for size, exact in ((7, True), (10, False)):  # the order of the field is 7 and 11
        mechanism = sv.mechanism("rws", sv.Integers(0, size - 1), epsilon="0.5")
        ((_, least, most),) = mechanism.statistic.limits(mechanism.channel).sums
        assert (least == most) == exact and most > 1
        for report in range(mechanism.channel.outputs):
            for words in ((3, 1), (5, 0), (2**63, 7)):
                if mechanism.channel.map.accepts(words):
                    found = sum(amount for _, amount in mechanism.statistic.add(mechanism.channel, report, words))
                    assert least <= found <= most
        refused(mechanism, np.full(size, N), "sum to")
        refused(mechanism, np.zeros(size, np.int64), "sum to 0")


def test_of_codes_that_were_asked_about_no_more_are_supported() -> None:
    flip = named("d-bit-flip", d=4)
    cells = real(flip).copy()
    assert cells[10:].sum() == 4 * N
    for place, change, match in ((3, cells[13] - cells[3] + 1, "more reports than were asked"), (13, 1, "sum to 4001")):
        wrong = cells.copy()
        wrong[place] += change
        refused(flip, wrong, match)


@for_each("name", ["key-mask", "key-cells"])
def test_reports_about_keys_or_ends_have_the_elements_of_their_kind(name: str) -> None:
    films = KeyValue(["ant", "bee", "cat", "dog"], sv.Integers(1, 5), 2)
    mechanism = registered(name, films, epsilon=1)
    cells = mechanism.tally(mechanism.privatize([{"ant": 3}, {"bee": 5, "cat": 1}, {}] * 100, seed=1)).cells
    assert sv.Tally(mechanism, 300, cells).n == 300
    about_ends = cells[0]
    for place, count in ((1, 301 - about_ends), (7, about_ends + 1), (0, 301 - cells[1:7].max()), (0, 0)):
        wrong = cells.copy()
        wrong[place] = count
        refused(mechanism, wrong, "No 300 reports", 300)
    if name == "key-mask":  # a report about cells contains all elements of a cell, or none
        for place in (1, 7):
            wrong = cells.copy()
            wrong[place] -= 1
            refused(mechanism, wrong, "No 300 reports", 300)


def test_groups_parts_and_combinations_have_all_reports_once() -> None:
    grouped = sv.mechanism(
        "group-bernoulli", sv.GroupMean(sv.Categories(["a", "b"]), sv.Interval(0, 1)).domain, epsilon=1
    )
    refused(grouped, np.array([600, 0, 500, 0]), "sum to 1100")
    pair = Each((named("grr").channel, named("subset", w=2).channel))
    apart = CountEach().limits(pair)
    assert [(part.indices(20), least, most) for part, least, most in apart.sums] == [
        ((0, 10, 1), 1, 1),
        ((10, 20, 1), 2, 2),
    ]
    assert CountJoint().limits(Each((named("grr").channel,) * 2)).total == 1


def test_each_coordinate_of_a_vector_is_in_a_report_at_most_once() -> None:
    names = [name for name in sv.names(sv.VectorMean) if fits(name, sv.Box(-1, 1, 3))]
    found = [sv.mechanism(name, sv.Box(-1, 1, 3), epsilon=1) for name in names]
    counted = [one for one in found if one.statistic.kind == "parts"]
    assert len(counted) > 1
    for mechanism in counted:
        cells = mechanism.tally(mechanism.privatize(np.zeros((N, 3)), seed=1)).cells.reshape(3, -1).copy()
        cells[0, 0] += 1 + N - cells[0].sum()  # one coordinate more often than there are reports
        match = "sum to" if mechanism.channel.chosen * N != cells.sum() else "1001 reports of 1000"
        refused(mechanism, cells.ravel(), match)
        cells[1, np.argmax(cells[1])] -= cells.sum() - mechanism.channel.chosen * N
        if cells.min() >= 0:
            refused(mechanism, cells.ravel(), "1001 reports of 1000")


def _moments() -> sv.Mechanism:
    rounds = sv.VarianceRounds(sv.Interval(0, 1), 1, method="split-eps", mechanism="piecewise")
    return next(arm.mechanism for arm in rounds.start().arms if isinstance(arm.mechanism.statistic, Moments))


def test_sums_squares_and_products_are_those_of_numbers() -> None:
    mechanism = _moments()
    most = mechanism.statistic.limits(mechanism.channel).most
    assert isinstance(most, tuple)
    y, z = most[1], most[2]
    # three reports: (0, 0), (y, z), (2, 1)
    sums = np.array([3, y + 2, z + 1, y * y + 4, z * z + 1, y * z + 2])
    assert sv.Tally(mechanism, 3, sums).n == 3
    for place in range(6):
        for change in (-sums[place], -1, 1, 10**6):
            wrong = sums.copy()
            wrong[place] += change
            try:
                sv.Tally(mechanism, 3, wrong)
            except sv.MismatchError:
                continue
            assert place == 5 and change <= 1  # other products, which some numbers may have
    refused(mechanism, np.array([3, 0, 0, 0, 0, 1]), "No 3 reports", 3)
    refused(mechanism, np.array([2, 4, 0, 4, 0, 0]), "No 2 reports", 2)  # the squares are too small
    refused(mechanism, np.array([2, 4, 4, 16, 16, 20]), "No 2 reports", 2)  # correlated by more than one
    refused(mechanism, np.array([2, 2 * y, z, 2 * y * y, z * z, 0]), "No 2 reports", 2)  # with z lies y
