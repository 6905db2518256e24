"""What estimates show of themselves: pictures with numbers, tables for papers, notebooks; with hostile labels too."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Domain
from sottovoce.estimate.group_mean.contrasts import Difference, Pairs
from sottovoce.estimate.show import tables
from sottovoce.estimate.sources import EstimateSource
from sottovoce.privacy.blackbox import BlackBoxCertificate
from tests.protocols.test_checkpoints import EVERY

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b\n| c | d |",
    "$\\frac{1}{",
    "50% of {all} & #1_2 ^~\\",
    "[click](javascript:alert(1)) https://evil.example www.evil.example @user",
    "\x1b[31mred\u202e\x00",
    "]]>&amp;<!--",
    "x" * 300,
)
GROUPS = sv.Pair(sv.Categories(list(HOSTILE[:3])), sv.Interval(0, 10))


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    plt.close("all")


def estimated(name: str, domain: Domain, values: object, epsilon: float = 3.0) -> sv.Estimate:
    m = sv.mechanism(name, domain, epsilon=epsilon)
    found: sv.Estimate = m.estimate(m.tally(m.privatize(values, seed=1)))
    return found


def grouped() -> sv.Estimate:
    rng = np.random.default_rng(1)
    names = rng.choice(HOSTILE[:3], 6000, p=[0.5, 0.49, 0.01])
    means = {HOSTILE[0]: 3.0, HOSTILE[1]: 7.0, HOSTILE[2]: 5.0}
    return estimated("group-nprr", GROUPS, [(name, means[name]) for name in names], 4.0)


def hostile() -> sv.Estimate:
    return estimated("grr", sv.Categories(HOSTILE), list(HOSTILE) * 300)


def each_estimate() -> Iterator[sv.Estimate]:
    """One of each room, with single values, few and many, and one whose values are not all estimable."""
    yield hostile()
    yield hostile().project("simplex")
    yield estimated("nprr", sv.Interval(0, 10), [2.0, 8.0, 5.0] * 500)
    counted = estimated("grr", sv.Integers(0, 60), [1, 2, 3, 50] * 500)
    yield from (counted, counted.answer(sv.Mean(sv.Integers(0, 60))), counted.answer(sv.Variance(sv.Integers(0, 60))))
    yield estimated("duchi-linf", sv.Box(-1, 1, dimensions=3), [[0.5, -0.5, 0.1]] * 2000)
    yield estimated("priv-unit", sv.Ball(1, 3), [[0.5, -0.5, 0.1]] * 2000)
    groups = grouped()
    assert not groups.estimable.all() and groups.estimable.any()
    yield from (groups, groups.sizes, groups.shares, groups.sums, groups.variances)


def each_comparison() -> Iterator[Difference | Pairs]:
    groups = grouped()
    yield groups.difference(HOSTILE[0], HOSTILE[1])
    yield groups.all_pairs()


@pytest.fixture(scope="module")
def everything() -> list[sv.Estimate | Difference | Pairs]:
    return [*each_estimate(), *each_comparison()]


# --- pictures --------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_every_estimate_draws_points_intervals_numbers_and_names_of_axes(
    everything: list[sv.Estimate | Difference | Pairs],
) -> None:
    for found in everything:
        axes = found.plot()
        axes.figure.canvas.draw()  # here mathematics in a label would be parsed
        count = len(np.atleast_1d(found.value if isinstance(found, Difference) else found.values))
        (points,) = axes.lines[-1:]
        assert len(points.get_xdata()) == count
        (bars,) = axes.collections
        assert len(bars.get_segments()) == count
        assert axes.get_xlabel() and axes.get_ylabel() and "simulation of" in axes.get_title()
        assert "interval" in axes.get_title()
        if count <= 40:
            numbers = [text.get_text() for text in axes.texts]
            assert len(numbers) == count and all(re.search(r"\[.+, .+\]", text) for text in numbers)
            assert len(axes.get_yticklabels()) == count


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
@pytest.mark.parametrize("name", ["UVGausstimate", "Variance, split-n", "RangeSearchRounds"])
def test_estimates_of_protocols_show_themselves(name: str) -> None:
    protocol, answers = EVERY[name]
    for found in sv.simulate(protocol, answers, seed=1).values():
        if isinstance(found, sv.Estimate):
            found.plot().figure.canvas.draw()
            assert "simulation" in texts_of(found._repr_html_())
            sources = {source.mechanism.name for source in found.sources}
            assert all(f"{name} (epsilon" in found.methods_sentence() for name in sources)
            assert f"from {found.n:,} reports" in found.to_markdown() and found.to_latex()
            if len(found.values) == 1:
                assert found.plot().get_xlabel().startswith(f"{found.labels[0]}, from ")


def test_a_picture_shows_the_numbers_of_the_table() -> None:
    found = estimated("nprr", sv.Interval(0, 10), [2.0, 8.0, 5.0] * 500)
    for target in ("population", "sample"):
        axes = found.plot(0.9, target=target)
        (low,), (high,) = found.ci(0.9, target=target)
        (text,) = [text.get_text() for text in axes.texts]
        value, bottom, top = map(float, re.findall(r"-?[\d.]+", text))
        np.testing.assert_allclose([value, bottom, top], [found.value, low, high], atol=0.006)
        (segment,) = axes.collections[0].get_segments()
        np.testing.assert_allclose(segment[:, 0], [low, high])
        assert axes.lines[-1].get_xdata()[0] == found.value
        assert "90 % normal intervals" in axes.get_title()
        assert ("for these participants" in axes.get_title()) is (target == "sample")
    assert found.plot(axes=axes) is axes, "axes that are given are used"


def test_what_is_not_estimable_is_said_and_does_not_widen_the_picture() -> None:
    groups = grouped()
    axes = groups.plot()
    texts = [text.get_text() for text in axes.texts]
    assert [text.startswith("not estimable") for text in texts] == [not known for known in groups.estimable]
    low, high = groups.ci()
    shown = groups.estimable
    first, last = axes.get_xlim()
    assert first < low[shown].min() and last > high[shown].max()


def test_differences_are_drawn_beside_the_line_of_none() -> None:
    for found in each_comparison():
        axes = found.plot()
        line = axes.lines[0].get_xdata()
        assert list(line) == [0, 0] and axes.get_xlim()[0] <= 0 <= axes.get_xlim()[1]
        assert " less " in axes.get_yticklabels()[0].get_text()


# --- notebooks -------------------------------------------------------------------------------------------------------
def texts_of(html: str) -> str:
    """The text of well-formed HTML; refuses what is not, and any element beside those of a table."""
    root = ElementTree.fromstring(html)
    assert {element.tag for element in root.iter()} <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert all({*element.attrib} <= {"class", "style", "colspan"} for element in root.iter())
    return " ".join(root.itertext())


@pytest.mark.filterwarnings("error")
def test_every_estimate_is_a_table_in_a_notebook(everything: list[sv.Estimate | Difference | Pairs]) -> None:
    for found in everything:
        text = texts_of(found._repr_html_())
        assert "simulation" in text and "estimate" in text.lower() + "estimate" * isinstance(found, (Difference, Pairs))
        assert len(repr(found)) < 300 and "\x1b" not in repr(found) and "array" not in repr(found)
    equal = grouped().test_equality()
    assert "same mean" in texts_of(equal._repr_html_()) and repr(equal).startswith("Test(chi-square ")


def test_a_long_table_is_cut_in_a_notebook_and_poor_intervals_are_said_to_be() -> None:
    many = estimated("grr", sv.Integers(0, 60), [1, 2, 3, 50] * 50)
    text = texts_of(many._repr_html_())
    assert "and 41 more rows" in text and "exact" in text
    rare = grouped()
    assert "not estimable" in texts_of(rare._repr_html_())


def test_what_runs_on_a_device_or_holds_reports_shows_labels_only() -> None:
    m = sv.mechanism("grr", sv.Categories(HOSTILE), epsilon=1)
    reports = m.privatize([HOSTILE[3]] * 40, seed=1)
    tally = m.tally(reports)
    assert "Categories" in texts_of(m._repr_html_()) and "1 (1 claimed)" in texts_of(m._repr_html_())
    assert re.fullmatch(r"Mechanism\(grr, frequency of Categories\(.*\), epsilon=1, [0-9a-f]{12}\)", repr(m))
    assert repr(reports) == f"Reports(grr {m.fingerprint[:12]}, n=40, simulation)"
    assert "40" in texts_of(reports._repr_html_()) and "40" in texts_of(tally._repr_html_())
    for shown in (repr(reports), reports._repr_html_(), repr(tally), tally._repr_html_()):
        assert "frac" not in shown, "which answers there are is not shown beside reports"
    same = m.tally(m.privatize([HOSTILE[1]] * 40, seed=1))
    assert same._repr_html_() == tally._repr_html_(), "nothing of what was counted is shown"


def test_plans_and_certificates_show_themselves() -> None:
    plan = sv.plan(sv.GroupMean(sv.Categories(HOSTILE), sv.Interval(0, 1)), epsilon=2, participants=10**6)
    text = texts_of(plan._repr_html_())
    assert plan.best.method in text and "Standard errors are those of" in text and plan.advice in text
    assert repr(plan).startswith("Plan(Means of 9 groups, epsilon=2, participants=1000000, ") and len(repr(plan)) < 300
    certificate = sv.audit(plan.best.mechanism)
    assert "holds" in texts_of(certificate._repr_html_()) and repr(certificate).endswith("holds)")
    broken = sv.Certificate("<b>", "f" * 64, certificate.claimed, None, "enumerated", ("It <leaks>.", "Always."))
    assert "It <leaks>." in texts_of(broken._repr_html_()) and repr(broken).endswith("FAILS with 2 problems)")
    seen = BlackBoxCertificate(certificate.claimed, 3.5, 0.99, "byte 1 is <3>", HOSTILE[:2], (90, 2), 100, 400, 3)
    assert "REFUTED" in texts_of(seen._repr_html_()) and "at least 3.5" in texts_of(seen._repr_html_())


def test_a_name_of_a_specification_is_escaped() -> None:
    spec = sv.mechanism("grr", sv.Categories(["a", "b"]), epsilon=1).spec()
    m = sv.Mechanism.from_spec({**spec, "name": "<b>$x|</b>"})
    found = m.estimate(m.tally(m.privatize(["a"] * 300, seed=1)))
    for shown in (m, m.tally([]), found):
        assert "<b>$x|</b>" in texts_of(shown._repr_html_())
    found.plot().figure.canvas.draw()
    assert "\\<b\\>\\$x\\|\\</b\\>" in found.to_markdown() and "Reference" not in found.to_markdown()
    assert r"\textless{}b\textgreater{}\$x\textbar{}" in found.to_latex()


# --- papers ----------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_tables_for_papers_have_one_row_for_each_value(everything: list[sv.Estimate | Difference | Pairs]) -> None:
    for found in everything:
        frame = found.to_frame()
        *rows, empty, sentence = found.to_markdown().split("\n")
        assert empty == "" and len(rows) == len(frame) + 2
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert len(widths) == 1, "no label adds a column"
        assert "simulation" in sentence and "reports under local differential privacy" in sentence
        latex = found.to_latex().split("\n")
        body = latex[latex.index(r"\hline") + 3 : -3]
        assert len(body) == len(frame) and all(row.endswith(r" \\") for row in body)
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in body}) == 1
        for line in latex:
            bare = re.sub(r"\\(text\w+\{\}|begin|end|caption|hline|[\\{}$&#_%`])", "", line)
            assert not re.search(r"[\\#%~^_]", bare), line
            opened = re.sub(r"\\[{}]", "", line)
            assert opened.count("{") == opened.count("}"), line


def test_the_markdown_of_hostile_labels_is_text() -> None:
    text = hostile().to_markdown()
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text
    bare = re.sub(r"\\[^\w\s]", "", text.partition("\n\n")[0])
    assert not re.search(r"[<>\[\]`*$]|://|www\.|@", bare)


@pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
def test_the_methods_sentence_says_how_numbers_were_made() -> None:
    found = hostile()
    said = found.methods_sentence(0.9, method="wilson", simultaneous=True)
    for part in (
        "This is a simulation",
        "The share of each value was estimated from 2,700 reports",
        "randomized by grr (epsilon 3)",
        "Estimates are unbiased.",
        "Intervals are 90 % confidence intervals by the method wilson, which hold all at once (Bonferroni), for the"
        " population that the participants were drawn from.",
        f"sottovoce {sv.__version__}",
        'Reference: grr: Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy", NeurIPS 2014.',
    ):
        assert part in said
    assert "for these participants themselves" in found.methods_sentence(target="sample")
    assert "Estimates are projected" in found.project("simplex").methods_sentence()
    latex = found.to_latex(0.9, method="wilson", simultaneous=True)
    assert said in latex.replace("\\%", "%").replace("''", '"').replace("``", '"')


def test_several_mechanisms_are_all_named_with_their_reports() -> None:
    m = sv.mechanism("nprr", sv.Interval(0, 10), epsilon=1)
    other = sv.mechanism("bernoulli", sv.Interval(0, 10), epsilon=2)
    found = tables.methods_sentence(
        "mean", 3000, [EstimateSource(m, 1000), EstimateSource(other, 2000)], ["So."], False
    )
    assert "from 3,000 reports" in found
    assert "randomized by nprr (epsilon 1, 1,000 reports) and bernoulli (epsilon 2, 2,000 reports). So." in found
    assert "References: nprr: Waudby-Smith" in found and "; bernoulli: Duchi" in found


@pytest.mark.parametrize(("errors", "places"), [([0.023], 3), ([12.0, 130.0], 0), ([np.nan, 0.5], 2), ([np.nan], 4)])
def test_numbers_are_shown_to_two_digits_of_their_error(errors: list[float], places: int) -> None:
    assert tables.decimals(errors) == places


def test_each_method_of_the_registry_is_cited() -> None:
    for name in sv.names():
        (cited,) = tables.references_of([name])
        assert cited.startswith(f"{name}: ") and len(cited) > 20
    assert tables.references_of(["no such mechanism", "G-R-R"]) == []
