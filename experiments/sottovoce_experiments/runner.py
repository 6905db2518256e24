"""Runs an experiment: finished cells are reused, the others computed on all cores, results and picture written."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from sottovoce.core.errors import MissingExtraError, ParameterError
from sottovoce.fast.processes import PATIENCE, fresh_processes, one_thread_each
from sottovoce.fast.threads import thread_count
from sottovoce_experiments import store
from sottovoce_experiments.experiment import Experiment, Point, Row, load
from sottovoce_experiments.sources import SOURCES

DATA_VARIABLE = "SOTTOVOCE_DATA"


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment with a seed, and the folder of its results."""

    experiment: Experiment
    folder: Path
    seed: int = 0
    quick: bool = False

    @property
    def runs(self) -> int:
        """Repetitions of each cell."""
        return self.experiment.quick_runs if self.quick else self.experiment.runs

    @property
    def results(self) -> Path:
        """Where the rows go."""
        return self.folder / f"{self.experiment.kept}{self._run}.parquet"

    @property
    def _run(self) -> str:
        return f"{'-quick' if self.quick else ''}-seed{self.seed}"

    @property
    def picture(self) -> Path:
        """Where the picture goes."""
        return self.folder / f"{self.experiment.id}{self._run}.svg"

    @property
    def journal(self) -> Path:
        """Where cells are kept while others run."""
        return self.results.with_suffix(".journal")

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.experiment.points(quick=self.quick))

    def missing_data(self) -> str | None:
        """A sentence if a file of shared data is needed and missing."""
        try:
            for name in self.experiment.needs:
                data_file(name)
        except ParameterError as problem:
            return str(problem)
        return None

    def identity(self) -> str:
        """What a stored cell must share with this job."""
        files = [data_file(name).read_bytes() for name in self.experiment.needs]
        data = "".join(hashlib.sha256(content).hexdigest() for content in files) or None
        return self.experiment.identity(self.seed, self.runs, data)

    def found(self) -> dict[str, list[Row]]:
        """The rows of each finished cell."""
        identity = self.identity()
        cells: dict[str, list[Row]] = {}
        # A cell is in both places if a run ended between writing the one and removing the other.
        for rows in (store.read_results(self.results, identity), store.read_journal(self.journal, identity)):
            new: dict[str, list[Row]] = {}
            for row in rows:
                new.setdefault(self.experiment.key(row), []).append(row)
            cells |= new
        return cells

    def work(self, workers: int | None = None) -> Iterator[int]:
        """Compute the missing cells; yields how many cells are done at each step, first those that were found."""
        finished, identity = self.found(), self.identity()
        points = self.experiment.points(quick=self.quick)
        missing = [point for point in points if self.experiment.key(point) not in finished]
        yield len(points) - len(missing)
        self.folder.mkdir(parents=True, exist_ok=True)
        for rows in self._computed(missing, thread_count(workers)):
            store.append_journal(self.journal, identity, rows)
            yield 1

    def _computed(self, missing: list[Point], workers: int) -> Iterator[list[Row]]:
        start = time.monotonic()
        while missing and (workers == 1 or len(missing) == 1 or time.monotonic() - start < PATIENCE):
            yield compute(self.experiment, missing.pop(0), self.runs, self.seed)
        if missing:
            yield from self._shared(missing, min(workers, len(missing)))
        for point in missing:  # where processes cannot be started, as in a program that is read from a pipe
            yield compute(self.experiment, point, self.runs, self.seed)

    def _shared(self, missing: list[Point], workers: int) -> Iterator[list[Row]]:
        """Cells computed by other processes; each is taken off the list when it is done."""
        with one_thread_each():
            pool = fresh_processes(workers)
            try:
                sent = portable(self.experiment)
                waiting = {pool.submit(compute, sent, p, self.runs, self.seed): p for p in missing}
                for done in as_completed(waiting):
                    rows = done.result()
                    missing.remove(waiting[done])
                    yield rows
            except BrokenProcessPool:
                return
            finally:
                pool.shutdown(cancel_futures=True)

    def finish(self) -> list[Row]:
        """Write the rows in the order of the grid, and forget the journal."""
        cells = self.found()
        keys = [self.experiment.key(point) for point in self.experiment.points(quick=self.quick)]
        rows = [row for key in keys for row in cells[key]]
        store.write_results(self.results, self.identity(), rows)
        self.journal.unlink(missing_ok=True)
        return rows

    def draw(self, rows: list[Row], path: Path | None = None) -> str | None:
        """Write the picture; returns a sentence if that is impossible."""
        if self.experiment.figure is None:
            return "This experiment has no picture."
        try:
            draw, save = load("draw:picture"), load("draw:save")
        except MissingExtraError as problem:
            return f"No picture. {problem}"
        save(draw(self.experiment, self.experiment.shown(rows)), path or self.picture, png=path is None)
        return None


def portable(experiment: Experiment) -> Experiment:
    """What other processes compute cells with: the words of a page stay here, since not every function can be sent."""
    return replace(experiment, section=None, claims=())


def compute(experiment: Experiment, point: Point, runs: int, seed: int) -> list[Row]:
    """The rows of one cell, with the axes and the seed."""
    rows = experiment.cell(point, runs, experiment.cell_seed(point, seed))
    return [{**point, **row, "seed": seed} for row in rows]


def data_file(name: str) -> Path:
    """A file of the folder of shared data, which is not part of the package."""
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder or "") / name
    if not folder or not path.is_file():
        raise ParameterError(
            f"This experiment needs the file {name} in the folder that {DATA_VARIABLE} names: {SOURCES[name]}; the page"
            " docs/results/index.md says how."
        )
    return path
