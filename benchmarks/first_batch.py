"""``python -m benchmarks.first_batch``: the first batch of a process, from import to table, for four mechanisms.

It prints the processor time of the process until then, so it imports nothing else.
"""

from __future__ import annotations

import time

import sottovoce as sv

PARTICIPANTS = 1_000
SEXES = ("f", "m")


def main() -> None:
    numbers = [place * 7 % PARTICIPANTS / PARTICIPANTS for place in range(PARTICIPANTS)]
    pairs = [(SEXES[place % 2], number) for place, number in enumerate(numbers)]
    cases = (
        ("grr", sv.Categories(SEXES), [sex for sex, _ in pairs]),
        ("olh", sv.Integers(0, 99), [int(100 * number) for number in numbers]),
        ("piecewise", sv.Interval(0, 1), numbers),
        ("group-piecewise", sv.Pair(sv.Categories(SEXES), sv.Interval(0, 1)), pairs),
    )
    for name, domain, answers in cases:
        m = sv.mechanism(name, domain, epsilon=1)
        m.estimate(m.tally(m.privatize(answers))).to_frame()


if __name__ == "__main__":
    main()
    print(time.process_time())
