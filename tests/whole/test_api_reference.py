"""Every public name has a docstring that can be read alone: condition, parameters, and an example that runs."""

from __future__ import annotations

import doctest
import functools
import inspect
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import griffe
import pytest

import sottovoce as sv
from scripts.docs import api
from sottovoce.estimate.distribution.base import DistributionEstimate
from sottovoce.estimate.group_mean.views import GroupEstimate

ROOT = Path(__file__).resolve().parents[2]
LONGEST_EXAMPLE = 8  # lines of code
# An opening that needs the heading above it, or another docstring, to be understood.
UNREADABLE_ALONE = re.compile(r"(The same|That of|Those of|Of what|Checked|In words|It|Its|They|This|These|Such)\b")
SUBJECTS = [name for name in api.names() if name != "metrics"]
METRICS = [f"metrics.{member}" for member in api.MEMBERS["metrics"].split()]
MEMBERS = [f"{name}.{member}" for name, text in api.MEMBERS.items() if name != "metrics" for member in text.split()]


def public_object(dotted: str) -> object:
    """A public name, or a member of one as its class holds it."""
    name, _, member = dotted.partition(".")
    owner = getattr(sv, name)
    if not member or not inspect.isclass(owner):
        return getattr(owner, member) if member else owner
    # Some members exist for estimates of distributions or of groups only.
    classes = (owner, DistributionEstimate, GroupEstimate) if owner is sv.Estimate else (owner,)
    return next(inspect.getattr_static(one, member) for one in classes if hasattr(one, member))


def function_of(thing: object) -> object:
    """The function behind a property or a class method; everything else as it is."""
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, functools.cached_property):
        return thing.func
    return thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing


def parameters(dotted: str) -> set[str]:
    """The names of the parameters that a caller gives."""
    thing = public_object(dotted)
    if isinstance(thing, (property, functools.cached_property)) or thing is sv.Estimate:
        return set()
    if inspect.isclass(thing) and issubclass(thing, BaseException) and "__init__" not in vars(thing):
        return set()
    names = set(inspect.signature(function_of(thing)).parameters)  # type: ignore[arg-type]
    return names - {"self", "cls", "args", "kwargs"}


@functools.cache
def sections(dotted: str) -> tuple[griffe.DocstringSection, ...]:
    """The docstring in the sections that the reference shows."""
    text = inspect.getdoc(function_of(public_object(dotted)))
    if not text:
        return ()
    logging.getLogger("griffe").setLevel(logging.ERROR)  # types are read from signatures, which it does not see here
    return tuple(griffe.Docstring(text, parser="google").parse())


def described(dotted: str) -> set[str]:
    """The names that the sections of parameters and attributes describe."""
    kinds = (griffe.DocstringSectionParameters, griffe.DocstringSectionAttributes)
    return {item.name.lstrip("*") for part in sections(dotted) if isinstance(part, kinds) for item in part.value}


def examples(dotted: str) -> list[doctest.Example]:
    """The examples of a docstring."""
    text = inspect.getdoc(function_of(public_object(dotted))) or ""
    return doctest.DocTestParser().get_examples(text)


def first_line(dotted: str) -> str:
    return (inspect.getdoc(function_of(public_object(dotted))) or "").partition("\n")[0]


def test_every_public_name_is_on_one_page() -> None:
    assert sorted(api.names()) == sv.__all__


def test_listed_members_exist_and_are_described() -> None:
    assert [dotted for dotted in (*MEMBERS, *METRICS) if not first_line(dotted)] == []


def test_every_parameter_is_described() -> None:
    undescribed = {
        dotted: sorted(missing)
        for dotted in (*SUBJECTS, *METRICS, *MEMBERS)
        if (missing := parameters(dotted) - described(dotted))
    }
    unknown = {
        dotted: sorted(extra)
        for dotted in (*METRICS, *MEMBERS, *(name for name in SUBJECTS if inspect.isfunction(getattr(sv, name))))
        if (extra := described(dotted) - parameters(dotted))
    }
    assert (undescribed, unknown) == ({}, {})


def test_every_public_name_has_a_short_example() -> None:
    lengths = {
        name: sum(len(example.source.splitlines()) for example in examples(name)) for name in (*SUBJECTS, *METRICS)
    }
    assert {name: length for name, length in lengths.items() if not 0 < length <= LONGEST_EXAMPLE} == {}


def test_first_lines_can_be_read_alone() -> None:
    def wrong(line: str) -> bool:
        return not line.endswith(".") or bool(UNREADABLE_ALONE.match(line)) or len(line.split()) > 25

    assert {dotted: line for dotted in (*SUBJECTS, *METRICS, *MEMBERS) if wrong(line := first_line(dotted))} == {}


def executed() -> Iterator[str]:
    return (dotted for dotted in (*SUBJECTS, *METRICS, *MEMBERS) if examples(dotted))


@pytest.mark.slow
def test_examples_of_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # one reads a study of the folder examples
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failures = []
    for dotted in executed():
        case = doctest.DocTest(examples(dotted), {"sv": sv}, dotted, None, None, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            doctest.DocTestRunner(verbose=False, optionflags=options).run(case, out=failures.append)
    assert not failures, "".join(failures)
