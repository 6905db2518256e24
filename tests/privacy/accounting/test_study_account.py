"""The account of one person in a study: waves, other studies, memos, shufflers and samples."""

import json
from decimal import Decimal

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Arm, Round
from sottovoce.mechanisms.mean.gaussian import build as gaussian
from sottovoce.privacy.accounting.sequences import fresh_loss
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.privacy.accounting.study import UNCHANGED, StudyAccount

pytestmark = pytest.mark.slow
SMOKER = sv.Frequency(sv.Categories(["yes", "no"]))


def the_manifest(mechanism=None, **changes):
    about = {"epsilon": 1, "lifetime": 4, "unit": "person", "owner": "o", "contact": "a@b.org", "purpose": "p."}
    study = sv.Study("sleep", **{**about, **changes}, questions={"smoker": SMOKER, "rank": SMOKER})
    other = mechanism or sv.mechanism("grr", SMOKER.domain, epsilon="0.5")
    arms = (Arm("smoker", sv.mechanism("grr", SMOKER.domain, epsilon=1), 3), Arm("rank", other, 1))
    return Manifest(study.facts, study.questions, Round(arms))


def test_waves_and_other_studies_add_up_and_arms_do_not():
    account = StudyAccount.of(the_manifest(unit="event"), waves=3, also=["0.5", 2])
    assert account.total.epsilon == Decimal("5.5")
    assert "3 waves of this study and beside 2 other studies a device loses at most epsilon 5.5" in account.text()
    assert account.advanced.epsilon <= account.total.epsilon


def test_the_device_stops_at_the_lifetime_budget():
    account = StudyAccount.of(the_manifest(unit="event"), waves=9)
    assert (account.allowed, account.taken) == (4, 4)
    assert account.total.epsilon == 4
    assert "Of 9 waves it takes part in 4" in account.text()


def test_reports_from_memos_are_counted_once_for_each_different_answer_and_no_sequence_is_claimed():
    memo = sv.mechanism("basic-rappor", SMOKER.domain, epsilon="0.9", epsilon_forever=2)
    manifest = the_manifest(memo, lifetime=20, unit="event")
    once = StudyAccount.of(manifest, waves=10)
    assert once.total.epsilon == 10  # by the question without a memo
    assert "rank keeps a memo: all reports of an unchanged answer together lose at most epsilon 2." in once.text()
    for waves, values, name, answers in (
        (10, 1, "rank, memo", 1),
        (10, 2, "rank, memo", 2),
        (2, 2, "rank, memo", 2),  # two reports of 0.9: but reports of different memos do not add up like fresh ones
        (2, 9, "rank, memo", 2),
        (1, 1, "rank", 1),
    ):
        found = StudyAccount.of(manifest, waves=waves, values=values)
        entries = {entry.name: entry for entry in found.account.entries}
        assert entries[name].answers == answers
        assert (UNCHANGED in found.text()) == (found.to_dict()["caveats"] == [UNCHANGED]) == (waves > 1)
        assert found.advanced == found.total  # composition with a delta is for fresh reports
    assert "it does not bound what they tell about when an answer changed" in manifest.text()
    bound = 10 * fresh_loss(memo)
    assert once.sequences == {"rank": bound} and once.to_dict()["sequences"] == {"rank": pytest.approx(float(bound))}
    assert f"Over all sequences of answers 10 reports lose at most epsilon {bound:.4g}." in once.text()
    assert StudyAccount.of(the_manifest(), waves=2).sequences == {}


def test_a_crowd_is_labelled():
    account = StudyAccount.of(the_manifest(), participants=40_000, rate="0.1")
    among = account.amplified.participants
    assert 9_500 < among < 9_600 or 29_500 < among < 29_600  # less what chance may take away
    assert account.amplified.method == "law"
    assert account.amplified.epsilon < shuffled(1, participants=among, delta=5e-7).epsilon
    assert "Only in shuffler mode" in account.text()
    # ln(1 + 0.1 (e - 1))
    assert account.hidden == pytest.approx(0.15856, abs=1e-4)
    assert "Only if nobody can tell" in account.text()
    plain = StudyAccount.of(the_manifest())
    assert plain.amplified is None and plain.hidden is None
    assert "shuffler" not in plain.text()


@pytest.mark.parametrize(
    "wrong", [{"waves": 0}, {"values": 0}, {"also": ["x"]}, {"delta": 0}, {"rate": 2}, {"participants": 0}]
)
def test_refusals(wrong):
    with pytest.raises(sv.ParameterError):
        StudyAccount.of(the_manifest(), **wrong)


def test_explain_of_a_manifest_and_a_person(tmp_path, capsys):
    path = tmp_path / "manifest.json"
    path.write_bytes(the_manifest(unit="event").content)
    line = ["explain", str(path), "--waves", "2", "--also", "0.5", "--participants", "1000"]
    assert main([*line, "--question", "smoker", "--belief", "0.9,0.1"]) == 0
    text = capsys.readouterr().out
    assert "loses at most epsilon 2.5" in text
    # A belief of 90 % is right 90 % of the time without the report, and no report of epsilon 1 changes it.
    assert (
        "smoker, by its actual channel: Without the report the best guess is right 90.0 % of the time, with it 90.0 %"
        in text
    )
    assert "from the most private to the least private" in text
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["account"]["total"] == "2.5"
    assert found["questions"]["smoker"]["guess"] == pytest.approx(0.7310586, abs=1e-6)
    for more in (["--belief", "1"], ["--question", "age", "--belief", "1"], ["--question", "rank", "--belief", "a"]):
        assert main([*line, *more]) == 2


def test_a_delta_is_part_of_the_account_and_shuffling_is_not_claimed_for_it():
    noisy = gaussian(sv.Interval(0, 1), epsilon=1, delta="0.001")
    study = the_manifest(unit="event", lifetime=9)
    manifest = Manifest(study.facts, study.questions[:1], Round((Arm("smoker", noisy),)))
    account = StudyAccount.of(manifest, waves=3, participants=10**6)
    assert str(account.total) == "epsilon 3 with delta 0.003" and account.amplified is None
    assert StudyAccount.of(study, participants=10**6).amplified is not None
