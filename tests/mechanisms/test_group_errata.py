"""Errata of group means as code: what was published fails the audit by the right amount, what we offer holds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.arithmetic.rational import UNIT, float_up, loss, odds
from sottovoce.core.channel import Keyed
from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.mechanisms.group import bernoulli, laplace, nprr, piecewise
from sottovoce_experiments.group_means.counts import Law, draw_means
from sottovoce_experiments.group_means.losses import EXPERIMENT, cell
from sottovoce_experiments.group_means.synthetic import DATA, crowd
from sottovoce_experiments.group_means.variants import group_bernoulli, group_laplace, group_nprr, group_piecewise

pytestmark = pytest.mark.slow  # linear programs and simulations; the quick part has the contract

PAIRS = Pair(Categories(["f", "m"]), Interval(-1, 1))
ROOT = Path(__file__).resolve().parents[2]
MORE = "more than the"


def true(channel: Keyed) -> float:
    return float_up(loss(channel.ratio()))


@pytest.mark.parametrize(("epsilon", "k", "lost"), [("1", 2, 1.4528), ("4", 2, 6.9374), ("4", 8, 5.9395)])
def test_published_nprr_loses_both_budgets(epsilon: str, k: int, lost: float) -> None:
    found = sv.audit(group_nprr(epsilon, k), epsilon=epsilon)
    e = float(epsilon)
    assert not found.ok and any(MORE in problem for problem in found.problems)
    assert found.epsilon == pytest.approx(lost, abs=1e-4)
    assert found.epsilon == pytest.approx(2 * e - log((k + 1) * exp(e) / (exp(e) + k)), abs=1e-6)
    ours = sv.audit(nprr.build(PAIRS, epsilon=epsilon, value_epsilon=epsilon, k=k))
    assert ours.ok and ours.epsilon == pytest.approx(e, abs=1e-6)


@pytest.mark.parametrize("groups", [2, 5])
def test_the_loss_does_not_depend_on_the_number_of_groups(groups: int) -> None:
    assert true(group_nprr(1, 2, groups=groups)) == pytest.approx(true(group_nprr(1, 2)), abs=1e-9)


def test_published_nprr_with_one_step_is_right() -> None:
    """With two levels a perturbed 0 is uniform, and the theorem holds."""
    assert true(group_nprr(1, 1)) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_the_first_claim_for_one_bit_forgets_the_bit(epsilon: float) -> None:
    """Theorem 2 is the correction of the paper itself: epsilon1 + ln(2 e**epsilon2 / (e**epsilon2 + 1))."""
    found = sv.audit(group_bernoulli(epsilon), epsilon=epsilon)
    assert not found.ok
    assert found.epsilon == pytest.approx(epsilon + log(2 * exp(epsilon) / (exp(epsilon) + 1)), abs=1e-9)
    assert sv.audit(bernoulli.build(PAIRS, epsilon=epsilon)).ok


@pytest.mark.parametrize(
    ("scale", "growth"), [("0.5", 1.0), ("2", 0.5)], ids=["less noise on the neutral value", "more noise"]
)
def test_noise_of_two_scales_loses_more_the_farther_it_reaches(scale: str, growth: float) -> None:
    """Proposition 2: the logarithms of the tails have different slopes, so each range more adds the difference."""
    losses = [true(group_laplace(1, reach=reach, scale=scale)) for reach in range(3, 13)]
    assert np.diff(losses) == pytest.approx([growth] * 9, abs=1e-3)
    assert not sv.audit(group_laplace(1, reach=3, scale=scale), epsilon=1).ok


@pytest.mark.parametrize("reach", [1, 4, 12])
def test_noise_of_one_scale_keeps_theorem_1_however_far_it_reaches(reach: int) -> None:
    assert true(group_laplace(1, reach=reach, scale=1)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("build", [laplace.build, piecewise.build], ids=["laplace", "piecewise"])
def test_what_is_registered_keeps_its_claim(build: Callable[..., sv.Mechanism]) -> None:
    assert sv.audit(build(PAIRS, epsilon=1)).ok


def test_published_piecewise_passes_the_audit() -> None:
    assert sv.audit(group_piecewise("0.5", "0.5"), epsilon=1).ok


def test_the_reach_is_limited_to_what_the_noise_has() -> None:
    with pytest.raises(sv.ParameterError, match="'reach' parameter of group_laplace"):
        group_laplace(1, reach=1000)


@pytest.mark.parametrize(("first", "second"), [("0.5", "0.5"), ("0.4", "0.6"), ("2", "2")])
def test_published_piecewise_keeps_its_claim_and_wastes_budget(first: str, second: str) -> None:
    e1, e2 = Decimal(first), Decimal(second)
    published = group_piecewise(e1, e2)
    assert published.ratio() <= odds(e1 + e2)
    assert true(published) == pytest.approx(float(e1 + e2), abs=1e-9)
    ours = piecewise.build(PAIRS, epsilon=e1 + e2 / 2, value_epsilon=e2).channel
    assert isinstance(ours, Keyed)
    # The same key and inner channel; another neutral law spares half the budget of the value.
    assert log(ours.key.ratio()) == pytest.approx(log(published.key.ratio()), abs=0.01)


@pytest.mark.parametrize("build", [group_nprr, group_bernoulli], ids=["nprr", "bernoulli"])
def test_the_neutral_law_is_that_of_the_value_0(build: Callable[..., Keyed]) -> None:
    channel = build(1)
    for y, weight in enumerate(channel.neutral):
        assert abs(Fraction(weight, UNIT) - channel.inner.likelihood(y, Fraction(0))) < Fraction(8, UNIT)
    assert Law.of(channel).centre == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_ours_has_at_most_six_tenths_of_the_error_of_the_published_split(epsilon: float, seed: int) -> None:
    """For 2 groups, at equal exact epsilon, on the paper's data."""
    ours = piecewise.build(PAIRS, epsilon=epsilon).channel
    published = group_piecewise(epsilon / 2, epsilon / 2)
    assert isinstance(ours, Keyed)
    assert true(ours) <= true(published) + 1e-9
    errors = []
    for channel in (ours, published):
        rng = np.random.default_rng(seed)
        members = [crowd(name, 2, channel.inner, rng) for name in DATA]
        drawn = [draw_means(Law.of(channel), each, 2000, rng) - each.mean for each in members]
        errors.append(np.abs(drawn).mean())
    assert errors[0] <= 0.6 * errors[1]


def test_the_experiment_says_which_claims_are_kept() -> None:
    rows = [{**point, **cell(point, 1, 0)[0]} for point in EXPERIMENT.points(quick=True)]
    assert all(row["ours"] <= row["epsilon"] for row in rows)
    kept = {row["variant"] for row in rows if row["true"] <= row["epsilon"] + 1e-6}
    assert kept == {"piecewise"}
    assert EXPERIMENT.summary is not None
    assert [line.endswith(": holds.") for line in EXPERIMENT.summary(rows)] == [False] * 5 + [True]


def test_the_picture_of_the_page_is_what_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "drawn.svg"
    assert main(["reproduce", "group-errata", "--folder", str(tmp_path), "--figure", str(picture)]) == 0
    capsys.readouterr()
    kept = ROOT / "docs" / "pictures" / "group-errata.svg"
    said = "Run `sottovoce reproduce group-errata --figure docs/pictures/group-errata.svg`."
    assert picture.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), said
