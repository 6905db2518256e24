"""What pytest does inside a copy of the repository: trace which test runs which line, or run a chosen list of tests.

Loaded with `-p scripts.mutants.plugin`. TRACE names the file for the traced lines; CHOSEN names the file with the list
of tests, NOTES the file in which each test that begins and each failure is written down, one JSON object a line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

TRACE, CHOSEN, NOTES = "SOTTOVOCE_MUTANTS_TRACE", "SOTTOVOCE_MUTANTS_CHOSEN", "SOTTOVOCE_MUTANTS_NOTES"


def pytest_configure(config: pytest.Config) -> None:
    if TRACE in os.environ:
        config.pluginmanager.register(Tracer(Path(os.environ[TRACE])))
    if CHOSEN in os.environ:
        config.pluginmanager.register(Chooser(Path(os.environ[CHOSEN]), Path(os.environ[NOTES])))


class Tracer:
    """Runs coverage.py with one context for each test; what runs during collection has the empty context."""

    def __init__(self, target: Path) -> None:
        import coverage

        self.target, self.tests, self.began = target, {}, time.perf_counter()
        self.collected = 0.0
        source = str(Path.cwd() / "src" / "sottovoce")
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=[f"{source}/*"])
        self.coverage.start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = time.perf_counter() - self.began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.coverage.switch_context(item.nodeid)
        self.tests[item.nodeid] = {"seconds": 0.0, "passed": False}
        began = time.perf_counter()
        result = yield
        self.tests[item.nodeid]["seconds"] = time.perf_counter() - began
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.tests[report.nodeid]["passed"] = report.passed
        elif report.failed:
            self.tests[report.nodeid]["passed"] = False

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        names = ["", *self.tests]
        place = {name: number for number, name in enumerate(names)}
        lines = {}
        for file in sorted(data.measured_files()):
            found = {line: [place[c] for c in contexts] for line, contexts in data.contexts_by_lineno(file).items()}
            lines[Path(file).relative_to(Path.cwd()).as_posix()] = found
        written = {"collected": self.collected, "names": names, "tests": self.tests, "lines": lines}
        self.target.write_text(json.dumps(written), encoding="utf-8")


class Chooser:
    """Keeps the listed tests, in the order of the list, and writes down how far they get."""

    def __init__(self, chosen: Path, notes: Path) -> None:
        self.order = {name: place for place, name in enumerate(json.loads(chosen.read_text(encoding="utf-8")))}
        self.notes = notes

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self.order])
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note({"began": nodeid})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note({"failed": report.nodeid, "why": _last_line(report.longreprtext)})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note({"failed": report.nodeid, "why": _last_line(report.longreprtext)})

    def _note(self, note: dict[str, str]) -> None:
        with self.notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("E ")] or text.splitlines()[-1:]
    return lines[0].removeprefix("E").strip()[:200] if lines else ""
