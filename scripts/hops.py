"""How many functions of the package stand behind a call: `python -m scripts.hops [folder of another checkout]`.

Each walk runs once, so that what is loaded, compiled and cached for the process is there, and then once more with fresh
reports and a profiler. Printed are the distinct functions that have a name (comprehensions and lambdas have none), the
files they are in, all calls, and the deepest chain of calls.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PEOPLE = 20_000


class Hops(NamedTuple):
    """What a profiler counted of one call."""

    functions: int
    files: int
    calls: int
    depth: int


def hops(call: Callable[[], object], source: Path) -> Hops:
    """The functions of the package below `source` that a call enters."""
    inside = str(source)
    entered: list[Any] = []
    depth = deepest = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth, deepest
        if frame.f_code.co_filename.startswith(inside) and event in ("call", "return"):
            depth += 1 if event == "call" else -1
            deepest = max(deepest, depth)
            if event == "call":
                entered.append(frame.f_code)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    named = {code for code in entered if not code.co_name.startswith("<")}
    return Hops(len(named), len({code.co_filename for code in named}), len(entered), deepest)


def walks(sv: Any) -> dict[str, Callable[[int], tuple[Callable[[Any], object], Any]]]:
    """Named walks; each prepares its argument from a seed, outside of what is counted."""
    drawn = np.random.default_rng(1)
    teams, scores = drawn.choice(["red", "green", "blue"], PEOPLE), drawn.integers(0, 11, PEOPLE)
    question = sv.GroupMean(by=sv.Categories(["red", "green", "blue"]), value=sv.Integers(0, 10))
    group = sv.mechanism("group-nprr", question.domain, epsilon=2)
    wave = sv.mechanism("square-wave-discrete", sv.Interval(0, 100), epsilon=1)
    lengths = drawn.beta(2, 5, PEOPLE) * 100

    def groups(seed: int) -> Any:
        return group.tally(group.privatize((teams, scores), seed=seed))

    def waves(seed: int) -> Any:
        return wave.tally(wave.privatize(lengths, seed=seed))

    return {
        "group table: estimate(tally)": lambda seed: (lambda tally: group.estimate(tally), groups(seed)),
        "group table: .ci()": lambda seed: (lambda estimate: estimate.ci(), group.estimate(groups(seed))),
        "group table: .difference('red', 'blue').ci()": lambda seed: (
            lambda estimate: estimate.difference("red", "blue").ci(),
            group.estimate(groups(seed)),
        ),
        "group table: to_frame()": lambda seed: (lambda estimate: estimate.to_frame(), group.estimate(groups(seed))),
        "distribution: estimate(tally)": lambda seed: (lambda tally: wave.estimate(tally), waves(seed)),
        "distribution: .cdf(30)": lambda seed: (lambda estimate: estimate.cdf(30), wave.estimate(waves(seed))),
        "distribution: .cdf(30).ci()": lambda seed: (lambda cdf: cdf.ci(), wave.estimate(waves(seed)).cdf(30)),
        "distribution: estimate(tally).cdf(30).ci()": lambda seed: (
            lambda tally: wave.estimate(tally).cdf(30).ci(),
            waves(seed),
        ),
    }


def main() -> None:
    """Print the hops of all walks."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    source = root / "src"
    sys.path.insert(0, str(source))
    import sottovoce as sv

    if not str(sv.__file__).startswith(str(source)):
        raise SystemExit(f"The package was loaded from {sv.__file__}, not from {source}.")
    print(f"{'walk':48} {'functions':>9} {'files':>6} {'calls':>6} {'depth':>6}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, prepare in walks(sv).items():
            call, argument = prepare(1)
            call(argument)
            call, argument = prepare(2)
            counted = hops(partial(call, argument), source)
            print(f"{name:48} {counted.functions:9} {counted.files:6} {counted.calls:6} {counted.depth:6}")


if __name__ == "__main__":
    main()
