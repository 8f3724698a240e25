"""`ftheta audit`: everything that can be said of one network; or of two, side by side."""

import sys
from pathlib import Path
from typing import Annotated, Any

from ftheta.logic import Audit, Comparison, UsageError
from ftheta.report.working import Working

from .common import Flag, Json, console, exit_code

INTERRUPTED = 130


def audit(
    subject: str,
    *,
    data: str | None = None,
    labels: str | None = None,
    against: str | None = None,
    out: Path | None = None,
    budget: str = "60s",
    only: list[str] | None = None,
    skip: list[str] | None = None,
    until: str | None = None,
    seed: int = 0,
    json: Json = False,
    strict: Annotated[bool, Flag] = False,
) -> int:
    """Say what a network is, run every theorem about networks on it, and write a report.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data to judge it on: a file with x and y, `package.module:attribute`, or a built-in name.
    labels
        The column, the array or the file of the labels, if they are not under y in the file of the data.
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
    seed
        Seed of everything random.
    strict
        Exit with 3 when a theorem is not applicable or something was not checked.
    """
    from ftheta.report.save import ensure_savable, save_audit

    if out is not None:
        ensure_savable(out, (".html", ".json"))
    chosen: dict[str, Any] = {"budget": budget, "only": only or (), "skip": skip or (), "seed": seed}
    chosen |= {"labels": labels, "until": until}
    document, audits = _document(subject, against, data, chosen)
    try:
        written = () if out is None else save_audit(document, out)
    except UsageError as error:  # what was found is not lost with the file
        _show(document, None, json)
        print(f"ftheta: {error}", file=sys.stderr)
        return error.exit_code
    _show(document, written[0] if written else None, json)
    return _code(audits, strict)


def _show(document: Audit | Comparison, report: Path | None, json: bool) -> None:
    if json:
        from ftheta.report.document import to_json

        return print(to_json(document))
    from ftheta.report.card import audit_card, comparison_card

    card = audit_card(document, report) if isinstance(document, Audit) else comparison_card(document, report)
    console().print(card)


def _document(
    subject: str, against: str | None, data: str | None, chosen: dict[str, Any]
) -> tuple[Audit | Comparison, list[Audit]]:
    """What was found, and the audits in it."""
    from ftheta.auditing import audit as run_audit
    from ftheta.auditing import compare

    with Working("auditing") as working:
        if against is None:
            found = run_audit(subject, data, **chosen, progress=working.now)
            return found, [found]
        both = compare(subject, against, data, **chosen, progress=working.now)
        return both, [both.before, both.after]


def _code(audits: list[Audit], strict: bool) -> int:
    if any(audit.interrupted for audit in audits):
        return INTERRUPTED
    code = exit_code([result for audit in audits for result in audit.results], strict)
    return 3 if code == 0 and strict and any(audit.skipped for audit in audits) else code
