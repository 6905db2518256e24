"""An entry for the public registry of deployments of differential privacy, in its YAML form."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from sottovoce import __version__
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.study.study_plan import StudyPlan


def entry(plan: StudyPlan, today: date) -> dict[str, Any]:
    """The fields of the registry that a study can fill; what only its owner knows is left to the owner."""
    study = plan.study
    published = study.end or study.start or today
    methods = ", ".join(dict.fromkeys(one.plan.best.method for one in plan.questions))
    return {
        "url_slug": f"{study.name}-{published.year}",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": study.name,
                "data_curators": [study.owner],
                "intended_use": study.purpose,
                "data_product_type": "Summary statistics",
                "data_product_region": "To be completed",
                "description": f"{plural(len(study.questions), 'question')}; each report is about one of them.",
                "publication_date": published.isoformat(),
            },
            "dp_variant": {
                "variant_name": "Pure DP",
                "data_domain": "Answers within the ranges and lists that the study file names before anyone is asked.",
                "unprotected_quantities": (
                    "That a device took part, the number of reports, and the public parameters of every mechanism."
                ),
            },
            "privacy_loss": {
                "privacy_unit": f"{study.unit}, one participation",
                "privacy_unit_details": f"Two answers of one {study.unit} to the question it is asked.",
                "privacy_parameters": {"epsilon": float(study.epsilon)},
                "privacy_parameters_details": (
                    f"At most {decimal_text(plan.manifest().largest_loss)} in this study, enforced by the device."
                ),
            },
            "deployment_model": {
                "model_name": "Local",
                "actors": "Devices, which add the noise; the collector, which receives noisy reports only; analysts.",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Estimates are functions of the noisy reports; intervals accompany each of them.",
                "composition": "Each report answers one question with the whole budget; budgets of studies add up.",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Methods were chosen by predicted error, without answers.",
                "mechanisms": (
                    f"{methods}; sottovoce {__version__}, integer arithmetic over exact coins, reports of fixed length"
                    " after a fixed time, likelihood ratios certified exactly."
                ),
                "justification": plan.advice,
            },
            "administrative": {"registry_authors": [study.owner]},
        },
    }


def yaml_text(value: Any, depth: int = 0) -> str:
    """Plain data as YAML; texts are quoted as in JSON, which YAML contains."""
    pad = "  " * depth
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            inside = isinstance(item, (dict, list))
            lines.append(f"{pad}{key}:\n{yaml_text(item, depth + 1)}" if inside else f"{pad}{key}: {_scalar(item)}\n")
        return "".join(lines)
    return "".join(f"{pad}- {_scalar(item)}\n" for item in value)


def _scalar(value: Any) -> str:
    """A number, or a text in quotes. YAML refuses control characters that JSON allows, and folds other line ends."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in text)
