"""Tallies of the epochs in which a question is asked: they are kept apart, and epoch 0 is written as before."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.round import Arm, check_tallies
from sottovoce.core.specs import canonical
from sottovoce.files.counts import account, fold
from sottovoce.protocols.ask import AskOneOf
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.play import State
from sottovoce.tally.tally import MAX_EPOCH

GRR = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
ROOTS = (0, 1, 7, MAX_EPOCH)


def tally(epoch: int = 0, n: int = 20) -> sv.Tally:
    return replace(GRR.tally(GRR.privatize(np.arange(n) % 4, seed=n)), epoch=epoch)


def signed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def test_bytes_of_epoch_0_are_those_of_tallies_without_epochs() -> None:
    one, spec = tally(), canonical(GRR.spec())
    parts = (b"sottovoce tally 2\n\x01", len(spec).to_bytes(4, "little"), spec, one.n.to_bytes(8, "little"))
    assert one.to_bytes() == signed(b"".join(parts) + one.cells.astype("<i8").tobytes())
    assert list(one.to_rows())[:2] == [(-1, 20), (-2, 1)] and [cell for cell, _ in one.to_rows()][2:] == [0, 1, 2, 3]
    assert repr(one) == repr(tally(3)).replace(", epoch 3", "") and "epoch" not in repr(one) + one._repr_html_()


@pytest.mark.parametrize("epoch", ROOTS)
def test_bytes_and_rows_carry_the_epoch(epoch: int) -> None:
    for one in (tally(epoch), sv.Tally.empty(GRR, epoch), replace(tally(epoch), simulated=False)):
        assert one.epoch == epoch
        for read in (sv.Tally.from_bytes(one.to_bytes()), sv.Tally.from_rows(GRR, one.to_rows())):
            assert read == one and (read.epoch, read.simulated) == (epoch, one.simulated)
        assert all(abs(cell) < 1 << 63 for cell, _ in one.to_rows())
        assert one == one.merge(sv.Tally.empty(GRR, epoch)) and one.update(GRR.privatize([1], seed=1)).epoch == epoch


@pytest.mark.parametrize("other", ROOTS[1:])
def test_tallies_of_different_epochs_do_not_add_up(other: int) -> None:
    one, later = tally(), tally(other)
    assert one != later and hash(one) != hash(later) and (one.cells == later.cells).all()
    says = rf"^Cannot add tallies of different epochs \(0 and {other}\)\.$"
    for left, right in ((one, later), (later, one), (one, sv.Tally.empty(GRR, other))):
        with pytest.raises(sv.MismatchError, match=says):
            left + right
        with pytest.raises(sv.MismatchError, match=says):
            sv.Tally.from_rows(GRR, [*left.to_rows(), *right.to_rows()])


def test_sums_of_engines_keep_epochs_apart() -> None:
    """A sum over equal cells, as SQL makes it, in any order: nothing of one epoch gets into another."""
    sums: dict[int, int] = {}
    for one in (tally(0), tally(2, 30), tally(2, 12)):
        for cell, count in one.to_rows():
            sums[cell] = sums.get(cell, 0) + count
    rows = [(GRR.fingerprint, 0, cell, count) for cell, count in sums.items()]
    first, later = ([row for row in rows if (row[2] > 1 << 31) is late] for late in (False, True))
    assert fold(first, GRR) == tally() and fold(later, GRR) == tally(2, 30) + tally(2, 12)
    with pytest.raises(sv.MismatchError, match=r"different epochs \(0 and 2\)"):
        fold(rows, GRR)
    assert account(rows).reports == 62


@pytest.mark.parametrize("key", [4, 1 << 31, 3_000_000_000, (1 << 32) - 15, (1 << 32) + 4, (5 << 32) - (1 << 20)])
def test_rows_of_cells_that_no_tally_has_are_refused(key: int) -> None:
    """Below the cells of a later epoch lie those that say what else was seen, and below them none."""
    rows = [(GRR.fingerprint, 0, cell, count) for cell, count in tally().to_rows()]
    assert fold([*rows, (GRR.fingerprint, 0, -8, 1), (GRR.fingerprint, 0, -14, 1)], GRR) == tally()
    with pytest.raises(sv.ParameterError, match="'cell'"):
        fold([*rows, (GRR.fingerprint, 0, key, 1)], GRR)


def test_bytes_with_a_wrong_epoch_are_refused() -> None:
    for epoch in (0, MAX_EPOCH + 1):
        body = tally(5).to_bytes()[:-32][:-4] + epoch.to_bytes(4, "little")
        with pytest.raises(sv.ReportError, match="epoch"):
            sv.Tally.from_bytes(signed(body))
    whole = tally(5).to_bytes()[:-32]
    for mark in (0, 1, 4, 255):  # the mark says that there is no epoch, or something unknown
        body = whole[:18] + bytes([mark]) + whole[19:]
        with pytest.raises(sv.ReportError):
            sv.Tally.from_bytes(signed(body))
    with pytest.raises(sv.ReportError):
        sv.Tally.from_bytes(signed(tally().to_bytes()[:18] + b"\x03" + tally().to_bytes()[19:-32]))


@pytest.mark.parametrize("wrong", [-1, MAX_EPOCH + 1, 0.5, True, "1", None])
def test_an_epoch_is_a_small_number(wrong: object) -> None:
    with pytest.raises((sv.ParameterError, TypeError), match="epoch"):
        sv.Tally(GRR, 0, np.zeros(4, np.int64), epoch=wrong)  # type: ignore[arg-type]


def test_the_tallies_of_a_round_are_of_one_epoch() -> None:
    protocol = AskOneOf((Arm("a", GRR), Arm("b", GRR)))
    state = State.first(protocol)
    with pytest.raises(sv.ParameterError, match=r"^The tallies of a round are of one epoch\. Got 0 and 4\.$"):
        check_tallies(state.round, (tally(), tally(4)))
    with pytest.raises(sv.ParameterError, match="one epoch"):
        state.after((tally(4), tally(5)))
    for epoch in (0, 4):
        after = state.after((tally(epoch), tally(epoch)))
        assert [one.epoch for one in resume(checkpoint(after)).history[0]] == [epoch, epoch]
