"""The figures of the square-wave paper: one small cell of each, and what the paper says of them."""

from decimal import Decimal

import numpy as np
import pytest

from sottovoce.mechanisms.distribution.common import bandwidth
from sottovoce.privacy.audit import audit
from sottovoce_experiments.catalogue import find
from sottovoce_experiments.distribution.wave_figures import EXPERIMENTS, waves

pytestmark = pytest.mark.slow


def test_figures_2_to_7_are_in_the_catalogue():
    assert [one.id for one in EXPERIMENTS] == [f"sw-figure-{number}" for number in range(2, 8)]
    assert all(find(one.id) is one for one in EXPERIMENTS)


@pytest.mark.parametrize("number", [2, 3, 7])
def test_a_cell_has_all_of_its_columns(number):
    experiment = find(f"sw-figure-{number}")
    point = experiment.points(quick=True)[0]
    (row,) = experiment.cell(point, 1, 5)
    assert {*experiment.columns} <= {*point, *row}
    assert 0 < row.get("wasserstein", row.get("range_0.1")) < 0.05


def test_waves_of_any_shape_keep_their_budget():
    for shape in ("square", "0.4", "triangle"):
        found = audit(waves(shape, 0.25, 1.0, 16))
        assert found.ok
        assert found.epsilon <= 1


def test_the_square_beats_the_triangle_and_its_width_is_among_the_best():
    """Figures 5 and 6 on Beta(5, 2) at epsilon 1: 12 runs, the same seeds for all."""
    shaped = find("sw-figure-5")
    point = {"data": "Beta(5, 2)", "epsilon": 1.0}
    errors = {
        shape: shaped.cell({**point, "shape": shape, "width": 0.25}, 12, 3)[0]["wasserstein"]
        for shape in ("square", "triangle")
    }
    assert errors["square"] < 0.95 * errors["triangle"]
    widths = {
        width: find("sw-figure-6").cell({**point, "width": width}, 12, 3)[0]["wasserstein"] for width in (0.05, 0.25)
    }
    assert float(bandwidth(Decimal(1))) == pytest.approx(0.256, abs=0.001)
    assert widths[0.25] < widths[0.05]
    assert np.isfinite(list(widths.values())).all()
