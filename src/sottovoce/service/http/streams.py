"""Open event streams: so many at most, and a new one ends an old one, so that nobody can keep others out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MOST_STREAMS = 500


class Streams:
    """The streams of all studies, oldest first. The collector does not know senders, so the bound is for all."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open: dict[asyncio.Event, str] = {}

    @contextmanager
    def held(self, study: str) -> Iterator[asyncio.Event]:
        """A stream of a study, until it is told to end; beyond the bound the oldest of the busiest study is."""
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
