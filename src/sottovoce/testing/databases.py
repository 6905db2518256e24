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

USERS = ("postgres", "nobody")  # PostgreSQL refuses to run as root


class NoDatabaseError(SottovoceError):
    """PostgreSQL is not installed, or does not start."""


def programs() -> Path:
    """The folder with PostgreSQL's programs; Debian keeps them off PATH."""
    found = shutil.which("initdb") or max(glob.glob("/usr/lib/postgresql/*/bin/initdb"), default=None)
    if found is None:
        raise NoDatabaseError("PostgreSQL is not installed: `make system-deps` installs it.")
    return Path(found).parent


@contextmanager
def temporary_postgresql() -> Iterator[str]:
    """The URL of a database that ends with the block. Its commits are durable, as in real use."""
    where = programs()
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-pg-"))
    user = _user()
    try:
        if user is not None:
            shutil.chown(folder, user.pw_uid, user.pw_gid)
        folder.chmod(0o700)
        data = str(folder / "data")
        _run(where / "initdb", ["-D", data, "-U", "sottovoce", "-A", "trust", "-E", "UTF8"], folder, user)
        options = f"-k {folder} -c listen_addresses='' -c fsync=on -c shared_buffers=64MB"
        _run(where / "pg_ctl", ["-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start"], folder, user)
        try:
            yield f"postgresql://sottovoce@/postgres?host={folder}"
        finally:
            _run(where / "pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"], folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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


def _run(program: Path, arguments: Sequence[str], folder: Path, user: pwd.struct_passwd | None) -> None:
    who: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    done = subprocess.run(
        [str(program), *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **who
    )
    if done.returncode:
        raise NoDatabaseError("PostgreSQL does not start.")
