"""The published numbers of Tables 3-5 and 8-10 of "Estimating group means under local differential privacy".

Read from the text of the paper, in which numbers are written in three ways; each error is in two tables (3 and 8, 4
and 9, 5 and 10), and the two readings agree in all 216 cells. A row is an epsilon, then one number for each share of
the group, epsilon1 / epsilon.
"""

from __future__ import annotations

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)

Numbers = dict[tuple[float, float], float]  # by epsilon and ratio


def _numbers(text: str) -> Numbers:
    rows = [[float(word) for word in line.split()] for line in text.strip().splitlines()]
    return {(row[0], ratio): number for row in rows for ratio, number in zip(RATIOS, row[1:], strict=True)}


# Mean scaled absolute error, by the number of groups.
ERRORS: dict[int, Numbers] = {
    2: _numbers(  # Table 3
        """
 0.1  7.51e1  1.55e1    1.71 3.91e-1 4.06e-1 4.67e-1 6.13e-1 9.29e-1    1.80
 0.5 5.71e-2 4.56e-2 4.90e-2 5.38e-2 6.39e-2 7.80e-2 1.04e-1 1.57e-1 3.01e-1
 1.0 2.38e-2 2.04e-2 2.18e-2 2.39e-2 2.74e-2 3.33e-2 4.34e-2 6.41e-2 1.28e-1
 2.0 1.04e-2 8.68e-3 8.79e-3 9.53e-3 1.13e-2 1.37e-2 1.79e-2 2.58e-2 5.20e-2
 4.0 4.68e-3 3.43e-3 3.37e-3 3.58e-3 4.28e-3 5.40e-3 7.04e-3 1.09e-2 2.28e-2
 6.0 2.97e-3 2.03e-3 1.92e-3 2.03e-3 2.31e-3 3.06e-3 4.30e-3 6.72e-3 1.45e-2
 8.0 2.22e-3 1.40e-3 1.21e-3 1.28e-3 1.58e-3 2.07e-3 2.98e-3 4.72e-3 1.05e-2
10.0 1.79e-3 1.03e-3 8.21e-4 8.72e-4 1.11e-3 1.55e-3 2.21e-3 3.69e-3 8.15e-3
"""
    ),
    8: _numbers(  # Table 4
        """
 0.1 6.66e-1    1.42    4.13    3.43    4.48    5.86    8.49  3.48e1  2.33e1
 0.5 7.01e-1 8.89e-1 5.11e-1 3.17e-1 2.61e-1 2.91e-1 3.70e-1 5.33e-1    1.01
 1.0 5.54e-1 1.30e-1 8.72e-2 8.56e-2 9.28e-2 1.07e-1 1.33e-1 1.85e-1 3.55e-1
 2.0 1.14e-1 3.72e-2 3.02e-2 2.88e-2 2.97e-2 3.22e-2 3.87e-2 5.24e-2 9.67e-2
 4.0 2.57e-2 1.30e-2 9.49e-3 8.03e-3 7.55e-3 8.07e-3 9.72e-3 1.36e-2 2.62e-2
 6.0 1.51e-2 7.04e-3 4.54e-3 3.63e-3 3.38e-3 3.73e-3 4.77e-3 7.23e-3 1.49e-2
 8.0 1.03e-2 4.44e-3 2.72e-3 2.05e-3 1.94e-3 2.29e-3 3.17e-3 5.02e-3 1.06e-2
10.0 7.80e-3 3.17e-3 1.80e-3 1.29e-3 1.28e-3 1.63e-3 2.33e-3 3.84e-3 8.39e-3
"""
    ),
    64: _numbers(  # Table 5
        """
 0.1 6.21e-1    1.59    2.37    3.20  7.60e1    7.37  1.15e1  4.28e2  4.35e1
 0.5    8.62    1.18    2.08    2.64    4.54    5.50  1.70e1  1.41e1  1.17e2
 1.0 5.64e-1    1.04    1.54    2.17    2.40    3.25    4.42    4.08  1.53e1
 2.0 5.48e-1 9.50e-1    1.07 8.49e-1 3.31e-1 2.37e-1 2.44e-1 3.05e-1 5.17e-1
 4.0 6.98e-1 5.49e-1 8.13e-2 4.86e-2 3.78e-2 3.27e-2 3.20e-2 3.69e-2 5.94e-2
 6.0 7.50e-1 6.54e-2 2.72e-2 1.64e-2 1.12e-2 8.89e-3 8.55e-3 1.03e-2 1.86e-2
 8.0 4.76e-1 3.05e-2 1.35e-2 7.26e-3 4.65e-3 3.71e-3 3.93e-3 5.50e-3 1.12e-2
10.0 1.52e-1 1.87e-2 7.59e-3 3.83e-3 2.42e-3 2.08e-3 2.53e-3 3.92e-3 8.46e-3
"""
    ),
}

# Its standard deviation over runs, groups and data sets.
DEVIATIONS: dict[int, Numbers] = {
    2: _numbers(  # Table 8
        """
 0.1  1.92e3  3.84e2  6.67e1    1.21 5.47e-1 4.03e-1 5.05e-1 7.36e-1    1.38
 0.5 1.06e-1 3.64e-2 3.72e-2 4.11e-2 4.84e-2 5.95e-2 7.93e-2 1.15e-1 2.28e-1
 1.0 2.00e-2 1.55e-2 1.64e-2 1.82e-2 2.09e-2 2.54e-2 3.35e-2 4.91e-2 9.62e-2
 2.0 8.49e-3 6.55e-3 6.57e-3 7.27e-3 8.35e-3 1.02e-2 1.36e-2 1.96e-2 3.94e-2
 4.0 3.76e-3 2.79e-3 2.67e-3 2.77e-3 3.29e-3 4.07e-3 5.37e-3 8.03e-3 1.71e-2
 6.0 2.42e-3 1.71e-3 1.57e-3 1.62e-3 1.81e-3 2.37e-3 3.28e-3 5.10e-3 1.10e-2
 8.0 1.81e-3 1.19e-3 9.72e-4 1.04e-3 1.27e-3 1.63e-3 2.32e-3 3.60e-3 8.07e-3
10.0 1.50e-3 9.25e-4 7.02e-4 7.12e-4 8.73e-4 1.22e-3 1.72e-3 2.81e-3 6.22e-3
"""
    ),
    8: _numbers(  # Table 9
        """
 0.1    2.78    8.82  4.44e1  2.16e1  2.73e1  3.40e1  6.48e1  6.28e2  1.56e2
 0.5    3.51    8.59    5.33    3.98 2.65e-1 2.43e-1 2.98e-1 4.19e-1 7.95e-1
 1.0    4.48    1.06 8.06e-2 6.85e-2 7.19e-2 8.19e-2 1.01e-1 1.42e-1 2.68e-1
 2.0    2.18 3.53e-2 2.45e-2 2.21e-2 2.27e-2 2.45e-2 2.90e-2 3.94e-2 7.28e-2
 4.0 3.04e-2 1.21e-2 7.75e-3 6.28e-3 5.91e-3 6.16e-3 7.38e-3 1.03e-2 2.00e-2
 6.0 1.69e-2 6.42e-3 3.89e-3 2.98e-3 2.65e-3 2.94e-3 3.69e-3 5.48e-3 1.14e-2
 8.0 1.10e-2 4.07e-3 2.40e-3 1.72e-3 1.56e-3 1.80e-3 2.47e-3 3.82e-3 8.13e-3
10.0 8.14e-3 2.92e-3 1.63e-3 1.10e-3 1.04e-3 1.28e-3 1.81e-3 2.94e-3 6.34e-3
"""
    ),
    64: _numbers(  # Table 10
        """
 0.1    2.48  1.17e1  1.42e1  1.55e1  1.44e3  3.65e1  6.14e1  8.28e3  2.32e2
 0.5  1.59e2    5.40  1.29e1  1.20e1  3.21e1  2.82e1  2.33e2  9.37e1  2.39e3
 1.0    2.29    4.65    7.77  1.40e1  1.41e1  3.16e1  7.99e1  6.63e1  6.48e2
 2.0    2.22    6.04  1.09e1  1.57e1    2.71 6.10e-1 2.04e-1 2.42e-1 4.00e-1
 4.0    4.66  1.12e1 7.21e-1 4.49e-2 3.07e-2 2.53e-2 2.44e-2 2.79e-2 4.49e-2
 6.0    8.55 5.66e-1 2.81e-2 1.47e-2 9.19e-3 6.96e-3 6.56e-3 7.85e-3 1.41e-2
 8.0  1.03e1 3.81e-2 1.35e-2 6.53e-3 3.92e-3 2.97e-3 3.05e-3 4.22e-3 8.48e-3
10.0    2.27 2.12e-2 7.44e-3 3.47e-3 2.06e-3 1.68e-3 1.97e-3 3.01e-3 6.42e-3
"""
    ),
}

STABLE = 1.5  # times the error: beyond that a published mean of 200 runs is unreliable


def required(groups: int, epsilon: float, ratio: float) -> bool:
    """Whether a cell must be reproduced: a group's mean is a ratio, which has no finite mean if its estimated size may
    be near zero. The published average then depends on the worst of its runs."""
    error, deviation = ERRORS[groups][epsilon, ratio], DEVIATIONS[groups][epsilon, ratio]
    return epsilon >= 1 and error < 0.5 and deviation < STABLE * error
