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
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.service.pages.participant import participant_text
from sottovoce.study.display.privacy_numbers import coin_number, wrong_guesses
from sottovoce.study.dossier.annexes import ANNEXES
from sottovoce.study.dossier.deployments import compared
from sottovoce.study.dossier.document import HEADINGS
from sottovoce.study.dossier.registry import yaml_text
from sottovoce.study.dossier.sentences import SENTENCES, sentences
from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.words import spoken, words

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
    for (part, key), allowed in WORDS.items():
        assert deployment[part][key] in allowed
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["administrative"]["registry_authors"]["items"] == ["Institute <of> Sleep"]
    assert date.fromisoformat(deployment["basic"]["publication_date"])


def test_yaml_escapes_control_characters_and_line_ends_of_unicode():
    """YAML refuses U+007F and U+FEFF inside a text, and folds U+0085 and U+2028 into blanks."""
    assert yaml_text({"a": "x\x7f\x85\u2028\ufeff \u00e4\U0001f319"}) == (
        'a: "x\\U0000007f\\U00000085\\U00002028\\U0000feff \u00e4\U0001f319"\n'
    )


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
        inside = names.get("href", "").startswith(("#", "consent-"))
        active = {"src", "href", "onload", "onclick"} & names.keys()
        if tag in ("script", "img", "link", "iframe") or (active and not inside):
            self.loads.append((tag, names))
        if tag not in ("meta", "link", "input", "img", "br"):
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
    assert "None" not in text.replace("None is claimed", "")
    assert not re.search(r"\bnan\b", text)


@pytest.mark.parametrize("language", ["en", "de"])
def test_consent_repeats_the_sentences_of_the_participant_s_page(folder, language):
    manifest = Manifest.from_spec((folder / "manifest.json").read_bytes())
    consent = (folder / f"consent-{language}.html").read_text()
    page = participant_text("sleep", manifest, language)
    say, label = words(language)["page"], words(language)["label"]
    numbers = {"coin": coin_number(manifest), "guess": wrong_guesses(manifest), "count": 2}
    keys = ("crowd", "about_you", "answer_more", "scramble_more", "seen_more", "coin", "alike", "guess", "drawn_more")
    sentences_agreed = [say[key] for key in (*keys, "choice_more", "after_more", "consent")]
    sentences_agreed += [label[key] for key in ("once", "owner_can", "server_can", "court_can", "holder_cannot")]
    for sentence in sentences_agreed:
        assert spoken(sentence, **numbers) in consent and spoken(sentence, **numbers) in page, sentence
    assert numbers["guess"] == 26  # of 100 at epsilon 1: 1 / (1 + e)
    if language == "de":
        assert "Rauchen Sie?" in consent and "<li>ja</li>\n<li>nein</li>" in consent
        assert "<li>keine Angabe</li>" in consent and '<html lang="de">' in consent


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


def test_a_dossier_has_the_headings_of_a_board_and_counts_its_gaps(folder):
    text = (folder / "index.html").read_text()
    headings = re.findall(r'<h2><span class="count">(\w+)</span> ([^<]*)</h2>', text)
    assert headings == [
        *((str(place), name) for place, name in enumerate(HEADINGS, 1)),
        *zip("ABCDEFGH", ANNEXES, strict=True),
    ]
    listed = re.findall(r'href="#part-(\w+)"', text)
    assert [one.upper() for one in listed] == [number for number, _ in headings]
    assert {*listed} == {*re.findall(r'id="part-(\w+)"', text)}
    assert f"Draft: {text.count('To be completed:</b>')} items to complete" in text
    assert "Who can still learn what" in text and "+-" not in text
    for number in re.findall(r"±\u00a0([\d.]+)(?!\u00a0points|[\d.])", text):
        raise AssertionError(f"{number} has no unit")


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
