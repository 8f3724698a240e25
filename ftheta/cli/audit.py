"""`ftheta audit`: everything that can be said of one network; or of two, side by side."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ftheta.logic import Audit, AuditFinding, Comparison, SubjectError, UsageError, Verdict, suggest
from ftheta.report.working import Working

from .common import Flag, Json, console, exit_code

if TYPE_CHECKING:
    from ftheta.auditing.thresholds import Threshold

INTERRUPTED = 130
FORMS = {"html": ".html", "json": ".json", "markdown": ".md", "junit": ".xml", "sarif": ".sarif"}


def audit(
    subject: str,
    *,
    data: str | None = None,
    labels: str | None = None,
    train: str | None = None,
    against: str | None = None,
    out: Path | None = None,
    budget: str = "60s",
    only: list[str] | None = None,
    skip: list[str] | None = None,
    until: str | None = None,
    role: str = "",
    trusted: Annotated[bool, Flag] = False,
    lr: float | None = None,
    seed: int = 0,
    require: list[str] | None = None,
    format: str | None = None,
    json: Json = False,
    strict: Annotated[bool, Flag] = False,
) -> int:
    """Answer what one wants to know of a network, worst first, with every theorem it rests on, and write a report.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data to judge it on: a file with x and y, `package.module:attribute`, or a built-in name.
    labels
        The column, the array or the file of the labels, if they are not under y in the file of the data.
    train
        The data that it was trained on: for rows in both, a shift between both, and the gap of the accuracies.
    against
        Another network to compare it with, fact by fact: the one before training or pruning.
    out
        Write the report to this file (.html, with the .json beside it; or .json alone).
    budget
        How long it may compute: 60s, 2m, 1h, counted from when the network is read. Starting (some seconds), kernels
        that are compiled (once for an installation) and time that other processes take do not count. What was not
        finished is listed with what would give it more time.
    only
        Run these alone: ids of theorems or facts, chapters or sections.
    skip
        Leave these out.
    until
        End the network at this node or tensor of its file.
    role
        What the network is in a generative model: generator, critic, decoder, score or velocity.
    trusted
        Have onnxruntime, where it is installed, run the .onnx file too, and hold both against one another.
    lr
        The learning rate it is trained with, to be held against the largest stable step.
    seed
        Seed of everything random.
    require
        Thresholds such as "accuracy >= 0.95", or a TOML file of them; else those of [tool.ftheta.audit] in
        pyproject.toml here. Exit with 1 when one is missed, with 3 when one is unknown.
    format
        Forms of the report, with commas: html, json, markdown, junit, sarif; beside --out, or as report.html …
    strict
        Exit with 3 when something was not finished in time or, asked for by --only, is not applicable.
    """
    from ftheta.auditing.thresholds import project_thresholds, read_thresholds
    from ftheta.report.save import save_audit

    places = _places(out, format)
    thresholds = read_thresholds(require if require is not None else project_thresholds(Path.cwd()))
    chosen: dict[str, Any] = {
        "budget": budget,
        "only": only or (),
        "skip": skip or (),
        "seed": seed,
    }
    chosen |= {"labels": labels, "until": until, "train": train, "role": role, "lr": lr}
    chosen["trusted"] = trusted
    document, audits = _document(subject, against, data, chosen, thresholds)
    try:
        written = [path for place in places for path in save_audit(document, place)]
    except UsageError as error:  # what was found is not lost with the file
        _show(document, None, json)
        print(f"ftheta: {error}", file=sys.stderr)
        return error.exit_code
    _show(document, written[0] if written else None, json)
    for finding in _unusable(document):
        print(
            f"ftheta: {finding.says}\n  {finding.basis}\n  remedy: {finding.remedy}",
            file=sys.stderr,
        )
    return _code(document, audits, strict)


def _places(out: Path | None, format: str | None) -> list[Path]:
    """The files to be written, refused before any work is done where they cannot be."""
    from ftheta.report.save import AUDITS, ensure_savable

    words = [word.strip().lower() for word in (format or "").split(",") if word.strip()]
    for word in words:
        if word not in FORMS:
            raise UsageError(
                "Unknown form of a report.",
                got=word,
                remedy=suggest(word, FORMS, f"one of {', '.join(FORMS)}"),
            )
    stem = out or Path("report.html")
    places = (
        [stem.with_suffix(FORMS[word]) for word in words] if words else [] if out is None else [out]
    )
    for place in places:
        ensure_savable(place, AUDITS)
    return places


def _show(document: Audit | Comparison, report: Path | None, json: bool) -> None:
    if json:
        from ftheta.report.document import to_json

        return print(to_json(document))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from ftheta.report.ci import annotations

        print("\n".join(annotations(document)))
    from ftheta.report.audit_card import audit_card, comparison_card

    card = (
        audit_card(document, report)
        if isinstance(document, Audit)
        else comparison_card(document, report)
    )
    console().print(card)


def _document(
    subject: str,
    against: str | None,
    data: str | None,
    chosen: dict[str, Any],
    thresholds: "tuple[Threshold, ...]",
) -> tuple[Audit | Comparison, list[Audit]]:
    """What was found, with what became of the thresholds, and the audits in it."""
    from ftheta.auditing.comparing import compare
    from ftheta.auditing.thresholds import require
    from ftheta.auditing.whole import audit as run_audit

    with Working("auditing") as working:
        if against is None:
            found = run_audit(
                subject, data, **chosen, progress=working.advance, on_finding=working.show
            )
            return require(found, thresholds), [found]
        both = compare(
            subject, against, data, **chosen, progress=working.advance, on_finding=working.show
        )
        return require(both, thresholds), [both.before, both.after]


def _code(document: Audit | Comparison, audits: list[Audit], strict: bool) -> int:
    """1 before 3: what is refuted or missed weighs more than what is not known. Data that cannot be used weigh most:
    what was asked of them has no answer."""
    from ftheta.auditing.thresholds import exit_code_of

    if any(audit.interrupted for audit in audits):
        return INTERRUPTED
    if _unusable(document):
        return SubjectError.exit_code
    results = [result for audit in audits for result in audit.results]
    codes = {exit_code(results, strict=False), exit_code_of(document.requirements)}
    if strict and any(_is_open(audit) for audit in audits):
        codes.add(3)
    return 1 if 1 in codes else max(codes)


def _unusable(document: Audit | Comparison) -> list[AuditFinding]:
    """The findings that say that data cannot be used, or not by this network."""
    from ftheta.auditing.rules import UNUSABLE

    return [finding for finding in document.findings if finding.rule in UNUSABLE]


def _is_open(audit: Audit) -> bool:
    """Whether something had no time, or, where it was asked for by `--only`, does not apply."""
    if any(missing.unfinished for missing in audit.skipped):
        return True
    inapplicable = any(result.verdict is Verdict.INAPPLICABLE for result in audit.results)
    return bool(audit.asked.only) and (inapplicable or bool(audit.skipped))
