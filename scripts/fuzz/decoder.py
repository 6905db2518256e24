"""`python -m scripts.fuzz.decoder --minutes 10`: atheris looks for bytes that break the decoder of batches.

A batch is read whole or refused with a sentence; what is read is written back as the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sottovoce.core"]):
    from sottovoce.core.errors import ReportError, SpecError
    from sottovoce.core.exchange.wire import Batch


def check(data: bytes) -> None:
    """Read the bytes as either form."""
    with suppress(ReportError):
        batch = Batch.from_cbor(data)
        if batch.to_cbor() != data:
            raise AssertionError("A batch has two encodings.")
        if Batch.from_json(batch.to_json()) != batch:
            raise AssertionError("The two forms differ.")
    with suppress(ReportError, SpecError):
        again = Batch.from_json(data)
        if Batch.from_cbor(again.to_cbor()) != again:
            raise AssertionError("The two forms differ.")


SEEDS = [
    Batch(bytes(8), 2500, 1, 0, bytes(16), b"\x01").to_cbor(),
    Batch(bytes(8), 2500, 3, 2, bytes(range(32)), b"ab" * 2, bytes(32)).to_cbor(),
    Batch(bytes(8), 2500, 1, 0, bytes(16), b"\x01").to_json(),
]


def main() -> int:
    """Until the time is over, or something is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seeds", default=None, metavar="FOLDER", help="where the first inputs are written")
    options = parser.parse_args()
    for seed in SEEDS:
        check(seed)
    arguments = [sys.argv[0], f"-max_total_time={int(60 * options.minutes)}", "-max_len=4096", "-print_final_stats=1"]
    # The peak of memory that libFuzzer looks at is inherited from the process that started this one.
    arguments.append("-rss_limit_mb=0")
    if options.seeds is not None:
        for place, seed in enumerate(SEEDS):
            (Path(options.seeds) / f"seed-{place}").write_bytes(seed)
        arguments.append(options.seeds)
    atheris.Setup(arguments, check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
