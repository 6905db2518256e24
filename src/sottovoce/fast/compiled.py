"""Compiling kernels with Numba, with a cache on disk that several processes may fill at once.

Numba numbers the files of its cache from 1. Two processes that compile one function for two types at the same
moment both read an index without entries, both write file 1, and the index that is written last then names the
code of the other type: calls fail, or, where the types have one size, give wrong numbers. Workers of a test run,
engines of a cluster and a collector beside a command line start that way after every installation. Here a file is
named by what it holds, so that the loser of such a race is compiled once more and never taken for something else.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import config
from numba.core.caching import IndexDataCacheFile

OPEN_CACHE = (
    "Compiled kernels are not kept: others may write to the folder of the cache, and code from it would be run. Set"
    " NUMBA_CACHE_DIR to a folder of your own (chmod 700)."
)


def _is_own(folder: Path) -> bool:
    """Whether nobody else can put code into a folder of kernels. Beside the source it is as safe as the source."""
    base: str = config.CACHE_DIR  # type: ignore[attr-defined]
    if not base or not hasattr(os, "geteuid"):
        return True
    stats = [one.stat() for one in (folder, Path(base)) if one.exists()]
    return all(one.st_uid in (0, os.geteuid()) and not one.st_mode & stat.S_IWOTH for one in stats)


class CodeFiles(IndexDataCacheFile):
    """The files of one function's cache: an index, and one file for each key, named by a digest of the key."""

    def save(self, key: Any, data: Any) -> None:
        content = sha256(self._dump((self._source_stamp, self._version, key))).hexdigest()[:16]
        name = self._index_name.removesuffix(".nbi") + f".{content}.nbc"
        # The file comes before the entry that names it: no index ever names an older file.
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, compiled on its first call with each combination of types, without the interpreter's lock."""
    dispatcher: Any = njit(nogil=True, cache=True)(function)
    files = dispatcher._cache._cache_file
    if not _is_own(Path(files._cache_path)):
        warnings.warn(OPEN_CACHE, stacklevel=1)  # the same place for all kernels: shown once
        return njit(nogil=True)(function)
    base = files._index_name.removesuffix(".nbi")
    dispatcher._cache._cache_file = CodeFiles(files._cache_path, base, files._source_stamp)
    return dispatcher  # type: ignore[no-any-return]
