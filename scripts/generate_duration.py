"""Write docs/results/timing.md from two measurements:

sottovoce audit --timing --jobs 12 --json > tick.json
sottovoce audit --timing --no-tick --json > at-once.json
python scripts/generate_duration.py tick.json at-once.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sottovoce.client.tick import SHORTEST, SPIN, STEPS
from sottovoce.privacy.drawn import ALPHA
from sottovoce.privacy.duration import CONTROL, CONTROL_NAME, DIGITS, EPSILON, SLACK

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results/timing.md"
Rows = Sequence[Mapping[str, Any]]

TEXT = """\
# How long an answer takes

*Written by `python scripts/generate_duration.py`, from measurements of `sottovoce audit --timing`.*

An epsilon is a statement about messages. Somebody who also sees when a message leaves the device, a network, a
neighbour on the same machine, an application that logs, sees a pair: message and duration. Randomized response that
draws another category only if it does not keep the true one takes longer when it draws one, and the pair reveals the
coin. Two layers work against that.

## The same work

Samplers draw everything and then select, for every answer and all coins; a draw that does not count reads its
words and is thrown away, so the words that count and the bytes that are sent are the same as ever. Sparse answers are
read with as many slots as the domain allows, full or empty. Numbers are placed on a grid in whole numbers, and bins
are found in a fixed number of steps. A test counts the function calls of every pure mechanism for many answers and
coins: the number is always the same.

What is left, and why:

- Python computes with numbers of any length, and reading `-0.9876543210987654` takes longer than `1.0`: the rows "few
  digits, many digits" below. The same answer as an integer, a float or a decimal takes different times as well.
- A draw below n is rejected with a probability of at most n / 2^53, below 2^-20, and drawn again: so rarely that it may
  depend on a coin. The signs of `duchi-linf` and the slots of `sparse` are rejected more often. There the likely
  number of tries is always drawn, and a device draws again just as often where the draw does not count.
- Memory: which cache lines are touched depends on the answer. Within Python, a processor takes a nanosecond more or
  less for some numbers than for others. Short samplers show that: see the second table below.
- Answers whose type or length differs in the application before `report` is called.

## The tick

`Client.report` returns {shortest:g} milliseconds after the call, whatever the work took, or at a multiple of that if
the work took longer. It sleeps, wakes {spin:g} milliseconds early, and watches the clock. A mechanism that goes
through more than {steps} numbers and words has a longer tick, in proportion; only public quantities decide. A refusal
waits as well: it sends nothing, but a program that asks again may send right after it.

```python
import sottovoce as sv
from sottovoce.client import Tick, Untimed

m = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1)
client = sv.Client(m)
print(client.tick, len(client.report("owl")))
patient = sv.Client(m, tick=Tick(0.05))  # a slower device, or a longer answer
simulated = sv.Client(m, tick=Untimed())  # at once: for simulations only
```

```text
Tick(seconds={seconds:g}) 17
```

`report` blocks its thread; asynchronous programs await `asyncio.to_thread(client.report, value)`.
`Mechanism.randomize` and `Mechanism.privatize` have no tick: they are for simulations, audits, and for collectors
that hold the answers anyway.

## Measured

`sottovoce audit --timing` answers two inputs that should differ most, in random order, {reports} times each. Messages
are read by their exact likelihood ratio. One half of the runs chooses an event (a ratio beyond a threshold, a duration
in a window), the other half tests it; the bounds of Clopper and Pearson on both frequencies give an epsilon that the
pair of message and duration exceeds, at confidence 1 - {alpha:g}. As a positive control, an earlier form of randomized
response that leaks is measured too: if its bound is below {control:g}, the command reports that the machine is too
noisy to conclude, and fails. It also fails where a mechanism exceeds its claim by more than {slack:g}.

Through `Client.report`, at claimed epsilon 1, on a machine of two processors that other programs kept busy:

{tick}

Without the tick, on the same machine:

{at_once}

{above}

"Message alone" is what the same bound finds without durations; it lies below the claim as {reports} reports are finite.
A bound far above the claim shows a leak. One below it does not exclude a leak: another pair of inputs, a quieter
machine or a cleverer event may find more.

## What is not claimed

- The tick hides work that ends before it. Where a device is slower than a tick, the number of ticks is public. On a
  machine that is shared, work is sometimes interrupted for longer than a tick, more often the longer it takes: equal
  work makes these rare events equally likely for all answers. Choose a longer tick where the device is busy.
- An observer on the same processor may see the work itself: caches, power, the moment at which the sleep begins.
  Nothing here protects against that.
- When a person answers, and whether, is visible to whoever sees the message.
"""


def table(rows: Rows) -> Iterator[str]:
    """One line for each mechanism and pair of inputs."""
    yield "| method | inputs | tick | message alone | with duration | medians |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        tick = "none" if row["tick"] is None else f"{1000 * row['tick']:g} ms"
        first, second = (f"{median:.1f}" for median in row["microseconds"])
        name = row["name"] if " " in row["name"] else f"`{row['name']}`"
        yield (
            f"| {name} | {row['inputs']} | {tick} | {row['message']:.2f} | {row['loss']:.2f} |"
            f" {first} µs, {second} µs |"
        )


def above(rows: Rows) -> str:
    """Which mechanisms exceed the claim without the tick."""
    worst: dict[str, float] = {}
    listed = [row for row in rows if row["inputs"] != DIGITS and row["name"] != CONTROL_NAME]
    for row in listed:
        worst[row["name"]] = max(worst.get(row["name"], 0.0), row["loss"])
    limit = EPSILON + SLACK
    numbers = [row["loss"] for row in rows if row["inputs"] == DIGITS]
    found = sorted(((loss, name) for name, loss in worst.items() if loss > limit), reverse=True)
    named = ", ".join(f"`{name}` {loss:.2f}" for loss, name in found)
    return (
        f"So the tick is part of the claim, for every mechanism. Without it, {sum(loss > limit for loss in numbers)} of"
        f" {len(numbers)} mechanisms exceed {limit:g} for numbers of few and of many digits. For other answers"
        f" {len(found)} of {len(worst)} do: {named}. A quiet machine shows these small differences more clearly: there,"
        " `sottovoce audit --timing --no-tick --name half-sets --name hadamard` gave 2.1 to 2.4 for both."
    )


def page(tick: Rows, at_once: Rows) -> str:
    """The whole page."""
    return TEXT.format(
        shortest=1000 * SHORTEST,
        seconds=SHORTEST,
        spin=SPIN / 1e6,
        steps=STEPS,
        alpha=ALPHA,
        control=CONTROL,
        slack=SLACK,
        reports=f"{tick[0]['reports']:,}",
        tick="\n".join(table(tick)),
        at_once="\n".join(table(at_once)),
        above=above(at_once),
    )


if __name__ == "__main__":
    PAGE.write_text(page(*(json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:3])), encoding="utf-8")
