"""What a person sees: tables, notes and progress. Tables are boxed on a terminal and aligned text elsewhere."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sottovoce.core.language.escape import spreadsheet

T = TypeVar("T")

PATIENCE = 1.0  # seconds before a bar appears


def note(text: str) -> None:
    """A remark beside the output."""
    print(f"sottovoce: {text}", file=sys.stderr)


def printable(value: object) -> str:
    """A label without terminal control characters."""
    text = str(value)
    return text if text.isprintable() else repr(text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> None:
    """Rows under a header; the last `numbers` columns are aligned at the right."""
    if sys.stdout.isatty():
        _boxed(header, rows, numbers)
        return
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    first_number = len(header) - numbers
    for row in (header, *rows):
        cells = [
            text.rjust(width) if place >= first_number else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _boxed(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    boxed = Table()
    for place, name in enumerate(header):
        boxed.add_column(name, justify="right" if place >= len(header) - numbers else "left")
    for row in rows:
        boxed.add_row(*map(Text, row))  # a label is text, whatever markup it looks like
    Console().print(boxed)


def comma_separated(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under a header as CSV."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(spreadsheet, row) for row in rows)


class Gauge:
    """A bar of bytes on standard error, over all inputs of a command; shown on a terminal, after a while."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._before = 0  # bytes of the inputs that are done
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Gauge:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def done(self) -> int:
        """Bytes of the inputs that are done."""
        return self._before

    def to(self, done: int) -> None:
        """So many bytes of the present input are read."""
        if not sys.stderr.isatty():
            return
        if self._bar is None and time.monotonic() - self._start > PATIENCE:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total or None)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._before + done)

    def finish(self, size: int) -> None:
        """The present input is read."""
        self.to(size)
        self._before += size


@contextmanager
def steps(*, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """A function that shows the present step of something slow, on one line of a terminal, until all is done."""
    if not shown or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("planning", spinner="line") as status:
        yield lambda step: status.update(printable(step))


def progress(items: Iterable[T], what: str, measure: Callable[[T], tuple[int, int]]) -> Iterator[T]:
    """The items, with a progress bar on standard error if that is a terminal.

    `measure` gives the length of an item and the total of all, 0 if unknown.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    start, bar, task = time.monotonic(), Progress(console=Console(stderr=True), transient=True), None
    done = 0
    try:
        for item in items:
            length, total = measure(item)
            done += length
            if task is None and time.monotonic() - start > PATIENCE:
                bar.start()
                task = bar.add_task(what, total=total or None)
            if task is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        bar.stop()
