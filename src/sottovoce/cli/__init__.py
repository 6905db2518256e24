"""The command line. `answer` runs on the bare install; every other verb names the extra it needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sottovoce.client.command import main as answer
from sottovoce.core.errors import SottovoceError
from sottovoce.core.late import load


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point: exit code 2 and one sentence for bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["answer"]:
            return answer(given[1:])
        return int(load("cli.app:run")(given))
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away; there is no one to tell
        return 0
    except SottovoceError as problem:
        print(f"sottovoce: {problem}", file=sys.stderr)
        return 2
