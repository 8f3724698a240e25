"""`ftheta audit`: every theorem about networks on one network."""

from pathlib import Path
from typing import Annotated

from ftheta.report.working import Working

from .common import Flag, Json, console, exit_code


def audit(
    subject: str,
    *,
    data: str | None = None,
    out: Path | None = None,
    seed: int = 0,
    json: Json = False,
    strict: Annotated[bool, Flag] = False,
) -> int:
    """Run every theorem about networks on one network and write a report.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data to judge it on: a file with x and y, `package.module:attribute`, or a built-in name.
    out
        Write the report to this file (.html, or .json).
    seed
        Seed of everything random.
    strict
        Exit with 3 when a hypothesis fails.
    """
    from ftheta.report.save import ensure_savable, save_audit

    if out is not None:
        ensure_savable(out, (".html", ".json"))
    from ftheta.auditing import audit as run_audit

    with Working("auditing") as working:
        document = run_audit(subject, data, seed=seed, progress=working.now)
    if out is not None:
        save_audit(document, out)
    if json:
        from ftheta.report.document import to_json

        print(to_json(document))
    else:
        from ftheta.report.card import audit_card

        console().print(audit_card(document, out))
    return exit_code(document.results, strict)
