"""Queries that count a plain column of reports, for databases without our kernels.

The queries return rows `(fingerprint, arm, cell, n)`, which `fold` adds up like those of an engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sottovoce.core.channel.finite.bits import Bits
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.fast.kernels.base import all_outputs_are_possible
from sottovoce.files.arms import Arms
from sottovoce.files.counts import REPORTS, Reason

_BYTE = 8


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes what they all can do.

    Attributes:
        numbers: a table `places` with the column `cell`, which holds the numbers below a limit.
        bit: whether a bit of the bytes `report` is set, counted from the lowest bit of the first byte.
    """

    name: str
    numbers: Callable[[int], str]
    bit: Callable[[str], str]


def _nibble(place: str) -> str:
    """Spark has no function for a bit of bytes: the hexadecimal digit that holds it is looked up."""
    digit = f"substring(hex(report), 2 * ({place} DIV 8) + CASE WHEN {place} % 8 < 4 THEN 2 ELSE 1 END, 1)"
    return f"CAST(instr('123456789ABCDEF', {digit}) AS BIGINT) DIV shiftleft(1, CAST({place} % 4 AS INT)) % 2 = 1"


DUCKDB = Dialect(
    "duckdb",
    lambda limit: f"range({limit}) AS places(cell)",
    lambda place: f"get_bit(CAST(report AS BIT), CAST({place} + 7 - 2 * ({place} % 8) AS INTEGER)) = 1",
)
SPARK = Dialect("spark", lambda limit: f"(SELECT id AS cell FROM range({limit})) AS places", _nibble)
POSTGRESQL = Dialect(
    "postgresql",
    lambda limit: f"generate_series(0, {limit - 1}) AS places(cell)",
    lambda place: f"get_bit(report, {place}) = 1",
)
DIALECTS = {one.name: one for one in (DUCKDB, SPARK, POSTGRESQL)}


def plain_count(arms: Arms, dialect: Dialect) -> str | None:
    """The query for a table `reports` with one column of numbers; None where a kernel is needed."""
    if len(arms.mechanisms) != 1 or not _counts_outputs(arms.mechanisms[0]):
        return None
    return _outputs(arms.mechanisms[0])


def tally_query(mechanism: Mechanism, dialect: str) -> str:
    """The query that counts the column `report` of a table `reports`, with a comment."""
    if dialect not in DIALECTS:
        raise ParameterError(f"A query is written for one of {', '.join(DIALECTS)}.")
    if _counts_outputs(mechanism):
        query, column = _outputs(mechanism), "a number"
    elif _counts_bits(mechanism):
        query, column = _supports(mechanism, DIALECTS[dialect]), "the bytes of a payload"
    else:
        raise ParameterError(
            f"Counting {mechanism.statistic.kind} of {mechanism.name} needs a kernel, which a query cannot call: count"
            " with sottovoce.engines.duckdb or sottovoce.engines.spark."
        )
    return (
        f"-- {mechanism.name}, {mechanism.statistic.kind}: {mechanism.cells} cells. Each row of `reports` is one\n"
        f"-- report, and its column `report` holds {column}. Remove rows with repeated ids before.\n{query}\n"
    )


def _counts_outputs(mechanism: Mechanism) -> bool:
    plain = isinstance(mechanism.statistic, CountOutputs) and all_outputs_are_possible(mechanism.channel)
    return plain and mechanism.cells < 1 << 53


def _counts_bits(mechanism: Mechanism) -> bool:
    """Whether a report supports the codes whose bits it sets, and every mask is a report."""
    channel = mechanism.channel
    return isinstance(mechanism.statistic, CountSupports) and isinstance(channel, Bits) and not channel.shown


def _outputs(mechanism: Mechanism) -> str:
    # One condition after the other: databases may compute both sides of an AND, and a cast of 1e30 fails.
    return f"""WITH counted AS (
  SELECT CASE WHEN report IS NULL THEN {Reason.LENGTH.cell}
              WHEN NOT (report BETWEEN 0 AND {mechanism.cells - 1}) THEN {Reason.PAYLOAD.cell}
              WHEN report <> CAST(report AS BIGINT) THEN {Reason.PAYLOAD.cell}
              ELSE CAST(report AS BIGINT) END AS cell, count(*) AS n
  FROM reports GROUP BY 1
)
{_labelled(mechanism, "SELECT cell, n FROM counted")}
UNION ALL
{_labelled(mechanism, f"SELECT {REPORTS} AS cell, coalesce(sum(n), 0) AS n FROM counted WHERE cell >= 0")}"""


def _supports(mechanism: Mechanism, dialect: Dialect) -> str:
    bits, width = mechanism.channel.payload_bits, codec.payload_bytes(mechanism.channel)
    spare = "".join(
        f"\n              WHEN {dialect.bit(str(place))} THEN {Reason.PAYLOAD.cell}"
        for place in range(bits, _BYTE * width)
    )
    return f"""WITH checked AS (
  SELECT report, CASE WHEN report IS NULL OR octet_length(report) <> {width} THEN {Reason.LENGTH.cell}{spare}
              ELSE {REPORTS} END AS verdict
  FROM reports
)
{_labelled(mechanism, "SELECT verdict AS cell, count(*) AS n FROM checked GROUP BY verdict")}
UNION ALL
{
        _labelled(
            mechanism,
            f"SELECT cell, count(*) AS n FROM checked CROSS JOIN {dialect.numbers(bits)}"
            f" WHERE CASE WHEN verdict = {REPORTS} THEN {dialect.bit('cell')} ELSE FALSE END GROUP BY cell",
        )
    }"""


def _labelled(mechanism: Mechanism, inner: str) -> str:
    return (
        f"SELECT '{mechanism.fingerprint}' AS fingerprint, 0 AS arm, CAST(cell AS BIGINT) AS cell,"
        f" CAST(n AS BIGINT) AS n\nFROM ({inner}) AS summed"
    )
