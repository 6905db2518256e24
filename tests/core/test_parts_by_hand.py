"""Small parts of channels, devices and tallies, compared with what can be computed by hand."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from scripts.meaning import _points
from sottovoce.client.tick import Tick
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Each, ListedSets, Subset
from sottovoce.core.channel.compose.rows import RowMap
from sottovoce.core.channel.shapes import is_clamped
from sottovoce.core.registry import mechanism
from sottovoce.mechanisms.distribution.common import MOST_POINTS, coded
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.set_draws import add_members


def test_a_tick_is_a_float_whatever_number_was_given() -> None:
    assert type(Tick(Decimal("0.5")).seconds) is float and type(Tick(1).seconds) is float


def test_a_composition_is_clamped_if_a_part_is() -> None:
    noise = mechanism("laplace", sv.Interval(0, 1), epsilon=1).channel
    plain = Subset(2, 1, 3 * UNIT // 4)
    assert is_clamped(noise) and is_clamped(Each((plain, noise))) and not is_clamped(Each((plain, plain)))


def test_rows_have_a_miniature_for_every_power_of_their_side() -> None:
    rows = RowMap(100, 4, 2, 8, 64)
    (small,) = rows.miniatures(16)
    assert (small.g, small.blocks, small.outputs, small.k) == (4, 2, 16, 3)
    assert rows.miniatures(8) == () and rows.miniatures(9) == ()


def test_numbers_that_a_page_tries_are_1_2_5_times_a_power_of_ten_apart() -> None:
    for high, step in ((150, 1), (151, 2), (301, 5), (751, 10), (1_501, 20)):
        tried = list(_points(sv.Interval(0, high, step=1), 150, 150))
        assert tried[1] - tried[0] == Fraction(step)
        assert tried[-1] == high


def test_a_step_gives_each_number_a_bucket_up_to_a_limit() -> None:
    assert coded("haar", sv.Interval(0, MOST_POINTS - 1, step=1), None).size == MOST_POINTS
    assert coded("haar", sv.Interval(0, MOST_POINTS, step=1), None).size == 256


def test_unary_encodings_have_a_largest_domain() -> None:
    with pytest.raises(sv.ParameterError, match="rue"):
        mechanism("rue", sv.Integers(0, 1 << 20), epsilon=1)


def test_members_are_drawn_for_codes_that_only_some_runs_have() -> None:
    sets = ListedSets(("110", "101", "011"))
    cells = np.zeros((2, 3), np.int64)
    add_members.dispatch(object)(sets, cells, np.array([[7, 0, 2], [0, 0, 5]]), np.random.default_rng(1))
    assert cells.sum(axis=1).tolist() == [9, 5]
    assert cells[1][0] == 0  # the third code is in the second and the third set only


def test_simulated_tallies_are_counted_in_runs() -> None:
    method = mechanism("grr", sv.Integers(0, 1), epsilon=1)
    for runs in (0, -1, 1.5):
        with pytest.raises(sv.ParameterError, match="'runs' parameter of simulate_cells"):
            simulate_cells(method, [1, 1], runs=runs, seed=0)  # type: ignore[arg-type]


def test_cells_of_groups_are_drawn_behind_numbered_keys() -> None:
    method = mechanism("group-nprr", sv.Pair(sv.Integers(0, 2), sv.Interval(0, 1)), epsilon=2)
    held = np.full(method.channel.inputs, 100)
    assert simulate_cells(method, held, runs=2, seed=1).sum(axis=1).tolist() == [held.sum()] * 2
