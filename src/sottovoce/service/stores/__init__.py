"""Stores of a collector: an SQLite file, or a PostgreSQL database by its URL."""

from __future__ import annotations

from sottovoce.core.late import load
from sottovoce.service.stores.base import Store

URLS = ("postgresql://", "postgres://")


def open_store(place: str, *, create: bool = True) -> Store:
    """Open the store at a path or URL. A missing one is created, unless `create` is false."""
    kind = "postgresql:PostgreSQLStore" if place.startswith(URLS) else "sqlite:SQLiteStore"
    store: Store = load(f"service.stores.{kind}")(place, create=create)
    return store
