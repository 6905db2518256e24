"""`sottovoce serve`: the collector over HTTP."""

from __future__ import annotations

import json
import signal
import socket
import sys
from contextlib import suppress

from sottovoce.cli.show import note, steps
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.late import load
from sottovoce.files.places import reading
from sottovoce.service.app import Application
from sottovoce.service.collector import PARTICIPANTS, Collector, default_store
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.server import bound_socket, make_server
from sottovoce.service.running_study import RunningStudy
from sottovoce.service.stores import open_store
from sottovoce.study.reading import check_study
from sottovoce.study.strata import source_of

NAME = "The study file"


def serve(
    file: str | None,
    *,
    participants: int | None,
    store: str | None,
    host: str,
    port: int,
    key: str | None,
    addresses: Addresses,
) -> None:
    """Collect until interrupted. Prints the addresses of each study as a line of JSON."""
    sealed = [] if key is None else [load("service.shuffler.opening:sealed_route_of")(key)]
    source = None
    if file is not None:
        with reading(file, NAME) as opened:
            source = opened.read()
        check_study(source)  # before a store is made
    with _bound(host, port) as listening:  # before a study is planned, which may take a minute
        collector = Collector(open_store(store or default_store(file), create=source is not None))
        collector.start()
        try:
            if source is not None:
                _create(collector, source, participants)
            if not collector.studies:
                raise ParameterError("There is no study in this store: name a study file.")
            server, _ = make_server(Application(collector, sealed, addresses), host, port, listening)
            base = addresses.printed(host, listening.getsockname()[1])
            for running in collector.studies.values():
                print(json.dumps(_printed(running, base)), flush=True)
            if sys.stderr.isatty():  # a person reads it
                note(_next_steps(store or default_store(file)))
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # both end it in the same orderly way
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            collector.stop()


def _next_steps(store: str) -> str:
    """What whoever started the collector can do now."""
    return (
        "Open the addresses above in a browser: participants answer at the last one. Press Ctrl-C to stop; nothing is"
        f" lost, and `sottovoce serve --store {store}` goes on. Then: `sottovoce export {store} -o results`."
    )


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bound_socket(host, port)
    except OSError as problem:
        raise ParameterError(f"The collector cannot listen there: {problem.strerror}. Choose another --port.") from None


def _create(collector: Collector, source: bytes, participants: int | None) -> None:
    study = check_study(source)
    if study.strata and not study.stratum:
        for one in study.strata:
            _create(collector, source_of(source, one.name), participants)
        note(
            f"{study.name} is served once for each of {len(study.strata)} strata: give every person the address of"
            " their stratum. `sottovoce export --strata` weights the estimates."
        )
        return
    known = len(collector.studies)
    with steps() as tell:
        name = collector.create(source, participants, tell=tell)
    if participants is None and check_study(source).participants is None and len(collector.studies) > known:
        note(f"planned for {PARTICIPANTS:,} participants; write participants = ... under [study] if you expect others.")
    for other in collector.open_namesakes(name):
        title = other.manifest.facts.name
        note(
            f"The store has another open study named {title}, from a study file with other words:"
            f" {other.name}, with {plural(other.row.reports, 'report', ',')}. Both collect. End the other one with"
            f" `sottovoce close STORE --study {other.name}`."
        )


def _printed(running: RunningStudy, base: str) -> dict[str, str]:
    """A study with the addresses of its pages, and the one that devices take."""
    addresses = {"study": running.manifest.facts.name, "id": running.name, "url": f"{base}/v1/studies/{running.name}"}
    addresses["dashboard"] = f"{base}/studies/{running.name}"
    if running.manifest.facts.collection.sealed_for is None:  # else it is at the shuffler
        addresses["participants"] = f"{base}/s/{running.name}"
    return addresses
