"""How problems of files are told, and files that are written whole or not at all.

Errors name a file by its role, never by its path, and repeat neither its content nor the message of a parser: a
misplaced argument, a missing header or a broken row may be somebody's answer.
"""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sottovoce.core.errors import ParameterError, SottovoceError

STANDARD = "-"
DAMAGED = "it is damaged, cut off, or not of the kind that its name or --format says"


class FileProblem(SottovoceError):
    """A file that cannot be read or written."""


def cells(line: str, **form: Any) -> list[str]:
    """One line of CSV."""
    try:
        return next(csv.reader([line], **form), [])
    except csv.Error as problem:  # what follows the dash is for programmers
        raise ParameterError(f"A line of CSV cannot be read: {str(problem).partition(' - ')[0]}.") from None


def input_name(path: str, place: int = 0, total: int = 1) -> str:
    """The name of an input in errors."""
    if path == STANDARD:
        return "Standard input"
    return "The input" if total == 1 else f"Input {place + 1} of {total}"


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Errors inside are reported as problems of this file, without the message of a parser."""
    try:
        yield
    except FileProblem:
        raise
    except SottovoceError as problem:
        raise FileProblem(f"{name}: {problem.sentence}") from None
    except OSError as problem:
        raise FileProblem(f"{name} cannot be read: {problem.strerror or DAMAGED}.") from None
    except MemoryError:  # compressed files may declare more than they hold
        raise FileProblem(f"{name} cannot be read: it asks for more memory than there is.") from None
    except (ValueError, NotImplementedError) as problem:  # what Arrow raises is one of these
        text = isinstance(problem, UnicodeDecodeError) or "invalid UTF8" in str(problem)
        raise FileProblem(f"{name} cannot be read: {'it holds text that is not UTF-8' if text else DAMAGED}.") from None


@contextmanager
def writing(path: str, *, force: bool = False, name: str = "The output", secret: bool = False) -> Iterator[IO[bytes]]:
    """A file that appears whole at the end of the block, or not at all; devices and pipes are written as they are.

    A secret file belongs to its owner alone (mode 0600), and a link in its place is not followed.
    """
    called = "Standard output" if path == STANDARD else name
    try:
        if path == STANDARD:
            with _standard_output() as stream:
                yield stream
        elif _is_special(path):
            with open(path, "wb") as file:
                yield file
        else:
            with _whole(Path(path if secret else os.path.realpath(path)), force, name, secret=secret) as file:
                yield file
    except BrokenPipeError:
        raise FileProblem(f"{called} was closed by its reader before everything was written.") from None
    except OSError as problem:
        raise FileProblem(f"{called} cannot be written: {problem.strerror or 'the system refused'}.") from None


def check_free(path: str, force: bool, *, name: str = "The output") -> None:
    """Refuse early what `writing` would refuse in the end."""
    if path == STANDARD:
        if sys.stdout.buffer.isatty():
            raise FileProblem("Standard output is a terminal: pipe it into another command, or name a file.")
        return
    target = Path(path)
    if target.is_dir():
        raise FileProblem(f"{name} cannot be written: it is a folder.")
    if not target.parent.is_dir():
        raise FileProblem(f"{name} cannot be written: its folder does not exist.")
    if os.path.lexists(target) and not force and not _is_special(path):
        raise FileProblem(f"{name} exists: --force overwrites it.")


def same_file(one: str, other: str) -> bool:
    """Whether two names lead to one file, or both to a pipe."""
    if STANDARD in (one, other):
        return one == other
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def check_apart(path: str, source: str, *, name: str = "The output") -> None:
    """Refuse to write over what is read, even by force."""
    if path != STANDARD and not _is_special(path) and same_file(path, source):
        raise FileProblem(f"{name} is the input: give it another name.")


def _is_special(path: str) -> bool:
    """A device or a named pipe, which must not be replaced by a file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # What is still buffered has nowhere to go, and the interpreter would complain about it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def _whole(target: Path, force: bool, called: str, *, secret: bool) -> Iterator[IO[bytes]]:
    check_free(str(target), force, name=called)
    name = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    mode = 0o600 if secret else 0o666
    descriptor, named = _part(name, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
            check_free(str(target), force, name=called)
            if not named:
                _give_name(descriptor, name, mode)
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _part(name: Path, mode: int) -> tuple[int, bool]:
    """A new file in the folder of the target, without a name where the system can do that: then a killed process leaves
    nothing behind."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with suppress(OSError):
            return os.open(name.parent, os.O_WRONLY | os.O_TMPFILE, mode), False
    return _new(name, mode), True


def _new(name: Path, mode: int) -> int:
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)


def _give_name(descriptor: int, name: Path, mode: int) -> None:
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        # A folder is given only because Python then calls linkat, which follows the link to the open file.
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=folder, follow_symlinks=True)
    except OSError:  # some file systems can hold a file without a name but not name it later
        with open(f"/proc/self/fd/{descriptor}", "rb") as part, os.fdopen(_new(name, mode), "wb") as copy:
            shutil.copyfileobj(part, copy)
            copy.flush()
            os.fsync(copy.fileno())
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Write a new name to disk, where the system can open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
