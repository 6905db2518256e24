"""What an experiment computes: rows."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]  # plain values; the axes are among them
