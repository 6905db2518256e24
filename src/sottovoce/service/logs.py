"""Structured logs, one line of JSON for each event of the collector. Requests are never logged.

There is no time in them: what runs the collector adds its own, and only to events that no sender causes alone.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

import structlog

Log = Any  # structlog's bound logger


def make_log(file: TextIO | None = None) -> Log:
    """A logger that writes JSON lines."""
    return structlog.wrap_logger(
        structlog.PrintLogger(file or sys.stderr),
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer(sort_keys=True)],
        wrapper_class=structlog.BoundLogger,
    )
