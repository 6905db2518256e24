"""A real PostgreSQL for tests: a server of its own in a temporary folder, on a socket only its user may open."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sottovoce.core.errors import SottovoceError
from tests.patience import PATIENCE

_NEW = ["-U", "sottovoce", "-A", "trust", "-E", "UTF8"]
USERS = ("postgres", "nobody")  # PostgreSQL refuses to run as root
_WAIT = ["-w", "-t", str(PATIENCE)]  # pg_ctl gives up after 60 seconds, which a machine with a busy disk exceeds


class NoDatabaseError(SottovoceError):
    """PostgreSQL is not installed, or does not start."""


def programs() -> Path:
    """The folder with PostgreSQL's programs; Debian keeps them off PATH."""
    initdb = shutil.which("initdb") or max(glob.glob("/usr/lib/postgresql/*/bin/initdb"), default=None)
    if initdb is None:
        raise NoDatabaseError("PostgreSQL is not installed: `make system-deps` installs it.")
    return Path(initdb).parent


@contextmanager
def temporary_postgresql() -> Iterator[str]:
    """The URL of a database that ends with the block. Its commits are durable, as in real use."""
    where = programs()
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-pg-"))
    try:
        user = _user()
        if user is not None:
            shutil.chown(folder, user.pw_uid, user.pw_gid)
        folder.chmod(0o700)
        _run(where / "initdb", ["-D", str(folder / "data"), *_NEW], folder)
        url = f"postgresql://sottovoce@/postgres?host={folder}"
        start(url)
        try:
            yield url
        finally:
            stop(url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(url: str) -> None:
    """Start the server of a temporary database again."""
    folder = _folder(url)
    options = f"-k {folder} -c listen_addresses='' -c fsync=on -c shared_buffers=64MB"
    log = str(folder / "log")
    _run(programs() / "pg_ctl", ["-D", str(folder / "data"), "-o", options, "-l", log, *_WAIT, "start"], folder)


def stop(url: str) -> None:
    """End the server of a temporary database as a crash does."""
    folder = _folder(url)
    _run(programs() / "pg_ctl", ["-D", str(folder / "data"), "-m", "immediate", *_WAIT, "stop"], folder)


def _folder(url: str) -> Path:
    return Path(url.partition("host=")[2])


def _user() -> pwd.struct_passwd | None:
    """Whom to run it as: this user, or another one if this is root."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoDatabaseError("PostgreSQL needs a user other than root to run as.")


def _run(program: Path, arguments: Sequence[str], folder: Path) -> None:
    user = _user()
    who: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    words = folder / "words"  # a file: the server keeps a pipe open, and reading it would never end
    with words.open("wb") as said:
        done = subprocess.run([str(program), *arguments], cwd=folder, stdout=said, stderr=said, check=False, **who)
    if done.returncode:
        log = folder / "log"
        why = [path.read_text(errors="replace")[-2000:] for path in (words, log) if path.exists()]
        raise NoDatabaseError(f"{program.name} exits with {done.returncode}: {' '.join(why)}")
