"""`sottovoce answer`: one randomized answer from a shell, with nothing but the standard library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from sottovoce.client.arguments import SentenceParser
from sottovoce.client.client import Client
from sottovoce.core.errors import ParameterError


def main(arguments: Sequence[str]) -> int:
    """Print the message that would be sent, in hexadecimal."""
    parser = SentenceParser(
        "answer",
        "SPEC [--value VALUE] [--limit LIMIT] [--memo FILE] [--lifetime-limit LIMIT]",
        "Randomize one answer on this machine and print the message as hex.",
    )
    parser.add_argument("spec", type=Path, help="a mechanism's specification (JSON)")
    parser.add_argument("--value", help="the answer; read from standard input if left out, so that no shell keeps it")
    parser.add_argument("--limit", type=_decimal, help="refuse a mechanism whose computed epsilon is larger")
    parser.add_argument("--memo", type=Path, help="where this device keeps its memos, for mechanisms that need one")
    parser.add_argument("--lifetime-limit", type=_decimal, help="bounds the epsilon of all answers from memos together")
    options = parser.parse_args(arguments)
    try:
        client = Client.from_spec(
            options.spec.read_bytes(),
            limit=options.limit,
            lifetime_limit=options.lifetime_limit,
            memo=options.memo,
        )
    except OSError as problem:
        raise ParameterError(f"The specification cannot be read: {problem.strerror}.") from None
    text = options.value if options.value is not None else _read()
    print(client.report_text(text).hex())
    found, forever = f"epsilon {client.mechanism.epsilon:.6g}", client.mechanism.epsilon_forever
    if client.mechanism.claimed_forever is not None:
        found += f", for ever {forever:.6g} for each value"
    print(f"{found}, computed from the channel", file=sys.stderr)
    return 0


def _decimal(text: str) -> Decimal:
    """The limit as it was typed; a float would be another number."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("This is not a number.") from None


def _read() -> str:
    """The first line of standard input."""
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ParameterError(f"The answer on standard input is not {sys.stdin.encoding} text.") from None
