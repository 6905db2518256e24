"""The variance of a rare value, by which papers compare frequency oracles."""

import numpy as np

from sottovoce.core.mechanism import Mechanism

MANY = 10**9


def rare_variance(mechanism: Mechanism) -> float:
    """n times the variance at share zero for large n, all other values being equally common (sample target)."""
    inputs = mechanism.channel.inputs
    truth = np.full(inputs, 1 / (inputs - 1))
    truth[0] = 0
    return float(MANY * mechanism.variance(truth, MANY, target="sample")[0])
