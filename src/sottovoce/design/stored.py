"""Designs on disk: what a search of seconds found once is read in milliseconds by the next command.

A file is named by a digest of what was asked and of everything that the answer depends on: the source of the searches
and the versions of NumPy and SciPy. It holds plain JSON with a checksum. Whatever is read passes the checks of a fresh
design; a file that does not is ignored and written again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy

from sottovoce import __version__
from sottovoce.core.errors import SottovoceError

VARIABLE = "SOTTOVOCE_CACHE"  # a folder, or OFF
OFF = "off"
MOST_BYTES = 1 << 26  # of all designs together
LARGEST = 1 << 22  # bytes of one design
OTHERS = 0o022  # group and everyone may write
T = TypeVar("T")


def stored(kind: str, asked: Mapping[str, Any], search: Callable[[], Any], read: Callable[[Any], T]) -> T:
    """The design that `search` finds, in plain data, as `read` builds and checks it; from the disk if it is there."""
    folder = private_folder()
    if folder is None:
        return read(search())
    file = folder / f"{_digest({**_basis(), 'kind': kind, 'asked': asked})}.json"
    with suppress(OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError, SottovoceError):
        design = read(_content(file))
        os.utime(file)  # used lately: the last one to be removed
        return design
    plain = search()
    design = read(plain)
    with suppress(OSError):
        _write(file, plain)
        _remove_oldest(folder)
    return design


def private_folder() -> Path | None:
    """The folder of the designs; None where it is switched off, or where somebody else may write to it."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == OFF:
        return None
    try:
        base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        base.mkdir(parents=True, exist_ok=True)
        folder = base / "sottovoce" / "designs"
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
            facts = one.stat()
            if facts.st_mode & OTHERS or facts.st_uid != os.geteuid():
                return None
    except (OSError, RuntimeError, ValueError):  # no home, no room, or a name that is none
        return None
    return folder


@cache
def _basis() -> dict[str, str]:
    """What a design depends on besides the question."""
    source = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        source.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    versions = {"sottovoce": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return {**versions, "machine": platform.machine(), "source": source.hexdigest()}


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _content(file: Path) -> Any:
    with file.open("rb") as opened:
        text = opened.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError("larger than any design")
    content = json.loads(text)
    if content["sha256"] != _digest(content["design"]):
        raise ValueError("damaged")
    return content["design"]


def _write(file: Path, plain: Any) -> None:
    """All of the file or nothing, for its owner only."""
    number, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    try:
        with os.fdopen(number, "w", encoding="ascii") as opened:
            json.dump({"sha256": _digest(plain), "design": plain}, opened, allow_nan=False)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_oldest(folder: Path) -> None:
    """Keep the designs that were used last."""
    files = sorted((one.stat().st_mtime, one.stat().st_size, one) for one in folder.iterdir())
    room = sum(size for _, size, _ in files) - MOST_BYTES
    for _, size, file in files:
        if room <= 0:
            return
        file.unlink(missing_ok=True)
        room -= size
