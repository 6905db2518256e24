"""`sottovoce status`, `backup`, `restore`, `export`, `close`, `invite`, `token`: what those who run a collector do."""

from __future__ import annotations

import json
from pathlib import Path

from sottovoce.cli.show import note, printable, table
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.files.opening import FileProblem, check_free, writing
from sottovoce.service import invitations, operations, results
from sottovoce.service.collector import change_state
from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import CLOSED


def status(place: str, *, check: bool, as_json: bool) -> None:
    """Print how far the studies of a store are."""
    with open_store(place, create=False) as store:
        report = operations.status(store)
        if check:
            operations.verify(store)
    if as_json:
        print(json.dumps({**report, "verified": check}))
        return
    rows = [
        (
            *(printable(one["study"]), one["id"], one["state"], str(one["round"]), f"{one['reports']:,}"),
            *(f"{one['quota']:,}" if one["quota"] else "", f"{sum(one['refused'].values()):,}"),
        )
        for one in report["studies"]
    ]
    table(("study", "id", "state", "round", "reports", "quota", "refused"), rows, numbers=4)
    for one in report["studies"]:
        for code, count in one["refused"].items():
            print(f"{one['id']}: {plural(count, 'report', ',')} refused as {code}.")
    verified = " Ids, counts and checksums agree." if check else ""
    print(f"{plural(report['acts'], 'administrative act')} in the log.{verified}")


def backup(place: str, output: str) -> None:
    """Copy a store into a file."""
    with open_store(place, create=False) as store:
        rows = operations.backup(store, Path(output))
    note(f"{plural(rows, 'row', ',')} copied and verified.")


def restore(backup_file: str, place: str) -> None:
    """Copy a backup into an empty store."""
    if not Path(backup_file).exists():
        raise FileProblem("The backup cannot be read: No such file or directory.")
    with open_store(place) as store:
        rows = operations.restore(Path(backup_file), store)
    note(f"{plural(rows, 'row', ',')} restored and verified.")


def export(place: str, study: str | None, output: str, *, level: float, strata: bool = False) -> None:
    """Write the estimates with their codebook; with `strata` those of all strata together, and of each one."""
    from sottovoce.study.export import write_export, write_waves

    if Path(output).exists():
        raise FileProblem("The folder of the export exists already: name a new one.")
    outcome = None
    with open_store(place, create=False) as store, store.read() as work:
        if strata:
            whole, parts = results.over_strata_of(work, study, _level(level))
        else:
            outcome = results.outcome(work, operations.find_study(work, study), _level(level))
            whole, parts = outcome.results, {}
    if not whole.questions:
        raise ParameterError("Nothing can be estimated yet: there is nothing to export.")
    write_export(whole, Path(output))
    for name, part in parts.items():
        write_export(part, Path(output) / f"stratum-{name}")
    if outcome is not None and outcome.waves:
        write_waves(outcome.waves, outcome.series, Path(output), _level(level))
    note("the export is written.")


def close(place: str, study: str | None, *, level: float, as_json: bool) -> None:
    """Close a study and print its estimates, those of an unfinished protocol with what they leave out."""
    level = _level(level)
    with open_store(place, create=False) as store:
        with store.transaction() as work:
            row = operations.find_study(work, study)
            change_state(work, row, CLOSED, by="operator")
        with store.read() as work:
            outcome = results.outcome(work, work.study(row.number), level)
    if as_json:
        print(outcome.to_json().decode())
        return
    frame = outcome.results.to_frame()
    rows = [
        (
            *(one["question"], printable(" ".join(filter(None, (one["measure"], one["label"]))))),
            *(f"{one['estimate']:.4g}", f"{one['low']:.4g} to {one['high']:.4g}"),
        )
        for one in frame.to_dict("records")
    ]
    table(("question", "number", "estimate", f"{100 * level:g} % interval"), rows, numbers=2)
    for text in outcome.notes:
        print(text)
    print(f"Closed after {plural(outcome.row.reports, 'report', ',')}.")


def invite(place: str, study: str | None, count: int, output: str, *, force: bool) -> None:
    """Write new invitations, one per line."""
    check_free(output, force, name="The file of invitations")
    with open_store(place, create=False) as store, store.transaction() as work:
        row = operations.find_study(work, study)
        manifest = operations.manifest_of(work, row)
        if not manifest.facts.collection.invitations:
            raise ParameterError("This study needs no invitations: its study file does not ask for them.")
        tokens = invitations.invite(work, row.number, manifest.study, count)
        with writing(output, force=force, name="The file of invitations", secret=True) as file:
            file.write("".join(f"{one}\n" for one in tokens).encode())
    note(f"{plural(count, 'invitation', ',')} written; they are stored as hashes only.")


def token(place: str, name: str, scopes: list[str], *, revoke: bool) -> None:
    """Print a new token, or end one."""
    with open_store(place, create=False) as store, store.transaction() as work:
        if revoke:
            invitations.revoke_token(work, name)
            note("the token is revoked.")
        else:
            secret = invitations.add_token(work, name, scopes)
    if not revoke:
        print(secret)


def _level(level: float) -> float:
    if not 0.5 <= level <= 0.9999:
        raise ParameterError("The 'level' parameter of an estimate must be a number in [0.5, 0.9999].")
    return level
