# Types of batches.py, for type checkers alone.
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Question
from sottovoce.estimate.decoder import Decoder
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.prior import Prior
from sottovoce.fast.batch import Reports
from sottovoce.tally.tally import Tally

class Batches:
    def privatize(self, values: Any, *, seed: int | None = None, threads: int | None = None) -> Reports: ...
    def tally(self, reports: Reports | Iterable[bytes], *, threads: int | None = None) -> Tally: ...
    def tally_batches(self, batches: Iterable[Any], *, threads: int | None = None) -> Tally: ...
    def estimate(
        self,
        tally: Tally | Reports | Sequence[bytes],
        question: Question | None = None,
        decoder: str | Decoder | None = None,
        candidates: Iterable[object] | None = None,
    ) -> Estimate: ...
    @overload
    def variance(self, truth: float, n: int = 1, *, target: str = "population") -> float: ...
    @overload
    def variance(self, truth: Prior, n: int = 1, *, target: str = "population") -> Any: ...
    @overload
    def variance(self, truth: Any, n: int = 1, *, target: str = "population") -> NDArray[np.float64]: ...
    def worst_case_variance(self) -> float: ...
    def average_variance(self, prior: Prior | Iterable[float]) -> float: ...
