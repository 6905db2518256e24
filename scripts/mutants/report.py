"""Results, justified survivors, the summary table and the verdict."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.mutants.operators import Mutant
from scripts.mutants.sample import is_critical, room

QUICK, SLOW, SURVIVED, NO_TEST = "killed quick", "killed slow", "survived", "no test"
STATES = (QUICK, SLOW, SURVIVED, NO_TEST)
ENOUGH = 0.95  # of the mutants that are not equivalent must be killed
FIELDS = ("file", "function", "operator", "original", "mutated")
VERDICTS = ("equivalent", "accepted")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant. `note` says where a run did not get to its end."""

    mutant: Mutant
    state: str
    killer: str
    why: str
    seconds: float
    note: str = ""

    @property
    def alive(self) -> bool:
        return self.state in (SURVIVED, NO_TEST)


@dataclass(frozen=True, slots=True)
class Justification:
    """Why a survivor may survive: nothing it does can be seen ("equivalent"), or no test should see it ("accepted")."""

    file: str
    function: str
    operator: str
    original: str
    mutated: str
    verdict: str
    reason: str
    occurrence: int = 0

    def matches(self, mutant: Mutant) -> bool:
        """By text, not by line, so that it still holds when the file grows elsewhere; equal changes are counted."""
        return all(getattr(self, field) == getattr(mutant, field) for field in (*FIELDS, "occurrence"))


def read_results(path: Path) -> list[Result]:
    """The results that a run has written down."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    pairs = ("start", "end", "lines")
    found = []
    for row in rows:
        fields = row["mutant"] | {name: tuple(row["mutant"][name]) for name in pairs}
        found.append(Result(**(row | {"mutant": Mutant(**fields)})))
    return found


def read_justifications(path: Path) -> tuple[Justification, ...]:
    """The justified survivors of the file."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    found = tuple(Justification(**entry) for entry in entries)
    for entry in found:
        if entry.verdict not in VERDICTS or not entry.reason:
            raise ValueError(f"{entry.file}, {entry.function}: the verdict is one of {VERDICTS}, with a reason.")
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """The counts that decide whether the tests are good enough."""

    results: tuple[Result, ...]
    justifications: tuple[Justification, ...]

    def justification(self, result: Result) -> Justification | None:
        return next((entry for entry in self.justifications if entry.matches(result.mutant)), None)

    @property
    def equivalent(self) -> list[Result]:
        found = ((result, self.justification(result)) for result in self.results if result.alive)
        return [result for result, entry in found if entry is not None and entry.verdict == "equivalent"]

    @property
    def unjustified(self) -> list[Result]:
        return [result for result in self.results if result.alive and self.justification(result) is None]

    @property
    def share(self) -> float:
        """Killed, of those that are not equivalent."""
        relevant = len(self.results) - len(self.equivalent)
        return sum(not result.alive for result in self.results) / relevant if relevant else 1.0

    @property
    def ok(self) -> bool:
        return self.share >= ENOUGH and not any(is_critical(result.mutant.file) for result in self.unjustified)


def table(results: Iterable[Result], heading: str, key: Callable[[Result], str]) -> str:
    """Counts of each state, one row for each value of the key."""
    rows: dict[str, list[Result]] = {}
    for result in results:
        rows.setdefault(key(result), []).append(result)
    width = max(map(len, [heading, "all", *rows]))
    lines = [f"{heading:{width}}  mutants  " + "  ".join(STATES)]
    everything = [result for _, group in sorted(rows.items()) for result in group]
    for name, group in [*sorted(rows.items()), ("all", everything)]:
        counts = [sum(result.state == state for result in group) for state in STATES]
        cells = "  ".join(f"{count:{len(state)}}" for count, state in zip(counts, STATES, strict=True))
        lines.append(f"{name:{width}}  {len(group):7}  {cells}")
    return "\n".join(lines)


def summary(verdict: Verdict, root: Path) -> str:
    """Everything a person wants to know, survivors last, each with its change."""
    results = verdict.results
    late = [result for result in results if result.state == SLOW and is_critical(result.mutant.file)]
    parts = [
        table(results, "operator", lambda result: result.mutant.operator),
        table(results, "room", lambda result: room(result.mutant.file)),
        table(results, "privacy", lambda result: "critical" if is_critical(result.mutant.file) else "other"),
    ]
    if late:
        names = [f"  {result.mutant.file}:{result.mutant.lines[0]}: {result.killer}" for result in late]
        parts.append("\n".join(["Critical mutants that only slow tests kill:", *names]))
    for result in results:
        if result.alive:
            entry = verdict.justification(result)
            said = "NOT JUSTIFIED" if entry is None else f"{entry.verdict}: {entry.reason}"
            parts.append(
                "\n".join([f"{result.state}{result.note and f' ({result.note})'}; {said}", change(result.mutant, root)])
            )
    parts.append(
        f"{verdict.share:.1%} of {len(results) - len(verdict.equivalent)} mutants that are not equivalent are killed"
        f" (at least {ENOUGH:.0%} wanted); {len(verdict.unjustified)} survivors are not justified,"
        f" {sum(is_critical(result.mutant.file) for result in verdict.unjustified)} of them in critical files."
    )
    return "\n\n".join(parts)


def change(mutant: Mutant, root: Path) -> str:
    """The change as a diff, and the entry that would justify it."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    rows = difflib.unified_diff(source.splitlines(), mutant.apply(source).splitlines(), lineterm="", n=0)
    place = f"{mutant.file}:{mutant.lines[0]} {mutant.function} [{mutant.operator}]"
    entry = [
        "[[survivor]]",
        *(f"{field} = {json.dumps(getattr(mutant, field), ensure_ascii=False)}" for field in FIELDS),
        *([f"occurrence = {mutant.occurrence}"] if mutant.occurrence else []),
    ]
    return "\n".join([place, *list(rows)[3:], *(f"    {line}" for line in entry)])
