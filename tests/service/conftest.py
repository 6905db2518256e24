"""Stores of both kinds, empty for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import Store
from tests.databases import temporary_postgresql

KINDS = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.xdist_group("postgresql")])]


@pytest.fixture(scope="session")
def database(require_tool: Callable[[str], str]) -> Iterator[str]:
    """The URL of a PostgreSQL of this session's own."""
    require_tool("initdb")
    with temporary_postgresql() as url:
        yield url


def emptied(url: str) -> str:
    """The same database without a store."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS sottovoce CASCADE")
    return url


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store is: a file, then a database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    return emptied(request.getfixturevalue("database"))


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    found = open_store(place)
    yield found
    found.close()
