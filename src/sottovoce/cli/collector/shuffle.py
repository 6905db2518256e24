"""`sottovoce shuffle`: the shuffler over HTTP, and the key of the collector behind it."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from sottovoce.client.transport import parsed
from sottovoce.core.errors import ParameterError
from sottovoce.service.http.addresses import Addresses
from sottovoce.service.http.server import make_server
from sottovoce.service.shuffler.mixer import Mixer
from sottovoce.service.shuffler.relay import Relay
from sottovoce.service.shuffler.unsealing import new_key as drawn_key


def shuffle(
    collector: str | None,
    *,
    file: str,
    new_key: str | None,
    host: str,
    port: int,
    least: int,
    addresses: Addresses,
) -> None:
    """Pass on until interrupted, or write a key. Prints the address that devices and participants open."""
    if (collector is None) == (new_key is None):
        raise ParameterError("Name the collector to pass reports on to, or the file of a new key, one of the two.")
    if new_key is not None:
        _write_key(new_key)
        return
    assert collector is not None
    parsed(collector)
    relay = Relay(Mixer(file), collector, least=least)
    try:
        server, listening = make_server(relay.application(), host, port)
    except OSError as problem:
        raise ParameterError(f"The shuffler cannot listen there: {problem.strerror}.") from None
    relay.start()
    try:
        print(json.dumps({"url": addresses.printed(host, listening.getsockname()[1])}), flush=True)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        relay.stop()
        listening.close()


def _write_key(path: str) -> None:
    """The private key for the collector's machine alone; the study file names the public one."""
    private, public = drawn_key()
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(private + "\n")
    except FileExistsError:
        raise ParameterError("The file of the key exists; a key is not overwritten.") from None
    print(json.dumps({"sealed_for": public}))
