"""Every protocol runs in the collector with no code of its own, and goes on after a crash in any state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Round
from sottovoce.protocols.play import State
from sottovoce.service import audit_log
from sottovoce.service.running_study import RunningStudy, stored_state, written_protocol
from sottovoce.service.stores import open_store
from sottovoce.service.stores.base import CLOSED, DONE, Store
from tests.protocols.test_checkpoints import EVERY
from tests.service.studies import add, collecting, drawn, everyone, grr, send, side, told

# Protocols of several rounds; those of one round differ in their arms only.
SEVERAL = ["AdaptiveMean", "Variance", "Refine", "Parallel"]
MOST = 4_000  # reports of a round: enough for any quota here
# Where participants choose their budget, the arms have no question of a study to belong to.
_OTHERS = sorted(name for name in set(EVERY) - set(SEVERAL) if not EVERY[name][0].start().chosen)
EACH = [*SEVERAL, *(pytest.param(name, marks=pytest.mark.long) for name in _OTHERS)]


def _study(name: str) -> tuple[Any, Any]:
    protocol, values = EVERY[name]
    return protocol if name == "Parallel" else side(protocol), values


def _estimates(found: Any) -> dict[str, Any]:
    return {key: one.to_dict() for key, one in found.items() if hasattr(one, "to_dict")}


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_rounds_follow_one_another(name: str, tmp_path: Any, seed: int) -> None:
    """The rounds of the collector are those of the protocol, though every batch meets another collector process."""
    protocol, values = _study(name)
    place = str(tmp_path / "store.sqlite")
    with open_store(place) as store:
        study = _named(store, protocol)
    expected = State.first(protocol)
    turn = 0
    while True:
        with open_store(place) as store, store.read() as work:
            row = work.study(1)
            manifests = [Manifest.from_spec(one) for one in work.manifests(1)]
            found = stored_state(work, row, manifests)
        assert found.is_over == expected.is_over and len(found.history) == len(expected.history)
        if not isinstance(expected.stage, Round) or expected.stage.quota is None:
            break
        current = manifests[-1]
        assert current.stage == expected.round and current.number == len(expected.history) + 1
        assert current.parent == (manifests[-2].hash if turn else None) and current.study == manifests[0].hash
        counted: list[list[bytes]] = [[] for _ in current.stage.arms]
        for batch in sorted(drawn(current, values[:MOST], seed + 100 * turn), key=lambda one: one.ids):
            with open_store(place) as store, collecting(store) as collector:  # killed and begun again each time
                one = send(collector, study, batch)
                after = collector.study(study).manifest
            if one.problem is not None:
                assert one.problem == ("study_closed" if row.state == DONE else "outdated_manifest")
                break
            assert told(one)[0] == len(batch)
            counted[batch.arm] += [a + b for a, b in batch.reports()]
            if after.hash != current.hash:
                break
        tallies = tuple(arm.mechanism.tally(own) for arm, own in zip(current.stage.arms, counted, strict=True))
        expected = expected.after(tallies)
        turn += 1
    assert turn or EVERY[name][0].start().quota is None
    if turn:
        # An old round takes nothing new, but still says what it counted.
        with open_store(place) as store, collecting(store) as collector:
            old = next(iter(drawn(manifests[0], values[:MOST], seed)))
            late = send(collector, study, replace(old, ids=bytes(16), payloads=old.payloads[: old.width]))
            assert late.problem in ("outdated_manifest", "study_closed")


def _named(store: Store, protocol: Any) -> str:
    names = {arm.name.partition(":")[0] for arm in protocol.start().arms}
    return add(store, protocol) if names == {"type"} else _several(store, protocol, sorted(names))


def _several(store: Store, protocol: Any, names: list[str]) -> str:
    from sottovoce.core.asked import Asked
    from sottovoce.core.question import Frequency
    from sottovoce.service.collector import add_study
    from tests.service.studies import FACTS, SOURCE, TYPE

    manifest = Manifest(FACTS, tuple(Asked(name, Frequency(TYPE)) for name in names), protocol.start())
    with store.transaction() as work:
        return add_study(work, SOURCE, written_protocol(protocol, {}), manifest, by="test").name


def test_a_round_that_was_due_when_the_collector_died(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, values = _study("Refine")
    study = add(store, protocol)
    monkeypatch.setattr("sottovoce.service.writer.CommitWriter._advance", lambda self, running: None)
    with collecting(store) as collector:  # it dies before every change of round
        manifest = collector.study(study).manifest
        for batch in drawn(manifest, values, 1):
            send(collector, study, batch)
        assert collector.study(study).is_due
    monkeypatch.undo()
    with store.read() as work:
        assert work.study(1).round == 1
        running = RunningStudy.load(work, work.study(1))
    _, following = running.next_stage()
    with collecting(store) as collector:
        collector.writer.call(lambda: None)
        assert following is not None and collector.study(study).manifest.hash == following.hash
        assert told(send(collector, study, next(iter(drawn(manifest, values, 2)))))[3] == "outdated_manifest"
    with store.read() as work:
        assert [one["act"] for one in audit_log.entries(work)] == ["create", "round"]
        assert work.study(1).round == 2 and len(work.manifests(1)) == 2


def test_a_round_is_changed_all_or_not_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, values = _study("Refine")
    study = add(store, protocol)
    whole = audit_log.record

    def broken(*given: Any, **named: Any) -> None:
        whole(*given, **named)
        raise KeyError("in the middle of the change")

    monkeypatch.setattr(audit_log, "record", broken)
    with collecting(store) as collector:
        manifest = collector.study(study).manifest
        batches = list(drawn(manifest, values, 1))
        for batch in batches:
            send(collector, study, batch)
        assert collector.study(study).failed
        new = next(iter(drawn(manifest, values, 2)))
        assert told(send(collector, study, new))[3] == "round_failed"
        assert told(send(collector, study, batches[0]))[1] == len(batches[0])
    with store.read() as work:
        assert work.study(1).round == 1 and len(work.manifests(1)) == 1
    monkeypatch.undo()
    with collecting(store) as collector:
        collector.writer.call(lambda: None)
        assert collector.study(study).manifest.number == 2


def test_too_few_participants_give_a_partial_result(store: Store) -> None:
    protocol, values = _study("Refine")
    study = add(store, protocol)
    with collecting(store) as collector:
        manifest = collector.study(study).manifest
        with pytest.raises(ParameterError):
            State.first(protocol).closed()
        assert collector.outcome(study).notes == ("Nothing can be estimated yet.",)
        send(collector, study, next(iter(drawn(manifest, values[:900], 1))))
        collector.set_state(study, CLOSED, by="test")
        with store.read() as work:
            state = stored_state(work, work.study(1), collector.study(study).manifests)
        assert collector.outcome(study).notes or state.closed()


def test_a_study_of_one_round_goes_on_until_it_is_closed(store: Store) -> None:
    study = add(store, everyone(grr()))
    with collecting(store) as collector:
        manifest = collector.study(study).manifest
        for turn in range(3):
            for batch in drawn(manifest, ["lark"] * 500, turn):
                assert told(send(collector, study, batch))[0] == 500
        found = collector.outcome(study)
        assert found.row.reports == 1500 and found is collector.outcome(study)
        rows = found.to_dict()["rows"]
        assert [row["label"] for row in rows] == ["lark", "owl", "neither"] and rows[0]["low"] > 0.8
