"""`sottovoce study`, `plan` of a study file, and `simulate`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sottovoce.cli.show import note, printable, steps, table
from sottovoce.cli.studies.plan import PICTURE, picture_form
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.late import load
from sottovoce.core.params import decimal_text
from sottovoce.files.opening import FileProblem, check_free, writing
from sottovoce.files.places import reading
from sottovoce.study.effects import effect_texts
from sottovoce.study.experiments.planned import people_in_arms
from sottovoce.study.reading import Mistake, parse_study
from sottovoce.study.study import Study
from sottovoce.study.study_plan import StudyPlan, plan_study
from sottovoce.study.template import TEMPLATE, filled

NAME = "The study file"


def opened(path: str) -> tuple[Study | None, list[Mistake]]:
    """The study of a file, or its mistakes."""
    with reading(path, NAME) as file:
        return parse_study(file.read())


def check(path: str, *, as_json: bool) -> bool:
    """Print what is wrong, or that nothing is; whether nothing is."""
    study, mistakes = opened(path)
    if as_json:
        rows = [{"line": one.line, "what": one.what, "remedy": one.remedy} for one in mistakes]
        print(json.dumps({"ok": study is not None, "mistakes": rows}))
    elif study is None:
        for one in mistakes:
            print(one)
        print(f"{plural(len(mistakes), 'mistake')}.")
    else:
        print(f"{study}. No mistakes.")
    return study is not None


def new(path: str, answers: dict[str, str], *, force: bool) -> None:
    """Write a study file with comments, to be completed."""
    check_free(path, force, name=NAME)
    text = filled(TEMPLATE, answers)
    study, mistakes = parse_study(text.encode())
    if study is None:
        raise ParameterError(f"These answers make no study: {mistakes[0].what} {mistakes[0].remedy}")
    with writing(path, force=force, name=NAME) as file:
        file.write(text.encode())
    print("Written. Complete the questions, then check the file: sottovoce study check FILE")


def load_study(path: str) -> Study:
    """The study, or an error that tells the first mistake and how many there are."""
    study, mistakes = opened(path)
    if study is None:
        more = f" ({len(mistakes)} mistakes: see sottovoce study check)" if len(mistakes) > 1 else ""
        raise FileProblem(f"{NAME} has a mistake, {mistakes[0]}{more}")
    return study


def planned(study: Study, participants: int | None, *, shown: bool = True, **wanted: Any) -> StudyPlan:
    """The plan of a study; a terminal sees each step, unless `shown` is false."""
    with steps(shown=shown) as tell:
        return plan_study(study, participants, tell=tell, **wanted)


def plan(
    path: str,
    participants: int | None,
    goals: Sequence[str],
    level: float,
    *,
    picture: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print the plan of a study, and draw it if asked to."""
    form = None if picture is None else picture_form(picture, force)
    study_plan = planned(load_study(path), participants, shown=not as_json, goals=goals, level=level)
    if picture is not None:
        draw = load("study.picture:draw")  # which needs the extra of plots
        with writing(picture, force=force, name=PICTURE) as file:
            draw(study_plan, file, form)
    if as_json:
        print(json.dumps(_plain(study_plan)))
        return
    rows = [
        (
            one.asked.name,
            one.plan.best.method,
            f"{one.participants:,}",
            str(one.plan.best.bytes_per_report),
            one.asked.margin(one.half_width),
            "" if one.goal is None else one.asked.margin(float(one.goal)),
        )
        for one in study_plan.questions
    ]
    table(("question", "method", "participants", "bytes", f"+- at {100 * level:g} %", "goal"), rows, numbers=4)
    print(study_plan.text().splitlines()[0])
    for text in (*(one.text() for one in study_plan.sharing), *effect_texts(study_plan)):
        print(text)
    print(study_plan.advice)


def _plain(study_plan: StudyPlan) -> dict[str, Any]:
    experiment = study_plan.study.experiment
    return {
        "study": study_plan.study.name,
        "solved_for": study_plan.solved_for,
        "epsilon": decimal_text(study_plan.epsilon),
        "participants": study_plan.participants,
        "level": study_plan.level,
        "advice": study_plan.advice,
        "sharing": [one.text() for one in study_plan.sharing],
        "questions": [
            {
                "name": one.asked.name,
                "method": one.plan.best.method,
                "report": one.report,
                "participants": one.participants,
                "half_width": one.half_width,
                "without_reasons": one.without_reasons,
                "goal": None if one.goal is None else float(one.goal),
                "bytes": one.plan.best.bytes_per_report,
                **({} if experiment is None else {"smallest_difference": one.smallest_difference}),
            }
            for one in study_plan.questions
        ],
        **({} if experiment is None else {"experiment": people_in_arms(study_plan)}),
    }


def dossier(path: str, participants: int | None, output: str) -> None:
    """Write the dossier of a study."""
    from sottovoce.study.dossier.write import write_dossier

    study_plan = planned(load_study(path), participants)
    with steps() as tell:
        tell("drawing the plan and auditing the channels")
        written = write_dossier(study_plan, Path(output))
    print(f"{len(written)} files are written; begin with index.html.")


def answers_of(study: Study, data: str | None, participants: int | None, seed: int | None) -> tuple[Any, int]:
    """Answers from a file, or of a described population, and how many there are."""
    from sottovoce.study.population_tables import read_population
    from sottovoce.study.simulating import drawn_answers, drawn_in_arms, read_answers

    if data is not None and not data.lower().endswith(".toml"):
        if participants is not None:
            raise ParameterError("A file of answers has its own number of participants: leave --participants out.")
        answers = read_answers(study, data)
        return answers, len(answers)
    population = dict(study.population)
    if data is not None:
        with reading(data, "The population file") as file:
            population = read_population(file.read(), study.questions)
    if not population:
        raise ParameterError("A simulation needs a file of answers, or a population in the study file.")
    count = participants or study.participants
    if count is None:
        raise ParameterError("A described population needs --participants, or participants = ... under [study].")
    if study.experiment is not None:
        return drawn_in_arms(study, population, count, seed), count
    return drawn_answers(study.questions, population, count, seed), count


def simulate(
    path: str,
    data: str | None,
    *,
    participants: int | None,
    runs: int,
    seed: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Print estimates beside the truth, and write the export of the first run if asked to."""
    from sottovoce.study.display.experiment import comparison_sentence
    from sottovoce.study.export import write_export
    from sottovoce.study.simulating import simulate_study

    study = load_study(path)
    answers, count = answers_of(study, data, participants, seed)
    study_plan = planned(study, count, shown=not as_json)
    if output is not None and Path(output).exists():
        raise FileProblem("The folder of the export exists already: name a new one.")
    frames = [simulate_study(study_plan, answers, seed=None if seed is None else seed + run) for run in range(runs)]
    if output is not None:
        write_export(frames[0].results, Path(output))
        note("the export of the first run is written.")
    for doubt in frames[0].results.doubts:
        note(doubt)
    tables = [frame.to_frame() for frame in frames]
    first = tables[0]
    if as_json:
        print(json.dumps([json.loads(one.to_json(orient="records")) for one in tables]))
        return
    rows, arms = [], study.experiment is not None
    for place, row in enumerate(first.to_dict("records")):
        covered = sum(bool(one["covered"].iloc[place]) for one in tables)
        known = not math.isnan(row["truth"])
        rows.append(
            (
                *(str(row["question"]), *((str(row["arm"]),) if arms else ())),
                printable(" ".join(filter(None, (row["measure"], row["label"])))),
                *(f"{row['truth']:.4g}" if known else "", f"{row['estimate']:.4g}"),
                *(f"{row['low']:.4g} to {row['high']:.4g}", f"{covered}/{runs}" if known else ""),
            )
        )
    interval = f"{100 * study_plan.level:g} % interval"
    names = ("question", *(("arm",) if arms else ()), "number", "truth", "estimate", interval, "covered")
    table(names, rows, numbers=4)
    print("SIMULATION: the truth is that of all rows; each row sent one report.")
    for comparison in frames[0].results.comparisons:
        print(comparison_sentence(comparison))
