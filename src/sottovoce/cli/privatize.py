"""`sottovoce privatize`: the answers of a file become reports."""

from __future__ import annotations

from dataclasses import dataclass

from sottovoce.cli.columns import Source
from sottovoce.cli.files import check_free, writing
from sottovoce.cli.reports import Writer
from sottovoce.cli.show import note, progress
from sottovoce.client.client import Client
from sottovoce.core.errors import ParameterError
from sottovoce.core.specs import canonical


@dataclass(frozen=True, slots=True)
class Asked:
    """The mechanism as a person describes it: by a file, or by its name, budget and domain."""

    spec: str | None = None
    method: str | None = None
    epsilon: str | None = None
    categories: str | None = None
    categories_file: str | None = None
    low: str | None = None
    high: str | None = None
    real: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the reports go."""

    path: str
    kind: str | None = None
    spec: str | None = None
    force: bool = False


def privatize(source: Source, asked: Asked, goal: Goal, *, seed: int | None = None) -> None:
    """Randomize a column of a file, all of it or nothing."""
    mechanism = Client(mechanism_of(asked)).mechanism  # which refuses all but pure guarantees
    kind = _output_kind(goal)
    if kind == "csv" and goal.spec is None and asked.spec is None:
        raise ParameterError(
            "CSV has no room for the mechanism, without which nobody can count the reports: add --write-spec FILE."
        )
    check_free(goal.path, goal.force)
    if goal.spec is not None:
        check_free(goal.spec, goal.force)
    if seed is not None:
        note("--seed makes the noise predictable: these reports protect nobody, use them for simulation only.")
    with writing(goal.path, force=goal.force) as file:
        writer = Writer(file, kind, mechanism, seeded=seed is not None)
        for codes_ in progress(_encoded(source, mechanism.domain), "privatize"):
            for batch in _draws(mechanism, codes_, seed):
                writer.write(batch)
        writer.close()
        if goal.spec is not None:
            with writing(goal.spec, force=goal.force) as beside:
                beside.write(canonical(mechanism.spec()) + b"\n")
    note(f"{writer.n} reports through {mechanism.name}, epsilon {mechanism.epsilon:.6g} each.")
