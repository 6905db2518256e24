"""The dossier: complete, computed, valid for the registry, and without anything from elsewhere."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import sottovoce as sv
from scripts import screenshots
from sottovoce.study.dossier.deployments import compared
from sottovoce.study.dossier.registry import yaml_text
from sottovoce.study.dossier.sentences import SENTENCES, sentences
from sottovoce.study.dossier.write import write_dossier

pytestmark = pytest.mark.slow

# Facts about the registry's form: which keys a part may have, which it must have, and the words it allows.
PARTS = {
    "basic": {
        "name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description",
        "publication_date", "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
    "deployment_model": {
        "model_name", "model_name_details", "actors", "release_type", "release_type_details", "data_source_type",
        "data_source_type_details", "access_type", "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip
WORDS = {
    ("basic", "data_product_type"): {"Summary statistics"},
    ("dp_variant", "variant_name"): {"Pure DP"},
    ("deployment_model", "model_name"): {"Local", "Shuffle"},
    ("deployment_model", "release_type"): {"One release", "Many releases"},
    ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    study = sv.Study(
        "sleep",
        epsilon=1,
        unit="person",
        owner="Institute <of> Sleep",
        contact="privacy@example.org",
        purpose="How people sleep.",
        languages=("en", "de"),
        questions=[
            sv.Asked(
                "smoker",
                sv.Frequency(sv.Categories(["yes", "no"])),
                {"en": "Do you smoke?", "de": "Rauchen Sie?"},
                missing=("refused",),
                labels={"de": {"yes": "ja", "no": "nein", "refused": "keine Angabe"}},
            ),
            sv.Asked("rank", sv.Frequency(sv.Integers(1, 3)), {"en": "Which?", "de": "Welche?"}),
        ],
    )
    path = tmp_path_factory.mktemp("dossier") / "sleep"
    write_dossier(study.plan(40_000), path, today=date(2027, 1, 1))
    return path


def read_yaml(text):
    """The small part of YAML that is written: nested keys, lists of texts, and values in the form of JSON."""
    root = {}
    stack = [(-1, root)]
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        while stack[-1][0] >= depth:
            stack.pop()
        place = stack[-1][1]
        if line.strip().startswith("- "):
            place.setdefault("items", []).append(json.loads(line.strip()[2:]))
            continue
        key, _, value = line.strip().partition(":")
        place[key] = json.loads(value) if value.strip() else {}
        if not value.strip():
            stack.append((depth, place[key]))
    return root


def test_the_registry_entry_has_the_registry_s_form(folder):
    found = read_yaml((folder / "registry-entry.yaml").read_text())
    assert (found["status"], found["tier"], found["url_slug"]) == ("Draft", 3, "sleep-2027")
    deployment = found["deployment"]
    assert deployment.keys() == PARTS.keys()
    for part, keys in PARTS.items():
        assert deployment[part].keys() <= keys
    assert PARTS["basic"] - deployment["basic"].keys() == {"data_product_sector"}
    for (part, key), words in WORDS.items():
        assert deployment[part][key] in words
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["administrative"]["registry_authors"]["items"] == ["Institute <of> Sleep"]
    assert date.fromisoformat(deployment["basic"]["publication_date"])


def test_yaml_quotes_what_would_break_it():
    text = yaml_text({"a": 'x: "y" # z\n- no', "b": ["1", "yes"], "c": {"d": 1.5}})
    assert text == 'a: "x: \\"y\\" # z\\n- no"\nb:\n  - "1"\n  - "yes"\nc:\n  d: 1.5\n'


class Page(HTMLParser):
    """Collects the text, and whatever would be loaded or run."""

    def __init__(self):
        super().__init__()
        self.words, self.loads, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if tag in ("script", "img", "link", "iframe") or {"src", "href", "onload", "onclick"} & names.keys():
            self.loads.append((tag, names))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("name", ["index.html", "consent-en.html", "consent-de.html"])
def test_pages_are_whole_and_load_nothing(folder, name):
    page = Page()
    page.feed((folder / name).read_text())
    assert page.loads == []
    assert page.open == []
    text = " ".join(page.words)
    assert "Institute <of> Sleep" in text or "sleep" in text
    assert "None" not in text
    assert not re.search(r"\bnan\b", text)


def test_consent_lists_every_field_and_the_numbers(folder):
    text = (folder / "consent-de.html").read_text()
    assert "Rauchen Sie?" in text
    for field in ("version", "manifest", "epoch", "round", "arm", "id", "payload"):
        assert f"<td>{field}</td>" in text
    # e and e/(1 + e), with the decimal sign of the language.
    assert "höchstens um den Faktor 2,72" in text
    assert "73,1 %" in text
    assert "gibt Ihr Gerät höchstens 1 aus" in text
    assert "<li>ja</li>\n<li>nein</li>" in text
    assert "<li>keine Angabe</li>" in text
    assert '<html lang="de">' in text
    assert "factor 2.72" in (folder / "consent-en.html").read_text()


def test_sentences_of_all_languages_have_the_same_places():
    english = SENTENCES["en"]
    for language, each in SENTENCES.items():
        assert each.keys() == english.keys(), language
        for key, text in each.items():
            assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", english[key])), (language, key)
            if language != "en" and len(text) > 40:
                assert text != english[key]
    with pytest.raises(sv.ParameterError, match="no sentences"):
        sentences("pl")
    assert sentences("de-AT") is SENTENCES["de"]


def test_the_picture_marks_the_plan_and_belongs_to_the_page(folder):
    text = (folder / "index.html").read_text()
    assert text.count("<svg") == 1
    assert "smoker: +- " in text
    assert (folder / "plan.svg").read_text().startswith("<svg")
    assert "What adds up" in text
    assert "Only in shuffler mode" in text


def test_certificates_are_exact_and_belong_to_the_manifest(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    found = json.loads((folder / "certificates.json").read_text())
    assert [one["arm"] for one in found] == [arm["name"] for arm in manifest["arms"]]
    for one, arm in zip(found, manifest["arms"], strict=True):
        mechanism = sv.Mechanism.from_spec(arm["mechanism"])
        assert one["fingerprint"] == mechanism.fingerprint
        assert Fraction(one["ratio"]) == mechanism.ratio
        assert one["exact"]


def test_numbers_of_the_index(folder):
    text = (folder / "index.html").read_text()
    assert "The device answers this study once and refuses a second answer." in text
    assert "2 of 2 mechanisms have an exact certificate" in text
    rows = compared(Decimal(1), "person")
    assert rows[0][0] == "this study"
    software = json.loads((folder / "software.json").read_text())
    names = {one["name"] for one in software["components"]}
    assert {"sottovoce", "numpy", "scipy", "numba"} <= names
    assert "pytest" not in names


def test_a_folder_that_exists_is_kept(folder):
    study = sv.Study(
        "a", epsilon=1, unit="person", owner="o", contact="a@b.org", purpose="p",
        questions={"x": sv.Frequency(sv.Categories(["y", "n"]))},
    )  # fmt: skip
    with pytest.raises(sv.ParameterError, match="exists already"):
        write_dossier(study.plan(1000), folder)


@pytest.mark.skipif(not screenshots.CHROMIUM.exists(), reason="needs Chromium")
@pytest.mark.parametrize("name", ["index.html", "consent-de.html"])
def test_a_real_browser_opens_it_without_a_complaint(folder, name, tmp_path):
    # In a thread of its own: other tests of this process may have a browser open, and a thread can drive only one.
    with ThreadPoolExecutor(1) as thread:
        said = thread.submit(screenshots.opened, folder / name, tmp_path / "picture.png").result()
    assert said == [{"index.html": "Dossier: sleep", "consent-de.html": "Einwilligung: sleep"}[name]]
    assert (tmp_path / "picture.png").stat().st_size > 10_000
