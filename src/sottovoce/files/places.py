"""Where inputs are: standard input, files, folders of Parquet, patterns, addresses of object stores; and opening them.

Addresses may hold credentials, and names of files may hold anything: none of them is repeated in an error.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pyarrow as pa
import pyarrow.fs

from sottovoce.files.opening import STANDARD, FileProblem, input_name, naming

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PARQUET = (".parquet", ".pq")
MOST = 100_000  # files of one command


def is_address(path: str) -> bool:
    """Whether a path is the address of an object store rather than a file of this machine."""
    return _ADDRESS.match(path) is not None


def expanded(paths: Iterable[str]) -> list[str]:
    """The files that paths lead to, those of a folder or a pattern in the order of their names.

    A file to which a folder or a pattern leads comes once, even where other inputs lead to it or name it.
    """
    inputs, files = list(paths), []
    named, listed = set[str](), set[str]()
    for place, path in enumerate(inputs):
        name = input_name(path, place, len(inputs))
        with naming(name):
            for file in [path] if path == STANDARD else _files(path, name):
                true = file if is_address(file) or file == STANDARD else os.path.realpath(file)
                if true not in listed and (file == path or true not in named):
                    files.append(file)
                (named if file == path else listed).add(true)
    if len(files) > MOST:
        raise FileProblem(f"There are more than {MOST} files: count some of them at a time, and add up the tallies.")
    return files


def _files(path: str, name: str) -> list[str]:
    system, inner, full_path = located(path)
    if has_magic(inner) and system.get_file_info(inner).type == pa.fs.FileType.NotFound:
        # The fixed beginning of a pattern is the folder to look in.
        parts = PurePosixPath(inner).parts
        fixed = PurePosixPath(*parts[: next(place for place, part in enumerate(parts) if has_magic(part))])
        nothing = f"{name} is a pattern that no file"
        return _listed(system, str(fixed), full_path, lambda one: _matches(one, inner), nothing)
    kind = system.get_file_info(inner).type
    if kind == pa.fs.FileType.Directory:
        return _listed(system, inner, full_path, _is_data, f"{name} is a folder in which no Parquet file")
    return [path]


def _listed(
    system: Any, folder: str, full_path: Callable[[str], str], wanted: Callable[[str], bool], nothing: str
) -> list[str]:
    selector = pa.fs.FileSelector(folder, recursive=True, allow_not_found=True)
    files = [one.path for one in system.get_file_info(selector) if one.type == pa.fs.FileType.File]
    paths = sorted(full_path(one) for one in files if wanted(one))
    if not paths:
        raise FileProblem(f"{nothing} matches." if "pattern" in nothing else f"{nothing} is found.")
    return paths


def _matches(path: str, pattern: str) -> bool:
    """As a shell matches: a star stays inside one folder, and two of them stand for any number of folders."""
    return _parts_match(PurePosixPath(path).parts, PurePosixPath(pattern).parts)


def _parts_match(parts: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_parts_match(parts[place:], patterns[1:]) for place in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _parts_match(parts[1:], patterns[1:])


def _is_data(path: str) -> bool:
    """Engines leave files beside the data, whose names begin with a dot or a line."""
    name = PurePosixPath(path).name
    return name.lower().endswith(_PARQUET) and not name.startswith((".", "_"))


def located(path: str) -> tuple[Any, str, Callable[[str], str]]:
    """The file system of a path, the path inside it, and how paths inside it are written outside."""
    if not is_address(path):
        return _local(), os.path.abspath(path), lambda inner: inner
    try:
        system, inner = file_system(path)
    except (pa.ArrowException, ValueError, NotImplementedError, ImportError):
        raise FileProblem(
            "An input is an address that pyarrow does not know; it knows s3, gs, abfs and hdfs."
        ) from None
    head = path[: path.index("://") + 3]
    rest = path[len(head) :].partition("?")
    before = rest[0][: len(rest[0]) - len(inner)] if rest[0].endswith(inner) else ""
    options = f"?{rest[2]}" if rest[1] else ""
    return system, inner, lambda one: f"{head}{before}{one}{options}"


@cache
def _local() -> Any:
    return pa.fs.LocalFileSystem()


def file_system(address: str) -> tuple[Any, str]:
    """The file system of an address."""
    system_and_path: tuple[Any, str] = pa.fs.FileSystem.from_uri(address)
    return system_and_path


def opened(path: str) -> IO[bytes]:
    """A file, wherever it is, to be read from its beginning."""
    if not is_address(path):
        return open(path, "rb", buffering=1 << 20)
    system, inner, _ = located(path)
    return io.BufferedReader(system.open_input_file(inner), 1 << 20)


@contextmanager
def reading(path: str, name: str) -> Iterator[IO[bytes]]:
    """A file or standard input, as bytes. `name` is its name in errors."""
    if path == STANDARD:
        if sys.stdin.buffer.isatty():
            raise FileProblem("Standard input is a terminal: pipe something into it, or name a file.")
        yield sys.stdin.buffer
        return
    with naming(name), opened(path) as file:
        yield file


def parquet_source(path: str) -> Any:
    """What a reader of Parquet opens: it jumps in the file."""
    if not is_address(path):
        return path
    system, inner, _ = located(path)
    return system.open_input_file(inner)


def size_of(path: str) -> int:
    """Bytes of a file; 0 where nobody knows."""
    if path == STANDARD:
        return 0
    system, inner, _ = located(path)
    return int(system.get_file_info(inner).size or 0)


def stamp_of(path: str) -> str:
    """What changes when a file changes: its place, size and time. On this machine also its number and the time of its
    last change of any kind, which no program sets back."""
    if not is_address(path):
        known = os.stat(path)
        own = (known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino)
        return "|".join(map(str, (Path(path).resolve(), *own)))
    system, inner, _ = located(path)
    info = system.get_file_info(inner)
    return f"{path}|{info.size}|{info.mtime_ns}"


def total_size(paths: Iterable[str]) -> int:
    """Bytes of all files; 0 where one of them is a pipe."""
    sizes = [size_of(path) for path in paths]
    return sum(sizes) if all(sizes) else 0
