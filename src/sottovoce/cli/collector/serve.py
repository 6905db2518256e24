"""`sottovoce serve`: the collector over HTTP."""

from __future__ import annotations

import json
import signal
from contextlib import suppress

from sottovoce.cli.data.files import reading
from sottovoce.cli.show import note
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.service.collector import PARTICIPANTS, Collector, default_store
from sottovoce.service.http.app import Application
from sottovoce.service.http.server import make_server
from sottovoce.service.stores import open_store
from sottovoce.study.reading import check_study

NAME = "The study file"


def serve(
    file: str | None, *, participants: int | None, store: str | None, host: str, port: int, key: str | None = None
) -> None:
    """Collect until interrupted. Prints the address of each study as lines of JSON."""
    sealed = [] if key is None else [load("service.shuffler.opening:sealed_route_of")(key)]
    source = None
    if file is not None:
        with reading(file, NAME) as opened:
            source = opened.read()
        check_study(source)  # before a store is made
    collector = Collector(open_store(store or default_store(file), create=source is not None))
    collector.start()
    try:
        if source is not None:
            known = len(collector.courses)
            collector.create(source, participants)
            if participants is None and len(collector.courses) > known:
                note(f"planned for {PARTICIPANTS:,} participants; --participants says how many you expect.")
        if not collector.courses:
            raise ParameterError("There is no study in this store: name a study file.")
        try:
            server, listening = make_server(Application(collector, sealed), host, port)
        except OSError as problem:
            raise ParameterError(f"The collector cannot listen there: {problem.strerror}.") from None
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        for course in collector.courses.values():
            about = {
                "study": course.manifest.facts.name,
                "id": course.name,
                "url": f"{address}/v1/studies/{course.name}",
            }
            print(json.dumps(about), flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # both end it in the same orderly way
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        collector.stop()
