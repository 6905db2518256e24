"""`sottovoce answer` and `sottovoce device`: a device from a shell, with nothing but the standard library."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from sottovoce.client.arguments import SentenceParser
from sottovoce.client.client import Client
from sottovoce.core.asked import Asked
from sottovoce.core.errors import CollectorError, ParameterError, SpecError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.late import load
from sottovoce.core.params import decimal_text
from sottovoce.core.specs import parse

PATIENCE = 20.0  # seconds for which a collector that is busy is tried again


def main(arguments: Sequence[str]) -> int:
    """Answer through a mechanism, and print the message in hexadecimal; or answer a study, and send the report."""
    parser = SentenceParser(
        "answer",
        "SPEC|STUDY [--value VALUE] [--limit LIMIT] [--lifetime-limit LIMIT], with --memo FILE for a SPEC, and with"
        " --device FILE [--url URL] [--token TOKEN] [--budget NAME] for a STUDY",
        "Randomize one answer on this machine. With a mechanism's specification the message is printed as hex; with a"
        " study it is written to the device's file and sent.",
        [
            "answer https://collector.example/v1/studies/ID --device me.sqlite",
            "answer theme.json --value dark --limit 1",
        ],
    )
    parser.add_argument(
        "spec", help="a mechanism's specification (JSON), a study's manifest (JSON), or the address of a study"
    )
    parser.add_argument("--value", help="the answer; read from standard input if left out, so that no shell keeps it")
    parser.add_argument("--limit", type=_decimal, help="refuse a mechanism whose computed epsilon is larger")
    parser.add_argument("--memo", type=Path, help="where this device keeps its memos, for mechanisms that need one")
    parser.add_argument("--lifetime-limit", type=_decimal, help="bounds the epsilon of all answers together")
    parser.add_argument("--device", type=Path, help="the file of this device: account, reports and memos, for studies")
    parser.add_argument("--url", help="where to send the answer to a manifest that was read from a file")
    parser.add_argument("--token", type=bytes.fromhex, default=b"", help="the invitation (hex), where a study needs it")
    parser.add_argument("--budget", help="the budget, in studies where participants choose it")
    options = parser.parse_args(arguments)
    if options.spec.startswith(("http://", "https://")):
        return _answer_study(options, None)
    try:
        content = Path(options.spec).read_bytes()
    except OSError as problem:
        raise ParameterError(f"The specification cannot be read: {problem.strerror}.") from None
    return _answer_study(options, content) if _is_manifest(content) else _answer_mechanism(options, content)


def _is_manifest(content: bytes) -> bool:
    try:
        return "arms" in parse(content)
    except SpecError:
        return False  # whoever reads it says what is wrong


def _answer_mechanism(options: Namespace, content: bytes) -> int:
    client = Client.from_spec(content, limit=options.limit, lifetime_limit=options.lifetime_limit, memo=options.memo)
    text = options.value if options.value is not None else _read()
    print(client.report_text(text).hex())
    loss, forever = f"epsilon {client.mechanism.epsilon:.6g}", client.mechanism.epsilon_forever
    if client.mechanism.claimed_forever is not None:
        loss += f", {forever:.6g} for all reports of one unchanged value"
    print(f"{loss}, computed from the channel", file=sys.stderr)
    return 0


def _answer_study(options: Namespace, content: bytes | None) -> int:
    """Ask the questions of a study, write the report and send it."""
    if options.device is None:
        raise ParameterError("To answer a study give the file of this device, --device FILE: it keeps the account.")
    participant = load("client.participant:Participant")(options.device, options.limit, options.lifetime_limit)
    if content is None:
        manifest, url = participant.fetch(options.spec)
    else:
        manifest, url = Manifest.from_spec(content, device=True), options.url or ""
    participant.check(manifest)  # before anything is asked
    arm = participant.experiment_arm(manifest)
    if arm is not None and arm.texts:
        print(_shown(arm.text(manifest.facts.languages[0])), file=sys.stderr)
    names = participant.asks(manifest, arm=options.budget)
    attributes = () if manifest.stage.chosen else participant.asks_attributes(manifest)
    answers = _answers(manifest, names, attributes, options.value)
    delivery = participant.answer(manifest, answers, url=url, token=options.token, arm=options.budget)
    if delivery.state == "queued" and url:
        delivery = next((one for one in participant.send(PATIENCE) if one.id == delivery.id), delivery)
    total = decimal_text(round(participant.account().total, 4))
    print(f"{delivery.state}: question {delivery.question}, id {delivery.id.hex()}, payload {delivery.payload.hex()}")
    print(f"Computed from the channels, this device has lost epsilon {total} so far.", file=sys.stderr)
    if delivery.state not in ("accepted", "queued"):
        raise CollectorError("The collector did not count the report; `sottovoce device` shows why.")
    return 0


@dataclass(frozen=True, slots=True)
class _Answers(Mapping[str, object]):
    """What a person typed. It becomes values when the device reads it, within its tick."""

    texts: dict[str, tuple[Asked, str | dict[str, str]]]

    def __getitem__(self, name: str) -> object:
        return _typed(*self.texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def _answers(manifest: Manifest, names: Sequence[str], attributes: Sequence[str], value: str | None) -> _Answers:
    """The answers that the device needs: to the question that it drew, or to all where the study asks all.

    Of a cross table these are the answers to the attributes that the device drew.
    """
    by_key = {one.key: one for one in map(manifest.asked, range(len(manifest.stage.arms)))}
    asked = [by_key[name] for name in names]
    if value is not None:
        if len(asked) > 1:
            raise ParameterError("This study has several questions: their answers are read from standard input.")
        return _Answers({asked[0].key: (asked[0], value)})
    answers: dict[str, tuple[Asked, str | dict[str, str]]] = {}
    language = manifest.facts.languages[0]
    for one in asked:
        print(_shown(one.text(language)), file=sys.stderr)
        texts = {}
        for name in attributes if one.attributes else ():
            print(_shown(one.attribute_text(name, language)), file=sys.stderr)
            texts[name] = _read()
        answers[one.key] = one, texts or _read()
    return _Answers(answers)


def _typed(asked: Asked, text: str | dict[str, str]) -> object:
    """What a person typed as an answer: a group and a number with a comma between them, a vector as JSON."""
    if isinstance(text, dict):
        fields = dict(asked.question.domain.fields)
        return {name: one if one in asked.missing else fields[name].typed(one) for name, one in text.items()}
    if text in asked.missing:
        return text
    domain = asked.question.domain
    if hasattr(domain, "group") and hasattr(domain, "value"):
        group, comma, number = text.rpartition(",")
        return (domain.group.typed(group.strip()), domain.value.typed(number)) if comma else text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text  # the domain refuses it
    return domain.typed(text)


def device(arguments: Sequence[str]) -> int:
    """List what a device sent and lost; send what is queued; or delete it."""
    parser = SentenceParser(
        "device",
        "FILE [--send] [--withdraw] [--json]",
        "What the device with this file sent, and its privacy loss. A report that was counted cannot be taken back.",
        ["device me.sqlite", "device me.sqlite --send"],
    )
    parser.add_argument("file", type=Path, help="the file of the device")
    parser.add_argument("--send", action="store_true", help="send what is queued")
    parser.add_argument("--withdraw", action="store_true", help="delete what is unsent")
    parser.add_argument("--json", action="store_true", help="print rows that a program can read")
    options = parser.parse_args(arguments)
    if not options.file.is_file():
        raise ParameterError("The file of the device cannot be read: there is none.")
    participant = load("client.participant:Participant")(options.file)
    if options.withdraw:
        participant.withdraw()
    elif options.send:
        participant.send(PATIENCE)
    account = participant.account()
    rows = [
        {
            "study": entry.name,
            "owner": entry.owner,
            "question": entry.question,
            "round": entry.round,
            "epoch": entry.epoch,
            "payload": entry.payload.hex(),
            "state": entry.state,
        }
        for entry in participant.reports()
    ]
    if options.json:
        lost = {owner: str(epsilon) for owner, epsilon in account.owners.items()}
        print(json.dumps({"reports": rows, "lost": str(account.total), "lost_to": lost}))
        return 0
    for row in rows:
        said = f"{row['study']}, {row['question']}: {row['state']}, epoch {row['epoch']}, payload {row['payload']}"
        print(_shown(said))
    for owner, epsilon in account.owners.items():
        print(f"Lost to {_shown(owner) or 'single mechanisms'}: epsilon {decimal_text(round(epsilon, 4))}.")
    print(f"Lost altogether: epsilon {decimal_text(round(account.total, 4))}.")
    return 0


def _shown(text: str) -> str:
    """A text of somebody else's, without what would control the terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _decimal(text: str) -> Decimal:
    """The limit as it was typed; a float would be another number."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("The limit must be a number, such as 1.5.") from None


def _read() -> str:
    """The first line of standard input."""
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ParameterError(f"The answer on standard input is not {sys.stdin.encoding} text.") from None
