"""Work on several processes: the results of one, in the same order, and an end that leaves nothing behind."""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from sottovoce.cli import grid
from sottovoce.core.errors import ParameterError
from sottovoce.fast import processes
from sottovoce.fast.processes import one_thread_each, ordered


def where(number: int) -> tuple[int, int, str | None]:
    if number < 0:
        raise ParameterError("Negative.")
    return number, os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_results_come_in_order_from_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    found = list(ordered(where, [(number,) for number in range(40)], 2))
    assert [number for number, _, _ in found] == list(range(40))
    assert os.getpid() not in {process for _, process, _ in found} and {threads for _, _, threads in found} == {"1"}
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_an_error_of_another_process_is_raised_here() -> None:
    with pytest.raises(ParameterError, match="Negative"):
        list(ordered(where, [(1,), (-1,), (2,)], 2))


def test_short_work_single_tasks_and_single_cores_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    assert {process for _, process, _ in ordered(where, [(number,) for number in range(9)], 2)} == {here}
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    assert {process for _, process, _ in ordered(where, [(1,)], 2)} == {here}
    assert {process for _, process, _ in ordered(where, [(1,), (2,), (3,)], 1)} == {here}
    assert list(ordered(where, [], 2)) == []


class Broken:
    """Stands for a pool whose processes do not come up."""

    def __init__(self, *_: Any) -> None:
        pass

    def submit(self, *_: Any) -> None:
        raise BrokenProcessPool("no processes")

    def shutdown(self, **_: Any) -> None:
        pass


@pytest.mark.usefixtures("impatient")
def test_where_processes_cannot_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "fresh_processes", Broken)
    found = list(ordered(where, [(number,) for number in range(5)], 2))
    assert [number for number, _, _ in found] == list(range(5)) and {process for _, process, _ in found} == {
        os.getpid()
    }


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_an_audit_on_two_processes_is_that_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "SIZES", (2, 3))
    shared = list(grid.audit_grid(["grr", "hrr"]))
    monkeypatch.setattr("sottovoce.fast.processes.thread_count", lambda workers: 1)
    assert list(grid.audit_grid(["grr", "hrr"])) == shared


def test_the_number_of_threads_is_that_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for before, inside in ((None, "1"), ("4", "4")):
        monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        if before is not None:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", before)
        with one_thread_each():
            assert os.environ["OPENBLAS_NUM_THREADS"] == inside
        assert os.environ.get("OPENBLAS_NUM_THREADS") == before
