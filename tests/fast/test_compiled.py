"""The cache of compiled kernels when two processes fill it at once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sottovoce.fast.compiled import compiled

PACKAGES = [Path(__file__).parents[2] / folder for folder in ("src", "experiments")]


def total(values):  # type: ignore[no-untyped-def]
    found = values[0]
    for i in range(1, values.shape[0]):
        found += values[i]
    return found


def test_code_of_another_type_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both processes see an empty index; the code of the first is written after all that the second writes.

    With Numba's own cache (0.68) a third process then adds floats as integers and gets 9200854038717923328.
    """
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    first, second, third = compiled(total), compiled(total), compiled(total)
    held = []
    late = first._cache._cache_file  # type: ignore[attr-defined]
    write = late._save_data
    monkeypatch.setattr(late, "_save_data", lambda *file: held.append(file))
    monkeypatch.setattr(second._cache._cache_file, "_load_index", dict)  # type: ignore[attr-defined]
    assert first(np.array([1, 2, 3], np.int64)) == 6
    assert second(np.array([0.5, 0.25])) == 0.75
    write(*held[0])

    assert third(np.array([0.5, 0.25])) == 0.75
    assert third(np.array([1, 2, 3], np.int64)) == 6
    assert len(set(tmp_path.rglob("*.nbc"))) == 2
    stats = third.stats  # type: ignore[attr-defined]
    assert (stats.cache_hits.total(), stats.cache_misses.total()) == (1, 1)  # the entry that was lost is made again


def test_a_cache_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its index is a pickle, which runs what it says."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    for mode in (0o777, 0o1777):
        tmp_path.chmod(mode)
        with pytest.warns(UserWarning, match="chmod 700"):
            made = compiled(total)
        assert made(np.array([1, 2], np.int64)) == 3 and not [*tmp_path.rglob("*.nb?")]
    tmp_path.chmod(0o700)
    (own,) = tmp_path.iterdir()
    own.chmod(0o777)  # somebody made it before
    with pytest.warns(UserWarning, match="chmod 700"):
        compiled(total)
    own.chmod(0o700)
    assert compiled(total)(np.array([1, 2], np.int64)) == 3 and [*tmp_path.rglob("*.nbi")]


def test_every_cached_kernel_is_compiled_here() -> None:
    files = [path for folder in PACKAGES for path in folder.rglob("*.py")]
    using = {path.name for path in files if re.search(r"\bcache=True", path.read_text(encoding="utf-8"))}
    assert using == {"compiled.py"}
