"""Where a collector keeps its studies: an SQLite file, or a PostgreSQL database by its URL."""

from __future__ import annotations

from sottovoce.core.late import load
from sottovoce.service.stores.base import Store

URLS = ("postgresql://", "postgres://")


def open_store(place: str, *, create: bool = True) -> Store:
    """The store at a path or URL. A new one is made, unless `create` is false."""
    kind = "postgresql:PostgreSQLStore" if place.startswith(URLS) else "sqlite:SQLiteStore"
    found: Store = load(f"service.stores.{kind}")(place, create=create)
    return found
