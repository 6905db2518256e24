"""Axes: values of one axis or several, in frames, tables, plain data and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.estimate.attributes.evidence import MarginalSharesEvidence
from sottovoce.estimate.axes import Axes, Axis
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.sources import EstimateSource

Floats = NDArray[np.float64]
COUNTRIES, YEARS = ("it", "de"), sv.Integers(2020, 2022)
GRR = sv.mechanism("grr", sv.Integers(0, 5), epsilon=1)


@dataclass(frozen=True, eq=False)
class Cells(Evidence):
    """A table of shares: countries by years."""

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
    noun: ClassVar[str] = "share"
    axes: Axes
    n: int = 600

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self) -> Floats:
        return np.arange(1, 7) / 21

    def variances(self, target: Any) -> Floats:
        return np.full(6, 1e-4)

    def interval(self, *request: Any) -> Bounds:
        return Bounds(self.values() - 0.02, self.values() + 0.02)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.zeros(6, bool)

    def warning(self) -> None:
        return None


def table(*names: str) -> sv.Estimate:
    axes = Axes((Axis(names[0], COUNTRIES), *Axes.of(names[1], YEARS).each))
    return sv.Estimate.of(GRR.question, Cells(axes), [EstimateSource(GRR, 600)])


def test_the_last_axis_varies_fastest() -> None:
    found = table("country", "year")
    assert found.axes.names == ("country", "year") and found.axes.shape == (2, 3)
    assert found.axes.each[1].domain == YEARS and list(found.axes.each[1].labels) == [2020, 2021, 2022]
    assert found.values.reshape(found.axes.shape)[1, 0] == pytest.approx(4 / 21)
    assert found.labels[3] == ("de", 2020) and found.axes.texts()[3] == "de: 2020"


def test_a_frame_and_plain_data_have_one_column_for_each_axis() -> None:
    found = table("country", "year")
    frame = found.to_frame()
    assert list(frame.columns) == ["country", "year", "estimate", "std_error", "low", "high"]
    assert list(frame["country"]) == ["it"] * 3 + ["de"] * 3 and list(frame["year"]) == [2020, 2021, 2022] * 2
    plain = found.to_dict()
    assert plain["axes"] == ["country", "year"]
    value = 4 / 21
    numbers = {"estimate": value, "std_error": 0.01, "low": value - 0.02, "high": value + 0.02}
    assert plain["rows"][3] == {"country": "de", "year": 2020, **numbers}


def test_tables_and_pictures_show_all_axes() -> None:
    found = table("country", "year")
    head, rule, *rows = found.to_markdown().splitlines()
    assert head == "| country | year | estimate | standard error | low | high |"
    assert rule == "| --- | --- | ---: | ---: | ---: | ---: |"
    assert rows[3] == "| de | 2020 | 0.190 | 0.010 | 0.170 | 0.210 |"
    latex = found.to_latex()
    assert r"\begin{tabular}{llrrrr}" in latex and "de & 2020 & 0.190 & 0.010 & 0.170 & 0.210" in latex
    assert "share of each country and year" in found.methods_sentence()
    html = found._repr_html_()
    assert "country" in html and "2022" in html
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()][3] == "de: 2020"
    assert axes.get_ylabel() == "country: year"


def test_an_axis_may_have_the_name_of_a_column_of_numbers() -> None:
    found = table("estimate", "low")
    assert list(found.to_frame().columns)[:3] == ["estimate_", "low_", "estimate"]
    assert found.to_dict()["rows"][0]["low_"] == 2020


def test_ragged_axes_list_their_rows() -> None:
    axes = Axes.ragged(("attribute", "value"), [("sex", "f"), ("sex", "m"), ("smokes", "f")])
    assert axes.shape is None and axes.texts() == ["sex: f", "sex: m", "smokes: f"]
    assert axes.each[1].labels == ("f", "m") and axes.columns() == [["sex", "sex", "smokes"], ["f", "m", "f"]]


def test_one_axis_keeps_its_column() -> None:
    shares = GRR.estimate(GRR.tally(GRR.privatize([1, 2, 3] * 50, seed=1)))
    assert shares.axes.names == ("value",) and shares.axes.shape == (6,)
    assert shares.to_frame().columns[0] == "value" and shares.to_dict()["rows"][2]["value"] == 2


def test_shares_without_a_tally_are_numbered() -> None:
    for kind in (SupportsEvidence, MarginalSharesEvidence):
        (axis,) = kind(np.array([3, 5, 2]), 10, 0.5, 0.2).axes.each
        assert list(axis.labels) == [0, 1, 2]


def test_the_picture_of_a_circle_says_what_its_bars_are() -> None:
    wave = sv.mechanism("square-wave-discrete", sv.Circle(24), epsilon=1, buckets=6)
    found = wave.estimate(wave.tally(wave.privatize([2.0, 8.0, 5.0] * 500, seed=1)))
    first, second = found.plot(0.9, method="normal").get_title().splitlines()
    assert first.startswith("simulation of square-wave-discrete, 1,500 reports") and second == "90 % normal intervals"
