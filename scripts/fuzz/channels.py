"""`python -m scripts.fuzz.channels --minutes 10`: random channels against brute force, and hostile specifications.

The program runs until the time is over or a check fails, and prints the seed that reproduces the failure.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import warnings
from collections.abc import Iterator
from random import Random

from scripts.fuzz.brute import check_by_law, check_kernels
from scripts.fuzz.compositions import pair_of_channels
from scripts.fuzz.hostile import RECIPES
from scripts.fuzz.reading import readings
from sottovoce.core.errors import BatchWarning, TooLargeError

SIZES = (300, 2_000, 10_000, 95_000)  # bytes of a specification


def check_channel(seed: int) -> None:
    """One random channel; channels that are too large to enumerate are skipped."""
    short, long = pair_of_channels(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        try:
            check_by_law(short)
        except TooLargeError:
            pass
        except AssertionError as problem:
            raise AssertionError(f"Seed {seed}: {problem} {short!r:.2000}") from None
        try:
            check_kernels(long, seed % 4096)
        except Exception as problem:  # a compiler's error is a finding too
            raise AssertionError(f"Seed {seed}: {type(problem).__name__}: {problem!s:.400} {long!r:.2000}") from problem


def hostile_text(seed: int) -> bytes:
    """One hostile specification; the recipes take turns."""
    rng = Random(seed)
    return RECIPES[seed % len(RECIPES)](rng, rng.choice(SIZES))


def check_texts(seeds: Iterator[int]) -> Iterator[int]:
    """Read the hostile specification of each seed within the limits, and give the seed back."""
    listed: list[int] = []

    def texts() -> Iterator[bytes]:
        for seed in seeds:
            listed.append(seed)
            yield hostile_text(seed)

    for reading in readings(texts()):
        if reading.problem is not None:
            raise AssertionError(f"Seed {listed[-1]}: {reading.problem}")
        yield listed[-1]


def main() -> int:
    """Run both kinds of checks in turn, until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="first seed; random if left out")
    options = parser.parse_args()
    start = secrets.randbelow(1 << 30) if options.seed is None else options.seed
    end, done = time.monotonic() + 60 * options.minutes, 0
    print(f"seed {start}")
    try:
        for seed in check_texts(iter(range(start, start + (1 << 30)))):
            check_channel(seed)
            done += 1
            if time.monotonic() > end:
                break
    except AssertionError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{done} channels and as many specifications: all checks passed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
