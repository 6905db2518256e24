"""The memo of a device: kept through restarts, crashes and other processes; its cohort; and what it counts."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.client import Untimed
from sottovoce.client.device_file import VERSION
from sottovoce.client.memo import Kept, KeptCoins, Memo, Spent, _text
from sottovoce.client.tick import SHORTEST, WRITTEN, public_tick
from sottovoce.core.channel.facets import Memoised, need
from sottovoce.core.coins import Coins
from sottovoce.core.errors import DeviceFileError, DomainError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.testing.statistics import check_rate
from tests.client.toys import in_cohorts, unary
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
TOYS = {"unary": unary(), "in cohorts": in_cohorts()}
every_toy = pytest.mark.parametrize("name", TOYS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memo"


def client(mechanism: Mechanism, path: Path, lifetime: float = 20) -> sv.Client:
    return sv.Client(mechanism, lifetime_limit=lifetime, memo=path, tick=Untimed())


def in_process(code: str, path: Path, *, toy: str = "unary", wait: bool = True) -> subprocess.Popen[str]:
    """Another process with a memo in this file; it prints what it finds."""
    start = """
        import os, sys
        from sottovoce.client import Client, Untimed
        from sottovoce.client.memo import Memo
        from tests.client.toys import in_cohorts, unary
        path, mechanism = sys.argv[1], unary() if sys.argv[2] == "unary" else in_cohorts()
        memo = Memo(path)
        client = Client(mechanism, lifetime_limit=20, memo=path, tick=Untimed())
    """
    script = textwrap.dedent(start) + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path), toy],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if wait:
        process.wait(PATIENCE)
    return process


# --- once and for all --------------------------------------------------------------------------------------------
@every_toy
def test_a_value_has_one_permanent_answer_in_all_processes(name: str, path: Path) -> None:
    mechanism = TOYS[name]
    kept = {value: Memo(path).keep(mechanism, value) for value in range(4)}
    assert len({one.cohort for one in kept.values()}) == 1
    for value in (3, 0, 3):
        assert Memo(path).keep(mechanism, value) == kept[value]
    printed = in_process("print([tuple(memo.keep(mechanism, value)) for value in range(4)])", path, toy=name)
    assert printed.stdout is not None
    assert printed.stdout.read().strip() == str([tuple(kept[value]) for value in range(4)])
    found = memos(mechanism, path, range(4))
    assert Memo(path).spent(mechanism) == Spent(found, reports=11 + 1)


@every_toy
def test_reports_are_made_of_the_memo(name: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, made = TOYS[name], []
    answer_from = Mechanism.answer_from

    def watched(self: Mechanism, memo: int, coins: Coins | None = None, *, cohort: int = 0) -> bytes:
        made.append((memo, cohort))
        return answer_from(self, memo, coins, cohort=cohort)

    monkeypatch.setattr(Mechanism, "answer_from", watched)
    messages = [client(mechanism, path).report(2) for _ in range(20)]
    messages += [client(mechanism, path).report_text("2")]
    assert len(set(messages)) == 21  # a memo is kept, a message is not
    assert set(made) == {tuple(Memo(path).keep(mechanism, 2))}
    for message in messages:
        codec.split(mechanism.channel, message)  # refuses what a collector would


def test_devices_differ(tmp_path: Path) -> None:
    found = {Memo(tmp_path / str(device)).keep(TOYS["in cohorts"], 1) for device in range(20)}
    assert len(found) > 10 and len({kept.cohort for kept in found}) > 3


def test_mechanisms_share_a_file_and_no_answers(path: Path) -> None:
    ones = [in_cohorts(k) for k in range(5, 13)]
    kept = [Memo(path).keep(one, 1) for one in ones]
    assert len(set(kept)) > 4
    assert [Memo(path).keep(one, 1) for one in ones] == kept
    assert [Memo(path).spent(one) for one in ones] == [Spent(1, 2)] * len(ones)
    assert Memo(path).spent(unary()) == Spent(0, 0)


def test_what_is_kept_outlives_another_way_to_draw_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version may read words in another order; the answers of today stay."""
    mechanism = TOYS["in cohorts"]
    kept = [Memo(path).keep(mechanism, value) for value in range(8)]
    monkeypatch.setattr(KeptCoins, "_stream", lambda self, purpose, number, length: bytes(length))
    assert [Memo(path).keep(mechanism, value) for value in range(8)] == kept
    assert Memo(path).keep(mechanism, 9).cohort == kept[0].cohort


def test_a_file_that_lost_its_answers_draws_the_same_again(path: Path) -> None:
    mechanism = TOYS["in cohorts"]
    kept = [Memo(path).keep(mechanism, value) for value in range(8)]
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM answer")
        database.execute("DELETE FROM mechanism")
    database.close()
    assert [Memo(path).keep(mechanism, value) for value in range(8)] == kept


@every_toy
def test_memos_and_cohorts_have_the_law_of_their_coins(name: str, seed: int) -> None:
    """Drawn from a secret, they come as often as from the operating system."""
    mechanism, devices = TOYS[name], 2000
    cohorts: Counter[int] = Counter()
    bits = 0
    for device in range(devices):
        secret = b"%d of seed %d" % (device, seed)
        cohort = mechanism.draw_cohort(KeptCoins(secret, b"cohort", b"any"))
        cohorts[cohort] += 1
        code = mechanism.channel.mapped_in(cohort, 1)  # type: ignore[attr-defined]
        bits += mechanism.remember(1, KeptCoins(secret, b"answer", b"any"), cohort=cohort) >> code & 1
    check_rate("kept bits", bits, devices, 0.75)
    if mechanism.cohorts > 1:
        check_rate("devices of an even cohort", sum(cohorts[even] for even in range(0, 16, 2)), devices, 0.5)
        assert len(cohorts) == mechanism.cohorts


def test_coins_of_a_secret() -> None:
    def words(*label: bytes) -> list[int]:
        coins = KeptCoins(*label)
        found = []
        for _ in range(2):
            coins.begin(2)
            found += [coins.word(), coins.word(), coins.extra(), coins.extra()]
        return found

    labels = [(b"s", b"cohort", b"x"), (b"s", b"answer", b"x"), (b"t", b"cohort", b"x"), (b"s", b"cohort", b"y")]
    drawn = [word for label in labels for word in words(*label)]
    assert len(set(drawn)) == len(drawn) == 32
    assert words(*labels[0]) == drawn[:8]


def test_equal_codes_have_one_text() -> None:
    assert _text(1) == _text(Fraction(2, 2)) == _text(Decimal("1.0")) == "1"
    assert _text((1, (Fraction(1, 2), -3))) == "(1,(1/2,-3))"
    assert len({_text(code) for code in (12, (12,), (1, 2), ((1, 2),), Fraction(1, 2), -12)}) == 6
    with pytest.raises(TypeError, match="Got a str"):
        _text("secret")


def test_long_memos_are_kept_whole(path: Path) -> None:
    """Twenty bits take up to three bytes."""
    mechanism = unary(20)
    kept = [Memo(path).keep(mechanism, value) for value in range(20)]
    assert max(kept).answer >= 1 << 16
    assert [Memo(path).keep(mechanism, value) for value in range(20)] == kept


# --- what it counts ----------------------------------------------------------------------------------------------
def test_the_lifetime_limit_counts_distinct_values(path: Path) -> None:
    mechanism = TOYS["unary"]
    device = client(mechanism, path, 4.4)  # twice 2 ln 3
    assert device.most_values == 2
    for value in (1, 2, 1, 1, 2):
        device.report(value)
    assert Memo(path).spent(mechanism) == Spent(values=2, reports=5)
    # From the third value on nothing is answered: if only new values were refused, each silence would tell of one.
    for value in (3, 1, 2, 3):
        with pytest.raises(sv.PrivacyError, match="asked about more than 2 different values"):
            client(mechanism, path, 4.4).report(value)
    assert Memo(path).spent(mechanism).values == 3
    assert client(mechanism, path, 6.6).report(1)
    with pytest.raises(sv.PrivacyError, match="more than 1 different"):
        sv.Client(mechanism, memo=path, tick=Untimed()).report(1)


def some_memos() -> list[Mechanism]:
    """Mechanisms about one value, each with an epsilon of 2 ln 3 for all its reports."""
    return [replace(TOYS["unary"], name=f"toy-{number}") for number in range(5)]


def test_the_lifetime_limit_is_that_of_the_device(path: Path) -> None:
    """Five mechanisms about one value: a limit that is enough for two answers two of them."""
    first, second, *others = some_memos()
    for mechanism in (first, second, first):
        assert client(mechanism, path, 4.4).report(1)
    for mechanism in (*others, first, second):  # a refused value stays charged, and then none is answered
        with pytest.raises(sv.PrivacyError, match="lifetime limit, so it no longer answers"):
            client(mechanism, path, 4.4).report(1)


def test_a_lifetime_limit_may_be_spent_to_the_last_digit(path: Path) -> None:
    mechanism = TOYS["unary"]
    limit = mechanism.guarantee.charge(mechanism.ratio_forever).epsilon
    assert Memo(path).keep(mechanism, 1, lifetime=limit) == Memo(path).keep(mechanism, 1)
    with pytest.raises(sv.PrivacyError, match="lifetime limit, so it no longer answers"):
        Memo(path).keep(mechanism, 1, lifetime=limit.next_minus())


def test_processes_at_once_share_the_lifetime_limit(path: Path) -> None:
    code = (
        "import sottovoce\nfrom dataclasses import replace\n"
        "answered = 0\n"
        "for number in range(5):\n"
        "    own = replace(mechanism, name=f'toy-{number}-{os.getpid()}')\n"
        "    try:\n"
        "        answered += len(Client(own, lifetime_limit=6.6, memo=path, tick=Untimed()).report(1)) > 0\n"
        "    except sottovoce.PrivacyError:\n"
        "        pass\n"
        "print(answered)"
    )
    processes = [in_process(code, path, wait=False) for _ in range(3)]
    outputs = [process.communicate(timeout=PATIENCE) for process in processes]
    assert all(process.returncode == 0 for process in processes), outputs
    assert sum(int(printed) for printed, _ in outputs) == 3


def test_without_a_lifetime_limit_one_value_is_answered(path: Path) -> None:
    device = sv.Client(TOYS["unary"], memo=path, tick=Untimed())
    assert device.most_values == 1
    for _ in range(3):
        device.report(1)
    with pytest.raises(sv.PrivacyError, match="more than 1 different values"):
        device.report(2)


def test_foreign_values_touch_no_file(path: Path) -> None:
    for value in (4, -1, "1", None, 1.5):
        with pytest.raises(DomainError):
            client(TOYS["unary"], path).report(value)
    assert not path.exists()


def test_a_mechanism_without_a_memo_leaves_the_file_alone(path: Path) -> None:
    device = sv.Client(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1), memo=path, tick=Untimed())
    assert len(device.report(1)) == 17 and device.most_values is None
    assert not path.exists()


def test_writing_takes_less_than_a_tick() -> None:
    assert public_tick(TOYS["in cohorts"]).seconds == WRITTEN > 10 * SHORTEST
    assert public_tick(sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)).seconds == SHORTEST


def test_the_same_is_done_for_new_values_and_known_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same statements, and one write to disk each: the duration does not tell whether a value is new."""
    statements: list[list[str]] = []
    connect = sqlite3.connect

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        database = connect(*arguments, **options)
        statements.append([])
        database.set_trace_callback(lambda text: statements[-1].append(text.split("VALUES")[0].split("WHERE")[0]))
        return database

    Memo(path).keep(TOYS["in cohorts"], 0)
    monkeypatch.setattr(sqlite3, "connect", watched)
    for value in (0, 1, 1, 2, 0):
        Memo(path).keep(TOYS["in cohorts"], value)
    assert len(statements) == 5 and all(one == statements[0] for one in statements)
    assert any(text.startswith("UPDATE") for text in statements[0])


# --- the file ----------------------------------------------------------------------------------------------------
def test_the_file_belongs_to_its_owner_and_holds_no_value(path: Path) -> None:
    domain = sv.Categories(["unmistakable-sentinel", "other", "third", "fourth"])
    mechanism = Mechanism(
        **{**vars_of(TOYS["unary"]), "question": sv.Frequency(domain), "domain": domain}  # type: ignore[arg-type]
    )
    old = os.umask(0)
    try:
        client(mechanism, path).report("unmistakable-sentinel")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]  # no journal is left
    assert b"sentinel" not in path.read_bytes()
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT fingerprint, value, kept FROM answer").fetchall()
        (secret,) = database.execute("SELECT secret FROM device").fetchone()
    database.close()
    assert len(rows) == 1 and [len(part) for part in rows[0]] == [32, 32, 1] and len(secret) == 32
    path.chmod(0o640)
    with pytest.raises(sv.PrivacyError, match="Others can read or write the file"):
        client(mechanism, path).report("other")


def vars_of(mechanism: Mechanism) -> dict[str, Any]:
    return {name: getattr(mechanism, name) for name in mechanism.__dataclass_fields__}


@pytest.mark.parametrize("content", [b"no database, but long enough to be taken for one" * 50, b"SQLite format 3\0"])
def test_a_damaged_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(DeviceFileError, match="cannot be read or written"):
        client(TOYS["unary"], path).report(1)
    assert path.read_bytes() == content


def test_other_versions_and_secrets_are_refused(path: Path, tmp_path: Path) -> None:
    for number, change in enumerate(
        (f"PRAGMA user_version = {VERSION + 1}", "UPDATE device SET secret = x'00'", "DROP TABLE answer")
    ):
        one = tmp_path / str(number)
        Memo(one).keep(TOYS["unary"], 1)
        database = sqlite3.connect(one, isolation_level=None)
        database.execute(change)
        database.close()
        with pytest.raises(DeviceFileError, match="does not answer"):
            Memo(one).keep(TOYS["unary"], 1)
    with pytest.raises(DeviceFileError, match="FileNotFoundError"):
        Memo(tmp_path / "missing" / "memo").keep(TOYS["unary"], 1)


def test_a_foreign_answer_is_not_sent(path: Path) -> None:
    client(TOYS["unary"], path).report(1)
    for change in ("UPDATE answer SET kept = x'ff'", "UPDATE mechanism SET cohort = 7"):
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(change)
        database.close()
        with pytest.raises(sv.PrivacyError, match="is invalid for"):
            client(TOYS["unary"], path).report(1)


def test_a_file_that_another_process_holds_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Memo(path).keep(TOYS["unary"], 1)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.3, lambda: holder.execute("COMMIT")).start()
    assert Memo(path).keep(TOYS["unary"], 1) == kept
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("sottovoce.client.device_file.PATIENCE", 0.05)
    with pytest.raises(DeviceFileError, match="OperationalError"):
        Memo(path).keep(TOYS["unary"], 1)
    holder.close()


# --- crashes and company -----------------------------------------------------------------------------------------
KILLED = """
    import signal, sqlite3
    from sottovoce.core.mechanism import Mechanism
    left = 0
    def step():
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    class Watched(sqlite3.Connection):
        def execute(self, *arguments):
            step()
            found = super().execute(*arguments)
            step()
            return found
    connect = sqlite3.connect
    sqlite3.connect = lambda *a, **o: connect(*a, factory=Watched, **o)
    answer_from = Mechanism.answer_from
    def answered(self, memo, *arguments, **options):
        step()
        print(memo, options["cohort"], flush=True)
        return answer_from(self, memo, *arguments, **options)
    Mechanism.answer_from = answered
    for steps in range(100):
        child = os.fork()
        if not child:
            left = steps
            client.report(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not status:
            print("done", steps, flush=True)
            break
        assert status == signal.SIGKILL
"""


def test_a_device_that_is_killed_at_any_step_answers_as_before(path: Path) -> None:
    """Before and after each statement, and between the memo and its message: what was used once is what is kept.

    The first processes are killed while the tables and the secret are written, the last ones after the commit.
    """
    process = in_process(KILLED, path, toy="in cohorts")
    assert process.stdout is not None and process.stderr is not None
    *used, last = process.stdout.read().splitlines()
    assert process.returncode == 0, process.stderr.read()
    assert last.startswith("done ") and int(last.split()[1]) > 20
    kept = Memo(path).keep(TOYS["in cohorts"], 1)
    assert set(used) == {f"{kept.answer} {kept.cohort}"}
    assert path.stat().st_mode & 0o777 == 0o600
    # Killed processes that had committed are counted, whether they came to send or not; the others left nothing.
    spent = Memo(path).spent(TOYS["in cohorts"])
    assert spent.values == 1 and 3 <= spent.reports <= 5


def test_processes_at_once_share_one_memo(path: Path) -> None:
    code = "print([tuple(memo.keep(mechanism, value)) for value in (1, 2, 3) for _ in range(5)])"
    processes = [in_process(code, path, toy="in cohorts", wait=False) for _ in range(3)]
    outputs = [process.communicate(timeout=PATIENCE) for process in processes]
    assert all(process.returncode == 0 for process in processes), outputs
    assert len({printed for printed, _ in outputs}) == 1
    mechanism = TOYS["in cohorts"]
    found = memos(mechanism, path, (1, 2, 3))
    assert Memo(path).spent(mechanism) == Spent(found, reports=45 + 1)


def memos(mechanism: Mechanism, path: Path, values: Iterable[int]) -> int:
    """How many memos a device keeps of these values: one for each value of its cohort's map."""
    cohort = Memo(path).keep(mechanism, 1).cohort
    return len({need(mechanism.channel, Memoised).mapped_in(cohort, value) for value in values})


@pytest.mark.parametrize(
    ("name", "domain", "answers", "most"),
    [
        ("loloha", sv.Integers(0, 30), list(range(31)), 2),
        ("bernoulli-memo", sv.Interval(0, 10), [x / 10 for x in range(101)], 2),
        ("d-bit-flip-memo", sv.Integers(0, 30), list(range(31)), 3),
    ],
)
def test_however_many_answers_there_are_few_memos(
    name: str, domain: sv.Domain, answers: list[Any], most: int, path: Path
) -> None:
    options = {"loloha": {"g": 2}, "d-bit-flip-memo": {"d": 2}}.get(name, {})
    mechanism = sv.mechanism(name, domain, epsilon=1, **options)
    kept = [Memo(path).keep(mechanism, answer) for answer in answers]
    assert Memo(path).spent(mechanism).values <= most
    assert len(set(kept)) <= most and len({one.cohort for one in kept}) == 1
    if name == "bernoulli-memo":  # one point, at which the memo changes once
        assert sum(one != other for one, other in pairwise(kept)) <= 1
    device = sv.Client(mechanism, lifetime_limit=2 * most, memo=path, tick=Untimed())
    assert all(device.report(answer) for answer in answers)


def test_points_of_rounding_are_uniform() -> None:
    """A number is rounded up by as many devices as its place in the range says."""
    mechanism, secrets = sv.mechanism("bernoulli-memo", sv.Interval(0, 10), epsilon=1), range(4_000)
    coins = [KeptCoins(b"%d" % secret, b"point", b"") for secret in secrets]
    up = [mechanism.kept_code(3, one) == 10 for one in coins]
    check_rate("numbers rounded up", sum(up), len(up), 0.3)


def test_threads_at_once_share_one_memo(path: Path) -> None:
    found: list[Kept] = []
    device = client(TOYS["unary"], path)

    def work() -> None:
        for _ in range(5):
            found.append(Memo(path).keep(device.mechanism, 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 and len(set(found)) == 1
