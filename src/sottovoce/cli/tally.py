"""`sottovoce tally`: reports and tallies become one tally."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sottovoce.cli.files import STANDARD, FileProblem, check_apart, check_free, input_name, naming, writing
from sottovoce.cli.intake import REFUSE, Intake
from sottovoce.cli.privatize import read_spec
from sottovoce.cli.reports import MESSAGE_KINDS, tally_of
from sottovoce.cli.show import note
from sottovoce.core.simulation import NOTE
from sottovoce.tally.tally import Tally


def tally(
    paths: Sequence[str], output: str, *, spec: str | None, kind: str | None, invalid: str = REFUSE, force: bool
) -> None:
    """Count and merge files, and write the tally."""
    check_free(output, force)
    for path in paths:
        check_apart(output, path)
    merged = merged_tally(paths, spec=spec, kind=kind, invalid=invalid)
    with writing(output, force=force) as file:
        file.write(merged.to_bytes())


def merged_tally(
    paths: Sequence[str], *, spec: str | None = None, kind: str | None = None, invalid: str = REFUSE
) -> Tally:
    """The sum of all files. A file of another mechanism is refused, with the differences."""
    if paths.count(STANDARD) > 1:
        raise FileProblem("Standard input can be read once only.")
    intake = Intake(invalid)
    mechanism = read_spec(spec) if spec is not None else None
    merged = None
    places: dict[bytes, list[int]] = {}  # of inputs with the same counts
    for place, path in enumerate(paths):
        name = input_name(path, place, len(paths))
        found_kind, found = tally_of(path, mechanism, intake, kind, name=name)
        if found.n and found_kind not in MESSAGE_KINDS:  # messages are compared by their ids
            counts = hashlib.sha256(found.n.to_bytes(8, "little") + found.cells.tobytes()).digest()
            places.setdefault(counts, []).append(place + 1)
        with naming(name):
            merged = found if merged is None else merged + found
    if merged is None:
        raise FileProblem("There is nothing to count: name files of reports or tallies, or - for standard input.")
    intake.report(merged.n)
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
