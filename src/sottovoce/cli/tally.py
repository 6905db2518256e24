"""`sottovoce tally`: reports and tallies become one tally."""

from __future__ import annotations

from collections.abc import Sequence

from sottovoce.cli.files import STANDARD, FileProblem, check_apart, check_free, input_name, naming, writing
from sottovoce.cli.privatize import read_spec
from sottovoce.cli.reports import tally_of
from sottovoce.cli.show import note
from sottovoce.core.simulation import NOTE
from sottovoce.tally.tally import Tally


def tally(paths: Sequence[str], output: str, *, spec: str | None, kind: str | None, force: bool) -> None:
    """Count and merge files, and write the tally."""
    check_free(output, force)
    for path in paths:
        check_apart(output, path)
    merged = merged_tally(paths, spec=spec, kind=kind)
    with writing(output, force=force) as file:
        file.write(merged.to_bytes())


def merged_tally(paths: Sequence[str], *, spec: str | None = None, kind: str | None = None) -> Tally:
    """The sum of all files. A file of another mechanism is refused, with the differences."""
    if paths.count(STANDARD) > 1:
        raise FileProblem("Standard input can be read once only.")
    mechanism = read_spec(spec) if spec is not None else None
    merged = None
    for place, path in enumerate(paths):
        name = input_name(path, place, len(paths))
        found = tally_of(path, mechanism, kind, name=name)
        with naming(name):
            merged = found if merged is None else merged + found
    if merged is None:
        raise FileProblem("There is nothing to count: name files of reports or tallies, or - for standard input.")
    if merged.simulated:
        note(f"{NOTE}.")
    return merged
