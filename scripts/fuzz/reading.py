"""The cost of reading an untrusted specification, measured in a separate process with limited memory and time.

Run as a program it reads lines from standard input, each a text in base64, and answers each with a line of JSON.
"""

from __future__ import annotations

import base64
import ctypes
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from sottovoce.client import Client
from sottovoce.core.coins import SeededCoins
from sottovoce.core.errors import SottovoceError

MAX_SECONDS = 1.0
MAX_MEGABYTES = 100.0
MAX_SENTENCE = 2000  # characters
_STOP = 10.0  # seconds of computing after which a reading is given up
_ROOM = 1 << 30  # bytes of addresses beyond those of the interpreter
ACCEPT = ("approximate", "idealised", "utility_optimised")


class TextReading(NamedTuple):
    """How one text was read."""

    outcome: str  # "read", "refused", or the error
    seconds: float  # of computing
    megabytes: float  # above what the process held before
    said: str

    @property
    def problem(self) -> str | None:
        """The problem, if any."""
        if self.outcome not in ("read", "refused"):
            return f"{self.outcome}: {self.said}"
        if self.seconds > MAX_SECONDS or self.megabytes > MAX_MEGABYTES:
            return f"{self.outcome} after {self.seconds:.2f} s and {self.megabytes:.0f} MB"
        if len(self.said) > MAX_SENTENCE or "\n" in self.said:
            return f"refused in more than a sentence: {self.said[:200]}"
        return None


def readings(texts: Iterable[bytes]) -> Iterator[TextReading]:
    """Each text read in a process that is limited; one that dies is replaced."""
    process: Any = None
    for text in texts:
        if process is None or process.poll() is not None:
            # By its file, as the device has no NumPy, which the package around this module would load.
            process = subprocess.Popen([sys.executable, "-P", __file__], stdin=-1, stdout=-1, text=True)
        try:
            process.stdin.write(json.dumps(base64.b64encode(text).decode()) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            process.wait()
            yield TextReading("died", 0.0, 0.0, f"exit code {process.returncode}")
            continue
        yield TextReading(*json.loads(line))
    if process is not None:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def read(text: bytes) -> tuple[str, str]:
    """Read a text as a device that accepts every guarantee does, up to the id of a first report."""
    with suppress(SottovoceError):
        Client.from_spec(text)  # accepts pure guarantees only
    try:
        mechanism = Client.from_spec(text, accept=ACCEPT).mechanism
        _ = mechanism.epsilon, mechanism.epsilon_forever, mechanism.fingerprint
        coins = SeededCoins(1)
        coins.begin(2)
        mechanism._public(coins)
    except SottovoceError as problem:
        return "refused", str(problem)
    return "read", ""


def measured(text: bytes) -> TextReading:
    """One reading, with its time and its memory."""
    before, start = _peak(reset=True), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, _STOP)
    try:
        outcome, said = read(text)
    except _StoppedError:
        outcome, said = "too long", ""
    except Exception as problem:  # any other error is a finding
        outcome, said = type(problem).__name__, str(problem)[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return TextReading(outcome, time.process_time() - start, (_peak() - before) / 1024, said)


class _StoppedError(BaseException):
    """The time is over."""


def _stopped(*_: object) -> NoReturn:
    raise _StoppedError


def _peak(*, reset: bool = False) -> int:
    """The most memory that was held since the last reset, in KiB."""
    if reset:
        ctypes.CDLL(None).malloc_trim(0)  # memory that was freed before must not hide what is held now
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM"].split()[0])


def main() -> None:
    """Serve readings until the input ends."""
    signal.signal(signal.SIGPROF, _stopped)
    read(b"{}")
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + _ROOM, held + _ROOM))
    for line in sys.stdin:
        print(json.dumps(measured(base64.b64decode(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
