"""Open event streams: a new one is always let in, and a busy study does not push out the streams of another."""

from __future__ import annotations

from contextlib import ExitStack

from sottovoce.service.http.streams import Streams


def test_the_oldest_stream_of_the_busiest_study_ends() -> None:
    streams = Streams(most=4)
    with ExitStack() as held:
        quiet = held.enter_context(streams.held("quiet"))
        busy = [held.enter_context(streams.held("busy")) for _ in range(20)]
        assert not quiet.is_set()
        assert [one.is_set() for one in busy] == [True] * 17 + [False] * 3
        new = held.enter_context(streams.held("new"))
        assert not new.is_set() and not quiet.is_set() and sum(not one.is_set() for one in busy) == 2
    assert streams._open == {}
