"""`python -m scripts.mutants`: change the source in small wrong ways and see whether the tests notice.

A seeded sample of mutants; each runs in a copy of the repository, against the quick tests that run the changed line,
and against the slow ones where it survives them. Survivors are justified in `survivors.toml`. The command fails where
fewer than 95 % of the mutants that are not equivalent are killed, or a survivor in a critical file is not justified.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from scripts.mutants.cover import Cover, read_cover
from scripts.mutants.graph import Graph, read_graph
from scripts.mutants.operators import Mutant
from scripts.mutants.report import (
    NO_TEST,
    QUICK,
    SLOW,
    SURVIVED,
    Result,
    Verdict,
    change,
    read_justifications,
    read_results,
    summary,
)
from scripts.mutants.sample import candidates, sample
from scripts.mutants.trees import Tree, copy_tree

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
JUSTIFIED = Path(__file__).with_name("survivors.toml")
SEED, COUNT, WORKERS = 20_250_117, 200, 2
QUICK_SECONDS, SLOW_SECONDS = 300.0, 420.0  # for one mutant; one that is still alive then counts as a survivor


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the quick or the slow tests of a mutant."""

    graph: Graph
    cover: Cover
    state: str  # of a mutant that these tests kill
    limit: float  # seconds
    trees: Queue[Tree]

    def run(self, before: Result) -> Result:
        """What becomes of a mutant that other tests left alive, or that none has met."""
        tree = self.trees.get()
        try:
            return self._result(before, tree, time.monotonic())
        finally:
            self.trees.put(tree)

    def _result(self, before: Result, tree: Tree, began: float) -> Result:
        mutant, left, note = before.mutant, before.state, before.note
        around = self.graph.around(mutant.file, mutant.lines[0])
        stale = self.graph.stale(around) if around is not None else set()
        for batch in self.cover.batches(self.cover.selected(mutant, self.graph)):
            left = SURVIVED
            usual = {name: self.cover.tests[name].seconds for name in batch}
            seconds = max(1.0, began + self.limit - time.monotonic())
            outcome = tree.run(mutant, batch, usual, stale=stale, seconds=seconds)
            if outcome.killer:
                took = before.seconds + time.monotonic() - began
                return Result(mutant, self.state, outcome.killer, outcome.why, took)
            if not outcome.finished:
                note = ", ".join(filter(None, (note, f"{self.state.split()[-1]} tests {outcome.why}")))
        return Result(mutant, left, "", "", before.seconds + time.monotonic() - began, note)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=COUNT, help=f"mutants in the sample (default {COUNT})")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--only", default="", metavar="PATH", help="only files whose path contains this")
    parser.add_argument("--function", default="", help="only functions whose name contains this; all their mutants")
    parser.add_argument("--quick", action="store_true", help="leave the slow tests out")
    parser.add_argument("--resume", action="store_true", help="keep what earlier runs killed, and run the others")
    parser.add_argument("--survivors", action="store_true", help="run only what they left alive without justification")
    parser.add_argument("--list", action="store_true", help="list the mutants and end")
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"processes at a time (default {WORKERS})")
    options = parser.parse_args(arguments)
    if options.function:
        chosen = [m for m in candidates(ROOT, options.only) if options.function in m.function]
    else:
        chosen = sample(ROOT, count=options.count, seed=options.seed, only=options.only)
    if options.list:
        print("\n\n".join(change(mutant, ROOT) for mutant in chosen))
        return 0
    justified = read_justifications(JUSTIFIED)
    known = {result.mutant.name: result for result in read_results(BUILD / "results.jsonl")}
    kept: set[str] = set()
    if options.resume:
        kept = {name for name, result in known.items() if not result.alive}
    if options.survivors:
        kept = known.keys() - {result.mutant.name for result in Verdict(tuple(known.values()), justified).unjustified}
        chosen = [mutant for mutant in chosen if mutant.name in known]
    left = [mutant for mutant in chosen if mutant.name not in kept]
    for result in run_all(left, known, workers=options.workers, with_slow=not options.quick):
        known[result.mutant.name] = result
    results = [known[mutant.name] for mutant in chosen]
    verdict = Verdict(tuple(results), justified)
    text = summary(verdict, ROOT)
    (BUILD / "summary.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0 if verdict.ok else 1


def run_all(left: list[Mutant], known: dict[str, Result], *, workers: int, with_slow: bool) -> Iterator[Result]:
    """Run the quick tests of every mutant, then the slow ones of those that are alive; results are written one by one.

    Tests are traced where their part of the map is missing or out of date, slow ones only if a mutant is left for them.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    trees = [copy_tree(ROOT, BUILD / f"tree-{number}") for number in range(workers)]
    free: Queue[Tree] = Queue()
    for tree in trees:
        free.put(tree)
    graph, again = read_graph(ROOT), {mutant.name for mutant in left}
    waiting = [Result(mutant, NO_TEST, "", "", 0.0) for mutant in left]
    with (BUILD / "results.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(result)) + "\n" for name, result in known.items() if name not in again)
        for slow in (False, True) if with_slow else (False,):
            if not waiting:
                return
            cover = read_cover(ROOT, BUILD, trees, slow=slow)
            runner = Runner(graph, cover, *((SLOW, SLOW_SECONDS) if slow else (QUICK, QUICK_SECONDS)), free)
            alive: list[Result] = []
            for number, result in enumerate(_each(runner, waiting, workers), 1):
                m = result.mutant
                place = f"{m.file}:{m.lines[0]} {m.operator}"
                print(f"{number}/{len(waiting)} {result.state}, {result.seconds:.0f} s: {place}", flush=True)
                if result.alive and with_slow and not slow:
                    alive.append(result)
                    continue
                file.write(json.dumps(asdict(result)) + "\n")
                file.flush()
                yield result
            waiting = alive


def _each(runner: Runner, waiting: list[Result], workers: int) -> Iterator[Result]:
    with ThreadPoolExecutor(workers) as pool:
        yield from (done.result() for done in as_completed([pool.submit(runner.run, one) for one in waiting]))


if __name__ == "__main__":
    sys.exit(main())
