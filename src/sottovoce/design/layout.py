"""Where the inputs and the outputs of a designed channel lie: two uniform grids about one centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# In spreads (e**eps + 1) / (e**eps - 1) and half ranges: outputs that reach further do not lower the optimum.
REACH = 1.25
MARGIN = 0.5
# Keeps tables small where a small budget makes reports reach far; there a coarse grid costs about one part in 10**4.
MAX_OUTPUTS = 130
# Few inputs need outputs between them, and so do budgets so large that the noise is barely wider than a step.
COARSEST = Fraction(1, 8)
LARGE = 5


@dataclass(frozen=True, slots=True)
class Layout:
    """Inputs on [-1, 1] and outputs about 0, such that the mean report is exactly linear in the input.

    Input i may only have a mean report of `start + slope * i` if that is a number of 53 binary digits, so the slope
    (how many outputs one step of the inputs is long) is dyadic.
    """

    inputs: int
    outputs: int
    slope: Fraction

    @property
    def step(self) -> float:
        """Between two inputs."""
        return 2 / (self.inputs - 1)

    @property
    def start(self) -> Fraction:
        """The mean report of input 0."""
        return Fraction(self.outputs - 1, 2) - self.slope * Fraction(self.inputs - 1, 2)

    def mean(self, code: int) -> Fraction:
        """The mean report that makes input `code` unbiased."""
        return self.start + self.slope * code

    @property
    def x(self) -> Floats:
        """The inputs; their mirror image is exact, so that a symmetric program stays symmetric."""
        return (2 * np.arange(self.inputs) - (self.inputs - 1)) / (self.inputs - 1)

    @property
    def y(self) -> Floats:
        """The outputs, in the numbers of the inputs."""
        return (2 * np.arange(self.outputs) - (self.outputs - 1)) / (2 * float(self.slope)) * self.step


def wide(inputs: int, epsilon: float) -> Layout:
    """The grid of a designed table: as fine as the inputs, coarser where a small budget makes reports reach far."""
    step = Fraction(2, inputs - 1)
    spread = 1 / math.tanh(epsilon / 2)  # (e**epsilon + 1) / (e**epsilon - 1), where Duchi's two reports lie
    reach = REACH * spread + MARGIN
    slope = Fraction(1)
    while step / slope > COARSEST:
        slope *= 2
    if epsilon > LARGE:
        slope *= 2
    while 2 * reach * slope / step > MAX_OUTPUTS:
        slope /= 2
    # Where outputs are as fine as inputs they contain them, so that reports can be nearly exact for a large budget.
    even = slope == 1 and inputs % 2 == 0
    outputs = 2 * math.ceil(reach * slope / step) + (0 if even else 1)
    return Layout(inputs, outputs, slope)
