"""What `import sottovoce as sv` offers: every name loads, is documented, and does what the design shows."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

import sottovoce as sv
from tests.each import for_each

MOST_NAMES = 75


@for_each("name", sv.__all__)
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    found = getattr(sv, name)
    assert found is getattr(sv, name)
    assert getattr(found, "__name__", name).rpartition(".")[2] == name  # a constant has none
    assert found.__doc__ and found.__doc__.partition("\n")[0].endswith("."), f"{name} says nothing"
    # A dataclass without a docstring gets its signature for one.
    assert not found.__doc__.startswith(f"{name}("), f"{name} says nothing"


@for_each("name", [name for name in sv.__all__ if inspect.isclass(getattr(sv, name))])
def test_every_public_method_is_documented(name: str) -> None:
    for attribute, value in vars(getattr(sv, name)).items():
        if attribute.startswith("_") or not inspect.isfunction(getattr(value, "__func__", value)):
            continue
        assert inspect.getdoc(getattr(getattr(sv, name), attribute)), f"{name}.{attribute} says nothing"


def test_the_face_stays_small() -> None:
    """What a user writes in the first weeks; the rest is imported from its module."""
    assert len(sv.__all__) <= MOST_NAMES


def test_the_module_lists_its_names() -> None:
    assert sv.__all__ == sorted(set(sv.__all__))
    assert set(sv.__all__) <= set(dir(sv))
    assert "__version__" in dir(sv)
    assert dir(sv) == sorted(dir(sv))


def test_everything_can_be_imported_at_once() -> None:
    space: dict[str, object] = {}
    exec("from sottovoce import *", space)
    assert set(sv.__all__) <= set(space)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sottovoce' has no attribute 'nope'"):
        _ = sv.nope
    assert not hasattr(sv, "nope")
    with pytest.raises(ImportError):
        exec("from sottovoce import nope")


def test_importing_the_package_loads_no_third_party() -> None:
    code = (
        "import sys; before = set(sys.modules); import sottovoce as sv; sv.Categories, sv.mechanism, sv.Client;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sottovoce"]


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert sv.__version__ == version("sottovoce")


# --- the example of the design ----------------------------------------------------------------------
def test_the_example_of_the_design_runs(seed: int) -> None:
    values = np.repeat(["lark", "owl", "neither"], [2000, 5000, 3000])
    m = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0)
    reports = m.privatize(values)
    est = m.estimate(m.tally(reports))
    assert isinstance(reports, sv.Reports) and isinstance(est, sv.Estimate)
    assert len(reports) == 10_000
    assert est.values.sum() == pytest.approx(1)
    # Eight standard errors: a right estimate fails with probability 1e-15.
    assert (np.abs(est.values - [0.2, 0.5, 0.3]) < 8 * est.std_errors).all()
    low, high = est.ci(0.95)
    assert (low < est.values).all() and (est.values < high).all()
    certificate = sv.audit(m)
    assert isinstance(certificate, sv.Certificate)
    assert certificate.ok and certificate.exact
    assert 1 - 1e-6 <= certificate.epsilon <= 1
    again = [m.privatize(values, seed=seed) for _ in range(2)]
    assert np.array_equal(again[0].payload, again[1].payload)
    assert not np.array_equal(m.privatize(values).payload, m.privatize(values).payload)


def test_an_estimate_shows_itself() -> None:
    m = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0)
    est = m.estimate(m.tally(m.privatize(["owl"] * 700 + ["lark"] * 300, seed=1)))
    frame = est.to_frame()
    assert frame["value"].tolist() == ["lark", "owl", "neither"]
    assert (frame["low"] <= frame["estimate"]).all() and (frame["estimate"] <= frame["high"]).all()
    assert "1000 participants" in est.explain() and "'owl'" in est.explain()
    projected = est.project("simplex")
    assert projected.values.sum() == pytest.approx(1) and (projected.values >= 0).all()
    assert est.decoder.name == "linear", "a projection is a new object"


# --- reports of another mechanism -------------------------------------------------------------------
GRR = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0)


@pytest.mark.parametrize(
    ("other", "texts"),
    [
        (sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=2.0), ["epsilon: '1' against '2'"]),
        (sv.mechanism("grr", sv.Categories(["lark", "owl", "other"]), epsilon=1.0), ["'neither'", "'other'"]),
        (sv.mechanism("oue", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0), ["name: 'grr' against 'oue'"]),
    ],
    ids=["epsilon", "domain", "name"],
)
def test_reports_of_another_mechanism_are_refused_and_both_sides_are_shown(
    other: sv.Mechanism, texts: list[str]
) -> None:
    reports = other.privatize([other.domain.values[0]] * 10, seed=0)
    with pytest.raises(sv.MismatchError) as caught:
        GRR.tally(reports)
    said = str(caught.value)
    for text in [*texts, GRR.fingerprint[:12], other.fingerprint[:12]]:
        assert text in said, said
    with pytest.raises(sv.MismatchError) as caught:
        GRR.estimate(other.tally(reports))
    assert other.fingerprint[:12] in str(caught.value)


def test_an_equal_mechanism_is_the_same_mechanism() -> None:
    """Built again, or read from its specification: what counts is what it does."""
    twin = sv.mechanism("k-rr", sv.Categories(["lark", "owl", "neither"]), epsilon="1.00")
    read = sv.Mechanism.from_spec(GRR.spec())
    reports = twin.privatize(["owl"] * 10, seed=0)
    assert GRR.tally(reports) == read.tally(reports) == twin.tally(reports)
    assert GRR.estimate(read.tally(reports)).n == 10
