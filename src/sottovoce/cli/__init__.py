"""The command line. `answer`, `device` and `explain` run on the bare install; other verbs name the extra they need."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from traceback import extract_tb

from sottovoce import __version__
from sottovoce.cli.bare_verbs import BARE, bare_target
from sottovoce.cli.help.wording import for_options
from sottovoce.core.errors import SottovoceError
from sottovoce.core.late import load


def main(arguments: Sequence[str] | None = None) -> int:
    """The entry point: exit code 2 and one sentence for bad input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # labels that a terminal cannot show are escaped
    try:
        if words[:1] == ["--version"]:
            print(f"sottovoce {__version__}")
            code = 0
        elif words and words[0] in BARE:
            code = int(load(bare_target(words[0], words[1:]))(words[1:]))
        elif (not words or words[-1] in ("--help", "-h")) and load("cli.bare:is_bare")():
            print(load("cli.bare:help_text")(BARE, words[0] if words[1:] else None))
            code = 0
        else:
            code = int(load("cli.app:run")(words))
        sys.stdout.flush()  # here, where a closed pipe can be handled
        return code
    except BrokenPipeError:
        # The reader is gone; the rest of the buffer must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SottovoceError as problem:
        return _refused(for_options(problem.sentence, words))
    except OSError as problem:
        return _refused(f"A file cannot be read or written: {problem.strerror or 'the system refused'}.")
    except Exception as problem:
        # Messages of other libraries may contain an answer: only the location is shown.
        places = [f"{frame.name} (line {frame.lineno})" for frame in extract_tb(problem.__traceback__)]
        _refused(f"This is a bug in sottovoce: {type(problem).__name__} in {', '.join(places[-4:])}.")
        return 1


def _refused(sentence: str) -> int:
    print(f"sottovoce: {sentence}", file=sys.stderr)
    return 2
