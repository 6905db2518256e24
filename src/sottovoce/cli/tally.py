"""`sottovoce tally`: reports and tallies become one tally."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from typing import IO

from sottovoce.cli.kept import KeptTallies
from sottovoce.cli.privatize import read_spec
from sottovoce.cli.show import Gauge, note
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.simulation import NOTE
from sottovoce.engines.sql import tally_query
from sottovoce.files.intake import Intake
from sottovoce.files.opening import (
    STANDARD,
    FileProblem,
    check_apart,
    check_free,
    input_name,
    naming,
    same_file,
    writing,
)
from sottovoce.files.places import expanded, is_address, size_of, total_size
from sottovoce.files.reports import tally_of
from sottovoce.files.writer import MESSAGE_KINDS
from sottovoce.tally.tally import Tally

LISTING = "The list of refused reports"


def tally(
    paths: Sequence[str],
    output: str,
    *,
    spec: str | None,
    kind: str | None,
    strict: bool = False,
    refused: str | None = None,
    resume: str | None = None,
    force: bool,
) -> None:
    """Count and merge files, and write the tally, and a list of the reports that were left out."""
    if refused is not None and (strict or same_file(refused, output)):
        raise ParameterError(
            "--refused lists reports that are left out, in a file of its own; --strict leaves out none."
        )
    for target, name in ((output, "The output"), (refused, LISTING)):
        if target is not None:
            check_free(target, force, name=name)
            for path in paths:
                if not is_address(path):
                    check_apart(target, path, name=name)
    with nullcontext() if refused is None else writing(refused, force=force, name=LISTING) as listing:
        merged = merged_tally(paths, spec=spec, kind=kind, strict=strict, resume=resume, listing=listing)
    with writing(output, force=force) as file:
        file.write(merged.to_bytes())


def query(paths: Sequence[str], dialect: str, spec: str | None = None) -> None:
    """Print the query that counts the reports of a specification in a database."""
    named = [*paths, *([] if spec is None else [spec])]
    if len(named) != 1:
        raise ParameterError("--sql needs one specification, whose reports a database counts: --spec FILE.")
    print(tally_query(read_spec(named[0]), dialect), end="")


def merged_tally(
    paths: Sequence[str],
    *,
    spec: str | None = None,
    kind: str | None = None,
    strict: bool = False,
    resume: str | None = None,
    listing: IO[bytes] | None = None,
) -> Tally:
    """The sum of all files. A file of another mechanism is refused, with the differences."""
    if paths.count(STANDARD) > 1:
        raise FileProblem("Standard input can be read once only.")
    intake = Intake(strict=strict, listing=listing)
    mechanism = read_spec(spec) if spec is not None else None
    files = expanded(paths)
    kept = None if resume is None else KeptTallies.at(resume, spec=mechanism, kind=kind, strict=strict)
    merged, again = None, 0
    places: dict[bytes, list[int]] = {}  # of inputs with the same counts
    with Gauge("tally", total_size(files)) as gauge:
        for place, path in enumerate(files):
            name = input_name(path, place, len(files))
            intake.begin(place + 1)
            before = intake.read, intake.left_out.copy()
            with naming(name):
                goal = None if kept is None else kept.place(path)
            known = None if kept is None else kept.load(goal, intake)
            again += known is not None
            file_kind, tally = known or tally_of(path, mechanism, intake, kind, name=name, gauge=gauge.to)
            if kept is not None and known is None and not kept.save(goal, path, file_kind, tally, intake, before):
                note(f"{name} changed while it was counted: its tally is not kept, and it is counted again next time.")
            gauge.finish(size_of(path))
            if tally.n and file_kind not in MESSAGE_KINDS:  # messages are compared by their ids
                counts = hashlib.sha256(tally.n.to_bytes(8, "little") + tally.cells.tobytes()).digest()
                places.setdefault(counts, []).append(place + 1)
            with naming(name):
                merged = tally if merged is None else merged + tally
    if merged is None:
        raise FileProblem("There is nothing to count: name files of reports or tallies, or - for standard input.")
    for remark in intake.remarks(merged.n):
        note(remark)
    if again:
        note(f"{again} of {plural(len(files), 'file')} counted before: the tallies that --resume kept are added.")
    _warn_of_equal(list(places.values()))
    if merged.simulated:
        note(f"{NOTE}.")
    return merged


def _warn_of_equal(groups: Sequence[Sequence[int]]) -> None:
    """Different crowds hardly ever give the same counts, and copies always do."""
    for group in groups:
        if len(group) > 1:
            shown = f"{', '.join(map(str, group[:-1]))} and {group[-1]}"
            note(f"Inputs {shown} have the same counts: if they hold the same reports, these are counted repeatedly.")
