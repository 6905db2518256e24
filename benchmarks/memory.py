"""Child process of the memory benchmark: ``write`` a Parquet file of GRR reports, or ``read`` it.

Reading is a process of its own, because a peak once reached never falls again.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

ROW_GROUP = 1 << 20
K = 128


def mechanism():  # type: ignore[no-untyped-def]
    import sottovoce as sv

    return sv.mechanism("grr", sv.Integers(0, K - 1), epsilon=1.0)


def peak_megabytes() -> float:
    """Linux keeps a process's getrusage peak across exec, so that a child would report its parent's size;
    the peak of the address space itself starts afresh."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def write(path: str, reports: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sottovoce.files.arrow import to_arrow

    # Privatized once and written again and again: the reader cannot tell, and making 50 million fresh
    # reports is not what is measured.
    codes = np.random.default_rng(1).integers(0, K, size=ROW_GROUP)
    group = pa.Table.from_batches([to_arrow(mechanism().privatize(codes))])
    with pq.ParquetWriter(path, group.schema) as writer:
        for start in range(0, reports, ROW_GROUP):
            writer.write_table(group.slice(0, min(ROW_GROUP, reports - start)))


def read(path: str) -> None:
    from itertools import islice

    from sottovoce.files.reports import read_reports

    m = mechanism()
    # The first batch compiles what the stream calls, so that the idle figure holds all that does not grow
    # with the file.
    m.tally_batches(islice(read_reports(path, m), 1))
    idle = peak_megabytes()
    start = time.perf_counter()
    tally = m.tally_batches(read_reports(path, m))
    seconds = time.perf_counter() - start
    print(peak_megabytes(), idle, seconds, tally.n)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]))
    else:
        read(sys.argv[2])
