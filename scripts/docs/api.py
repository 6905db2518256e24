"""Pages of the Python reference, one for each task: which public names and members they show, in which order."""

from __future__ import annotations

PAGES = {
    "answers": (
        "Describe answers",
        "Categories Integers Interval Circle Text Words Sets Ranking KeyValue Record Pair Box Ball Sparse",
    ),
    "questions": (
        "Say what to estimate",
        "Frequency FrequentWords SetShares KeyMeans Mean Variance Distribution Quantile Range Cdf CircularMean"
        " GroupMean VectorMean Attributes Joint Boxes",
    ),
    "planning": ("Plan", "plan Plan Prior mechanism names Mechanism"),
    "estimating": (
        "Collect and estimate",
        "Reports read_reports write_reports Tally Estimate decoder combine simulate_counts metrics",
    ),
    "comparing": ("Compare and test", "compare goodness_of_fit independence TestOf"),
    "devices": ("Answer on a device", "Client Participant"),
    "studies": ("Studies", "read_study Study Asked plan_study simulate_study"),
    "privacy": ("Check privacy", "audit Certificate"),
    "rounds": (
        "Ask in rounds",
        "simulate SampledAttributes TableViews AdaptiveMeanRounds VarianceRounds QuantileRounds RangeSearchMean"
        " GaussianMeanKnownSigma GaussianMeanUnknownSigma",
    ),
    "errors": (
        "Errors and warnings",
        "SottovoceError DomainError ParameterError PrivacyError ReportError SpecError MismatchError"
        " PoorIntervalWarning",
    ),
}
# What users call on an object, in the order of the page. Members that only other parts of the package call are left
# out, and those that a class inherits are shown. A class without a line is shown without members.
MEMBERS = {
    "Mechanism": "privatize tally tally_batches estimate variance worst_case_variance average_variance randomize spec"
    " from_spec fingerprint ratio epsilon delta epsilon_forever",
    "Tally": "empty update merge to_bytes from_bytes to_rows from_rows fingerprint",
    "Estimate": "n value labels ci covariance doubt default_method to_frame to_dict explain methods_sentence plot"
    " to_markdown to_latex project decoded answer heterogeneity epsilon mean median quantile iqr variance cdf range"
    " density band curve sample groups estimable means sizes shares sums difference all_pairs test_equality power",
    "Plan": "best estimable explain to_frame expected_frame",
    "Prior": "uniform normal exponential beta histogram of mean variance",
    "Reports": "payloads",
    "Client": "from_spec report report_text most_values",
    "Participant": "fetch check asks answer send reports withdraw account",
    "Study": "question plan",
    "Certificate": "ok exact epsilon epsilon_forever explain",
    "metrics": "histogram wasserstein kolmogorov_smirnov range_error quantile_error mean_error variance_error",
}


def target(name: str) -> str:
    """The dotted path of a public name; a module is shown from its own place."""
    return "sottovoce.estimate.metrics" if name == "metrics" else f"sottovoce.{name}"


def names() -> list[str]:
    """Every public name of the reference, page by page."""
    return [name for _, text in PAGES.values() for name in text.split()]


def _entry(name: str) -> str:
    """The directive that shows one public name."""
    members = MEMBERS.get(name, "").split()
    listed = "".join(f"\n        - {member}" for member in members) or " false"
    return f"::: {target(name)}\n    options:\n      inherited_members: true\n      members:{listed}\n"


def pages() -> dict[str, str]:
    """Every page of the Python reference by its file name."""
    rows = ["# Python API\n\nEvery public name of `import sottovoce as sv`, by task.\n\n| task | names |\n|---|---|\n"]
    written = {}
    for file, (title, text) in PAGES.items():
        named = text.split()
        written[f"{file}.md"] = f"# {title}\n\n" + "\n".join(map(_entry, named))
        links = ", ".join(f"[`{name}`][{target(name)}]" for name in named)
        rows.append(f"| [{title}]({file}.md) | {links} |\n")
    return {"index.md": "".join(rows), **written}
