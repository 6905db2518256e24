"""Manifests: content-addressed, computed anew, and refused where they promise more than they keep."""

import contextlib
import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

import sottovoce as sv
from sottovoce.core.asked import MAX_TEXT
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.question import Cdf
from sottovoce.core.round import Arm, Round
from sottovoce.core.specs import canonical
from tests.each import for_each

HOURS = sv.Mean(sv.Interval(0, 14))
SMOKER = sv.Frequency(sv.Categories(["yes", "no"]))


@pytest.fixture(scope="module")
def manifest():
    study = sv.Study(
        "sleep",
        epsilon="1",
        unit="person",
        owner="Institute",
        contact="privacy@example.org",
        purpose="How long people sleep.",
        questions=[
            sv.Asked("hours", HOURS, {"en": "How long?"}, unit="hours"),
            sv.Asked("smoker", SMOKER, {"en": "Do you smoke?"}, missing=("refused",), share=3),
        ],
    )
    round_ = Round(
        (
            Arm("hours", sv.mechanism("bernoulli", HOURS.domain, epsilon=1), 1),
            Arm("smoker", sv.mechanism("grr", study.question("smoker").full_question.domain, epsilon=1), 3),
        )
    )
    return Manifest(study.facts, study.questions, round_)


def test_its_name_is_the_hash_of_its_text(manifest):
    plain = json.loads(manifest.content)
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    assert manifest.hash == hashlib.sha256(text).hexdigest()
    assert manifest.prefix.hex() == manifest.hash[:16]
    again = Manifest.from_spec(manifest.content)
    assert again == manifest
    assert again.hash == manifest.hash


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("study", "purpose"), "Another purpose."),
        (("study", "lifetime"), "3"),
        (("study", "collection", "epoch_days"), 7),
        (("quota",), 100),
        (("arms", 0, "weight"), 2),
        (("questions", 0, "texts", "en"), "How much?"),
    ],
)
def test_every_change_is_another_manifest(manifest, path, value):
    plain = json.loads(manifest.content)
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert Manifest.from_spec(canonical(plain)).hash != manifest.hash


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("study", "unit"), "household", "unit of privacy"),
        (("study", "contact"), "", "a contact"),
        (("study", "lifetime"), "0.5", "lifetime budget"),
        (("study", "start"), "soon", "dates"),
        (("study", "epsilon"), "0.9", "more than the 0.9 that the study states"),
        (("version",), 2, "another version"),
        (("round",), 2, "names its parent and its root"),
        (("root",), "00", "the first has neither"),
        (("chosen",), 0, "not the one that this version writes"),
        (("study", "collection", "epoch_days"), 0, "1 to 366 days"),
        (("study", "collection", "batch"), 500, "both or neither"),
        (("study", "collection", "invitations"), 1, "true or false"),
        (("arms", 0, "name"), "weight", "none of its questions"),
        (("arms", 0, "weight"), 0, "must be an integer"),
        (("questions",), {}, "are lists"),
        (("unknown",), 1, "unknown: 1"),
    ],
)
def test_refusals(manifest, path, value, words):
    plain = json.loads(manifest.content)
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(sv.SottovoceError, match=words):
        Manifest.from_spec(canonical(plain))


def paths(plain, path=()):
    """Where each part of plain data lies."""
    yield path
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, part in items:
        yield from paths(part, (*path, key))


def test_a_value_of_another_type_in_any_place_is_refused_in_a_sentence(manifest):
    """A device reads manifests of strangers: no raw error of Python ends it."""
    whole = json.loads(manifest.content)
    whole["study"] |= {"start": "2027-03-01", "end": "2027-03-31", "title": "Sleep"}
    for path in list(paths(whole))[1:]:
        for value in (None, True, 5, 1.5, "x", [], ["x"], {}):
            plain = json.loads(json.dumps(whole))
            place = plain
            for key in path[:-1]:
                place = place[key]
            old, place[path[-1]] = place[path[-1]], value
            if type(old) is type(value) or (old is None) != (value is None):
                with contextlib.suppress(sv.SottovoceError):
                    Manifest.from_spec(canonical(plain))
            elif path[-1] != "unused":
                with pytest.raises(sv.SottovoceError):
                    Manifest.from_spec(canonical(plain))


def test_a_channel_that_loses_more_than_it_claims_is_refused(manifest):
    plain = json.loads(manifest.content)
    plain["arms"][1]["mechanism"]["channel"]["keep"] += 1 << 48
    with pytest.raises(sv.SottovoceError, match="epsilon"):
        Manifest.from_spec(canonical(plain))


def test_a_device_compares_the_computed_loss_with_its_limits(manifest):
    manifest.check()
    manifest.check(limit=Decimal(1), lifetime_limit=Decimal(1))
    with pytest.raises(sv.PrivacyError, match="than this device allows for one report"):
        manifest.check(limit=Decimal("0.99"))
    with pytest.raises(sv.PrivacyError, match="lifetime budget"):
        manifest.check(lifetime_limit=Decimal("0.5"))


def test_arms_follow_from_ids_with_their_weights(manifest):
    ids = [hashlib.sha256(b"%d" % number).digest()[:16] for number in range(8000)]
    counts = Counter(manifest.arm_of(one) for one in ids)
    # Binomial(8000, 1/4): six standard deviations are 232.
    assert abs(counts[0] - 2000) < 232
    ticket = int.from_bytes(hashlib.sha256(bytes.fromhex(manifest.hash) + ids[0] + bytes(4)).digest()[:8], "big")
    assert manifest.arm_of(ids[0]) == (0 if (ticket >> 11) % 4 < 1 else 1)
    assert manifest.asked(1).name == "smoker"
    with pytest.raises(sv.ParameterError, match="16 bytes"):
        manifest.arm_of(b"short")


def test_every_field_is_listed(manifest):
    assert [name for name, _ in manifest.fields_sent()] == [
        "version", "manifest", "epoch", "round", "arm", "id", "payload",
    ]  # fmt: skip


def test_later_rounds_name_the_first(manifest):
    second = manifest.next(manifest.stage)
    third = second.next(manifest.stage)
    assert (manifest.study, second.study, third.study) == (manifest.hash,) * 3
    assert (second.parent, third.parent, third.number) == (manifest.hash, second.hash, 3)
    assert Manifest.from_spec(third.content) == third


def test_parents_and_roots_are_hashes(manifest):
    later = manifest.next(manifest.stage)
    for wrong in ("00", "x" * 64, manifest.hash.upper(), manifest.hash + "\n"):
        for key in ("parent", "root"):
            with pytest.raises(sv.SpecError, match="64 lower-case hexadecimal digits"):
                Manifest.from_spec(canonical(json.loads(later.content) | {key: wrong}))


def test_an_epoch_is_a_number_of_days():
    weekly = Collection(epoch_days=7)
    assert [weekly.epoch(date(2020, 1, day)) for day in (1, 7, 8)] == [0, 0, 1]
    assert Collection().epoch(date(2020, 12, 31)) == 365


KEY = "0" * 62 + "af"


@for_each(
    "wrong",
    [
        {"epoch_days": 0}, {"epoch_days": True}, {"epoch_days": 1.0}, {"invitations": 1}, {"batch": 9},
        {"sealed_for": KEY}, {"sealed_for": KEY.upper(), "batch": 9}, {"sealed_for": KEY[1:], "batch": 9},
        {"sealed_for": KEY, "batch": 1}, {"sealed_for": KEY, "batch": True}, {"sealed_for": KEY, "batch": 9.0},
        {"sealed_for": KEY, "batch": (1 << 40) + 1},
    ],
)  # fmt: skip
def test_collections_that_are_none_are_refused(wrong):
    right = Collection(sealed_for=KEY, batch=2)
    assert Collection.from_spec(right.spec()) == right
    with pytest.raises(sv.SpecError):
        Collection(**wrong)


def test_every_label_has_a_text() -> None:
    for wrong in ("", " ", "x" * (MAX_TEXT + 1)):
        with pytest.raises(sv.ParameterError, match="A label of an answer must have 1 to"):
            sv.Asked("smoker", SMOKER, labels={"de": {"yes": "ja", "no": wrong}})
    sv.Asked("smoker", SMOKER, labels={"de": {"yes": "ja", "no": "x" * MAX_TEXT}})


def test_a_question_that_browsers_would_refuse_is_refused_before_anyone_is_asked(manifest) -> None:
    """Browsers keep at most 32 KiB of a question unread, also of kinds that the package knows."""
    domain = sv.Interval(0, 1)

    def asking(count: int) -> Manifest:
        question = Cdf(domain, tuple(f"{place / 10_000:.4f}" for place in range(count)))
        asked = replace(manifest.questions[0], question=question)
        return replace(manifest, questions=(asked, *manifest.questions[1:]))

    assert asking(2_000).hash
    with pytest.raises(sv.SpecError, match=r"takes \d+ bytes, and devices read at most 32768: ask for fewer points"):
        asking(5_000)
