"""`sottovoce demo --collector`: a sample study from plan to estimates, through devices, HTTP and a collector."""

from __future__ import annotations

import json
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sottovoce.cli.collector.crowd import CollectorProcess, SimulatedCrowd
from sottovoce.core.params import check_epsilon, decimal_text
from sottovoce.study.reading import parse_study
from sottovoce.study.study_plan import plan_study

SEED = 1
STUDY = """\
[study]
name = "sleep-demo"
owner = "A simulated institute"
contact = "privacy@example.org"
purpose = "To show a study from plan to estimates."
unit = "person"
epsilon = "{epsilon}"

[questions.type]
ask = "frequency"
text = "When do you work best?"
categories = ["morning", "afternoon", "night"]

[questions.hours]
ask = "mean"
text = "How many hours did you sleep last night?"
low = 0
high = 14
unit = "hours"
"""
NEXT = """Then run a survey of your own:
  sottovoce study new my-study.toml
  sottovoce serve my-study.toml"""
TYPES, WEIGHTS = ("morning", "afternoon", "night"), (0.5, 0.3, 0.2)


def demo(participants: int, epsilon: float, *, keeps_serving: bool, as_json: bool) -> None:
    """Plan, collect, estimate, and show; with `keeps_serving` the collector stays until it is interrupted."""
    source = STUDY.format(epsilon=decimal_text(check_epsilon("the demo", epsilon)))
    study, _ = parse_study(source.encode())
    assert study is not None
    crowd_of = people(participants)
    truth = _truth(crowd_of)
    with tempfile.TemporaryDirectory(prefix="sottovoce-") as folder:
        file = Path(folder) / "study.toml"
        file.write_text(source, encoding="utf-8")
        collector = CollectorProcess(str(file), str(Path(folder) / "store.sqlite"), participants)
        try:
            with ThreadPoolExecutor(1) as beside:  # both take seconds
                started = beside.submit(collector.start)
                if not as_json:
                    print(plan_study(study, participants).text(), end="\n\n", flush=True)
                started.result()
            start = time.perf_counter()
            crowd = SimulatedCrowd(collector.url)
            crowd.answer(crowd_of)
            seconds = time.perf_counter() - start
            estimates = collector.get("estimates")
            rows = _rows(estimates["rows"], truth)
            if as_json:
                about = {"participants": participants, "states": crowd.states, "checksum": estimates["checksum"]}
                print(json.dumps({**about, "rows": rows}))
                return
            _show(rows, participants, seconds, crowd.states)
            if keeps_serving:
                _serve_on(collector)
            else:
                print(f"From a terminal the dashboard stays open. {NEXT}")
        finally:
            collector.stop()


def people(count: int) -> list[dict[str, object]]:
    """Simulated answers; that they can be predicted does no harm."""
    chance = random.Random(SEED)
    return [
        {
            "type": chance.choices(TYPES, WEIGHTS)[0],
            "hours": round(min(14.0, max(0.0, chance.gauss(7.1, 1.4))), 1),
        }
        for _ in range(count)
    ]


def _truth(people: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    said = [one["type"] for one in people]
    shares = {("type", label): said.count(label) / len(said) for label in TYPES}
    return {**shares, ("hours", ""): sum(one["hours"] for one in people) / len(people)}


def _rows(rows: list[dict[str, Any]], truth: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    return [
        {**{key: row[key] for key in ("question", "label", "estimate", "low", "high", "n", "method")}, "truth": known}
        for row in rows
        if (known := truth.get((row["question"], row["label"]))) is not None
    ]


def _show(rows: list[dict[str, Any]], participants: int, seconds: float, states: dict[str, int]) -> None:
    table = Table("question", "truth", "estimate", "95 % interval", "inside?", "reports")
    for row in rows:
        inside = row["low"] <= row["truth"] <= row["high"]
        numbers = (f"{row['truth']:.4f}", f"{row['estimate']:.4f}", f"{row['low']:.4f} to {row['high']:.4f}")
        name = f"{row['question']}: {row['label']}" if row["label"] else row["question"]
        table.add_row(name, *numbers, "yes" if inside else "no", str(row["n"]))
    Console().print(table)
    accepted = states.get("accepted", 0)
    print(
        f"{accepted:,} of {participants:,} participants were counted, each through the client and HTTP, in"
        f" {seconds:.0f} seconds. Their devices kept account and outbox in memory: a file that is safe from a loss of"
        " power costs a device some ten milliseconds."
    )


def _serve_on(collector: CollectorProcess) -> None:
    base, _, name = collector.url.partition("/v1/studies/")
    print(
        f"""
Open the dashboard of this study: {base}/studies/{name}
Take part yourself: {base}/s/{name}
The collector runs until you press Ctrl+C. {NEXT}""",
        flush=True,
    )
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print()
