"""The folder of the dossier."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import decimal_text
from sottovoce.privacy.audit import audit
from sottovoce.study.documents.elements import page
from sottovoce.study.dossier.annexes import ANNEXES, LETTERS, annexes
from sottovoce.study.dossier.consent import consent_page, label
from sottovoce.study.dossier.document import (
    HEADINGS,
    KIND,
    AuditedArm,
    DossierFacts,
    body,
    cover,
    how_to_read_label,
)
from sottovoce.study.dossier.registry import entry, yaml_text
from sottovoce.study.dossier.software import bill_of_materials
from sottovoce.study.study_plan import StudyPlan


def write_dossier(plan: StudyPlan, folder: Path, *, today: date | None = None) -> list[Path]:
    """Write all files into a new folder; the names of the files."""
    if folder.exists():
        raise ParameterError("The folder of the dossier exists already: name a new one.")
    day = today or date.today()
    known = audited_facts(plan, day)
    manifest = known.manifest
    texts = {
        "index.html": page(f"Dossier: {known.title}", document_parts(known), footer=f"{known.title} · {KIND}"),
        "registry-entry.yaml": yaml_text(entry(plan, day)),
        "certificates.json": _json([_certificate(one) for one in known.audited]),
        "manifest.json": manifest.content.decode(),
        "plan.json": plan.to_frame().to_json(orient="records", indent=2) + "\n",
        "software.json": _json(bill_of_materials()),
        **{f"consent-{language}.html": consent_page(manifest, language) for language in plan.study.languages},
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sorted(folder.iterdir())


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _certificate(one: AuditedArm) -> dict[str, object]:
    certificate = one.certificate
    return {
        "arm": one.arm,
        "mechanism": certificate.name,
        "fingerprint": certificate.fingerprint,
        "claimed": decimal_text(certificate.claimed),
        "epsilon": certificate.epsilon,
        "ratio": None
        if certificate.ratio is None
        else f"{certificate.ratio.numerator}/{certificate.ratio.denominator}",
        "exact": certificate.exact,
        "how": certificate.how,
    }


def document_parts(known: DossierFacts) -> list[str]:
    """The dossier as a document; the cover is written last, because it counts the gaps."""
    body_parts, annex_parts = list(body(known)), list(annexes(known))
    contents = [*((str(place), name) for place, name in enumerate(HEADINGS, 1)), *zip(LETTERS, ANNEXES, strict=True)]
    first = [cover(known, contents), label(known.manifest, "en"), how_to_read_label(known)]
    return [*first, *body_parts, *annex_parts]


def audited_facts(plan: StudyPlan, today: date) -> DossierFacts:
    """Audit every mechanism of a plan; an error where an audit fails."""
    manifest = plan.manifest()
    audited = tuple(AuditedArm(arm.name, arm.mechanism, audit(arm.mechanism)) for arm in manifest.stage.arms)
    wrong = [one.arm for one in audited if not one.certificate.ok]
    if wrong:
        raise ParameterError(f"No dossier: the audit of {wrong[0]} fails.")
    return DossierFacts(plan, manifest, audited, today)
