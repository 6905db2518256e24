"""Designs on disk: found once, checked whenever they are read, and never taken from a folder of somebody else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.design import designed, distribution, few_outputs, stored

BUILDERS: dict[str, Any] = {
    "designed": (designed, "integer_table", lambda: designed.build(sv.Integers(0, 2), epsilon=1)),
    "n-output": (designed, "integer_table", lambda: few_outputs.build(sv.Integers(0, 2), epsilon=1, outputs=2)),
    "table": (distribution, "listed_bits", lambda: distribution.build(sv.Integers(0, 2), epsilon=1)),
    "wave": (distribution, "coded_bits", lambda: distribution.build_coded(sv.Integers(0, 2), epsilon=1, cells=4)),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path))
    forget()
    yield tmp_path / "sottovoce" / "designs"
    forget()


def forget() -> None:
    """What another process would not know."""
    for one in (designed._solved, few_outputs._solved, distribution._designed):
        one.cache_clear()


class Searches:
    """Counts the searches of a builder."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        module, function, self.build = BUILDERS[name]
        self.count, search = 0, getattr(module, function)

        def counted(*given: Any, **named: Any) -> Any:
            self.count += 1
            return search(*given, **named)

        monkeypatch.setattr(module, function, counted)

    def built(self) -> str:
        forget()
        return str(self.build().fingerprint)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_design_is_searched_once_and_is_the_same_from_the_disk(name, folder, monkeypatch):
    searches = Searches(name, monkeypatch)
    monkeypatch.setenv(stored.VARIABLE, stored.OFF)
    fresh = searches.built()
    assert not folder.exists()
    monkeypatch.setenv(stored.VARIABLE, str(folder.parents[1]))
    assert [searches.built() for _ in range(3)] == [fresh] * 3
    assert searches.count == 2
    (file,) = folder.iterdir()
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


def damages(file: Path) -> dict[str, bytes]:
    """Contents of which none is the design that was asked for."""
    whole = json.loads(file.read_bytes())
    design = whole["design"]
    if isinstance(design, list):
        changed: list[Any] = [design[:-1], [row + "0" for row in design], ["0" * len(row) for row in design], [], 7]
        changed.append([row.replace("1", "x") for row in design])
    else:
        rows = [row[:] for row in design["rows"]]
        rows[0][0], rows[0][-1] = rows[0][0] + 1, rows[0][-1] - 1
        small = {"inputs": 1, "rows": design["rows"][:1]}
        changed = [{**design, "rows": rows}, {**design, "slope": [1, 0]}, {**design, **small}, {}, None]
    valid = [json.dumps({"sha256": stored._digest(one), "design": one}).encode() for one in changed]
    text = file.read_bytes()
    bad = [b"", text[:-9], b"[" * 100_000, text.replace(b'"design"', b'"desing"'), b" " * (stored.LARGEST + 1) + text]
    wrong_sum = json.dumps({**whole, "sha256": "0" * 64}).encode()
    return {str(place): content for place, content in enumerate([*valid, *bad, wrong_sum])}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_damaged_or_changed_file_is_ignored_and_written_again(name, folder, monkeypatch):
    searches = Searches(name, monkeypatch)
    fresh = searches.built()
    (file,) = folder.iterdir()
    good = file.read_bytes()
    for place, content in damages(file).items():
        file.write_bytes(content)
        before = searches.count
        assert searches.built() == fresh, place
        assert searches.count == before + 1, place
        assert file.read_bytes() == good, place


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
@pytest.mark.parametrize("which", ["folder", "parent"])
def test_a_folder_that_others_may_write_to_is_not_used(mode, which, folder, monkeypatch):
    searches = Searches("table", monkeypatch)
    searches.built()
    (folder if which == "folder" else folder.parent).chmod(mode)
    searches.built()
    assert searches.count == 2 and stored.private_folder() is None


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    assert stored.private_folder() == folder
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert stored.private_folder() is None


def test_the_folder_is_that_of_the_user_unless_a_variable_names_another(tmp_path, monkeypatch):
    monkeypatch.delenv(stored.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    before = os.umask(0o002)
    try:
        assert stored.private_folder() == tmp_path / "xdg" / "sottovoce" / "designs"
    finally:
        os.umask(before)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert stored.private_folder() == tmp_path / "home" / ".cache" / "sottovoce" / "designs"
    (tmp_path / "file").touch()
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path / "file"))
    assert stored.private_folder() is None
    assert designed.build(sv.Integers(0, 2), epsilon=1).epsilon <= 1


def test_other_code_or_versions_search_anew(folder, monkeypatch):
    searches = Searches("wave", monkeypatch)
    searches.built()
    basis = stored._basis()
    for key in basis:
        monkeypatch.setattr(stored, "_basis", lambda key=key: {**basis, key: "other"})
        searches.built()
    assert searches.count == 1 + len(basis) == len(list(folder.iterdir()))
    assert {"numpy", "scipy", "source", "sottovoce"} <= basis.keys()


def test_the_designs_that_were_not_used_for_longest_are_removed(folder, monkeypatch):
    for place in range(4):
        stored.stored("kind", {"place": place}, lambda: "x" * 1000, str)
    first, *_ = files = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime_ns)
    for age, file in enumerate(files):
        os.utime(file, (age, age))
    stored.stored("kind", {"place": 0}, lambda: "never", str)  # used again: now the newest
    monkeypatch.setattr(stored, "MOST_BYTES", 3500)
    stored.stored("kind", {"place": 5}, lambda: "x" * 1000, str)
    left = set(folder.iterdir())
    assert len(left) == 3 and first in left and not left & {*files[1:3]}


def test_a_full_disk_is_no_reason_to_fail(folder, monkeypatch):
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored.tempfile, "mkstemp", full)
    assert designed.build(sv.Integers(0, 2), epsilon=1).epsilon <= 1
    assert list(folder.iterdir()) == []
