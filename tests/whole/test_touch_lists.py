"""The touch lists of CONTRIBUTING: everything is found by its list or its name, and nothing lies beside them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sottovoce.core.channel import NODES
from sottovoce.core.channel.base import Channel
from sottovoce.core.late import load
from sottovoce.core.question import QUESTIONS, Question, question_class
from sottovoce.core.registry import BUILDERS
from sottovoce.core.statistic import STATISTICS, Statistic
from sottovoce.estimate import decoder as decoders
from sottovoce.study.planners.base import Planner
from sottovoce.study.questions import file_kinds
from tests.each import for_each

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sottovoce"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def modules(folder: str) -> Iterator[ModuleType]:
    for path in sorted((SOURCE / folder).rglob("*.py")):
        if path.stem != "__init__":
            yield load(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def own_classes(folder: str, base: type) -> dict[str, type]:
    """The classes below a base that the modules of a folder define and that can be built, by their home."""
    return {
        f"{kind.__module__.removeprefix('sottovoce.')}:{kind.__name__}": kind
        for module in modules(folder)
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and issubclass(kind, base)
        if not inspect.isabstract(kind)
    }


# --- lists -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("folder", "base", "listed"),
    [("core/channel", Channel, NODES), ("core/statistic", Statistic, STATISTICS)],
    ids=["nodes", "statistics"],
)
def test_a_list_has_each_class_once(folder: str, base: type, listed: dict[str, str]) -> None:
    found = own_classes(folder, base)
    assert sorted(found) == sorted(listed.values())
    assert {kind: load(home) for kind, home in listed.items()} == {one.kind: one for one in found.values()}  # type: ignore[attr-defined]


def test_the_builder_of_a_mechanism_lies_where_its_line_says() -> None:
    files = {path.relative_to(SOURCE).as_posix() for path in (SOURCE / "mechanisms").rglob("*.py")}
    named = {home.partition(":")[0].replace(".", "/") + ".py" for home in BUILDERS.values()}
    helpers = {file for file in files if re.search(r"(__init__|common)\.py$", file)}
    # Gaussian noise is not registered, since its guarantee is not pure; plans within groups ask for keyed responses.
    others = {"mechanisms/distribution/gaussian.py", "mechanisms/mean/gaussian.py", "mechanisms/group/cells.py"}
    assert files - named - helpers == others


@for_each("kind", STATISTICS)
def test_a_statistic_has_a_module_of_its_kind_and_a_kernel(kind: str) -> None:
    home, statistic = STATISTICS[kind], load(STATISTICS[kind])
    assert home.startswith(f"core.statistic.{kind}:")
    assert callable(load(statistic.kernel)) and statistic.kernel.startswith("fast.counting:")


def test_every_statistic_is_read_by_a_room() -> None:
    rooms = {question_class(kind).room for kind in QUESTIONS}
    read = {one for room in rooms for one in load(f"estimate.{room}.evidence:READS")}
    assert {load(home) for home in STATISTICS.values()} == read


# --- names -----------------------------------------------------------------------------------------------------------
def test_a_decoder_is_found_by_its_file() -> None:
    found = own_classes("estimate/decoders", decoders.Decoder)
    assert {type(decoders.decoder(name)) for name in decoders.names()} == set(found.values())


def test_each_question_is_in_the_list() -> None:
    beside = {"Several", "UnknownQuestion"}  # which a protocol asks, and no mechanism; which a device answers
    homes = own_classes("core", Question)
    assert {question.__name__ for home, question in homes.items() if home not in QUESTIONS.values()} == beside
    for kind, home in QUESTIONS.items():
        words = kind.split("-")
        assert home == f"core.question.{'_'.join(words)}:{''.join(map(str.title, words))}"
        assert question_class(kind).kind == kind


@for_each("kind", QUESTIONS)
def test_a_question_has_its_rooms(kind: str) -> None:
    room = question_class(kind).room
    evidence, checks = load(f"estimate.{room}.evidence"), load(f"testing.{room}")
    assert all(callable(getattr(evidence, name)) for name in ("evidence", "answer"))
    assert evidence.READS and all(issubclass(one, Statistic) for one in evidence.READS)
    assert all(callable(getattr(checks, name)) for name in ("instance", "check_small", "check_drawn"))
    planner = load(f"study.planners.{room}:planner")
    made = inspect.get_annotations(planner, eval_str=True)["return"]
    assert issubclass(made, Planner)


def test_each_planner_is_that_of_a_question() -> None:
    files = {path.stem for path in (SOURCE / "study" / "planners").glob("*.py")} - {"__init__", "base"}
    assert files == {question_class(kind).room for kind in QUESTIONS}


def test_each_module_of_questions_in_studies_is_that_of_a_kind() -> None:
    shared = {"__init__", "attribute_tables", "base", "interval_shares", "items", "pairs", "records", "result_lines"}
    files = {path.stem for path in (SOURCE / "study" / "questions").glob("*.py")} - shared
    assert files == {kind.replace("-", "_") for kind in file_kinds()}


# --- the page --------------------------------------------------------------------------------------------------------
def test_the_page_names_files_that_exist() -> None:
    (table,) = re.findall(r"## What to touch\n(.*?)\n## ", PAGE, re.DOTALL)
    named = re.findall(r"`((?:core|fast|testing|sottovoce)/[\w/]+\.py)`", table)
    assert len(named) >= 6
    for name in named:
        assert (SOURCE / name.removeprefix("sottovoce/")).is_file(), name
    for what in ("mechanism", "statistic", "decoder", "question", "node"):
        assert f"| a {what} |" in table and re.search(rf"^## Add a {what}\b", PAGE, re.MULTILINE)
