"""Results of a study that is repeated: one wave after another, a band over all of them, changes and the trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.series.series import EpochContrast, Series
from sottovoce.study.results import QuestionResult, StudyResults

if TYPE_CHECKING:
    import pandas as pd


class Wave(NamedTuple):
    """The results of one wave; `number` is counted from 1."""

    number: int
    begins: date
    results: StudyResults


APART = ("sequence",)  # guarantees under which nobody answers two waves


@dataclass(frozen=True)
class WaveSeries:
    """One question over all waves.

    Attributes:
        result: the question, with the estimates of the last wave.
        series: its estimates in all waves.
        begins: the first day of each wave.
    """

    result: QuestionResult
    series: Series
    begins: tuple[date, ...]

    @cached_property
    def change(self) -> EpochContrast:
        """The last wave less the one before it."""
        weights = np.zeros(len(self.series.epochs))
        weights[-2:] = -1, 1
        last = self.series.epochs[-2:]
        return self.series.contrast(weights, f"change from wave {last[0]} to wave {last[1]}")

    @cached_property
    def overall(self) -> EpochContrast:
        """The last wave less the first."""
        weights = np.zeros(len(self.series.epochs))
        weights[[0, -1]] = -1, 1
        first, last = self.series.epochs[0], self.series.epochs[-1]
        return self.series.contrast(weights, f"change from wave {first} to wave {last}")

    @cached_property
    def trend(self) -> EpochContrast:
        """The slope of a line through all waves, per wave."""
        return self.series.trend([float(str(number)) for number in self.series.epochs])


def people_of(repeat: Repeat) -> str:
    """Whether waves have different people: where each person answers once in the whole study."""
    return "different" if repeat.guarantee in APART else "same"


def series_of(waves: Sequence[Wave], repeat: Repeat) -> Iterator[WaveSeries]:
    """The series of every question that has an estimate in two waves or more, and differences with a sign."""
    if not waves:
        return
    for result in waves[-1].results.questions:
        found = [(wave, one) for wave in waves for one in wave.results.questions if one.key == result.key]
        firsts = [(wave, _first(one)) for wave, one in found]
        known: dict[object, Estimate] = {wave.number: estimate for wave, estimate in firsts if estimate is not None}
        if len(known) < 2:
            continue
        try:
            window = repeat.window if people_of(repeat) == "same" else 1
            series = Series.of(known, people=people_of(repeat), window=window)
        except ParameterError:  # directions on a circle
            continue
        yield WaveSeries(result, series, tuple(wave.begins for wave, one in firsts if one is not None))


def _first(result: QuestionResult) -> Estimate | None:
    return next((one for one in result.estimates.values() if isinstance(one, Estimate)), None)


def waves_frame(waves: Sequence[Wave]) -> pd.DataFrame:
    """The tables of all waves, one below the other, with the number and the first day of each."""
    import pandas as pd

    frames = []
    for wave in waves:
        frame = wave.results.to_frame()
        frame.insert(1, "wave", wave.number)
        frame.insert(2, "begins", wave.begins.isoformat())
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def changes_frame(found: Sequence[WaveSeries], level: float) -> pd.DataFrame:
    """The change of every number from each wave to the next, and its trend per wave, with intervals.

    `few_reports` marks intervals that may miss more often than their level promises.
    """
    import pandas as pd

    rows = []
    for one in found:
        series = one.series
        contrasts = [one.trend]
        for place in range(1, len(series.epochs)):
            weights = np.zeros(len(series.epochs))
            weights[place - 1 : place + 1] = -1, 1
            name = f"change from wave {series.epochs[place - 1]} to wave {series.epochs[place]}"
            contrasts.append(series.contrast(weights, name))
        for contrast in contrasts:
            low, high = contrast.quiet_ci(level)
            numbers = zip(series.labels, contrast.values, contrast.std_errors, low, high, contrast.poor, strict=True)
            for label, value, error, start, end, poor in numbers:
                rows.append(
                    {
                        **{"question": one.result.asked.name, "what": contrast.name, "label": str(label)},
                        **{"estimate": value, "std_error": error, "low": start, "high": end, "level": level},
                        "few_reports": bool(poor),
                    }
                )
    return pd.DataFrame(rows)
