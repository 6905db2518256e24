"""Open event streams. Beyond a limit a new stream ends an old one, so that nobody can keep others out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MOST_STREAMS = 500


class Streams:
    """The streams of all studies, oldest first. Senders are unknown, so one limit holds for all."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open: dict[asyncio.Event, str] = {}

    @contextmanager
    def held(self, study: str) -> Iterator[asyncio.Event]:
        """Hold a stream open until its event is set. Beyond the limit, the oldest stream of the busiest study ends."""
        ended = asyncio.Event()
        self._open[ended] = study
        if len(self._open) > self._most:
            ((busiest, _),) = Counter(self._open.values()).most_common(1)
            oldest = next(one for one, name in self._open.items() if name == busiest)
            oldest.set()
            del self._open[oldest]
        try:
            yield ended
        finally:
            self._open.pop(ended, None)
