"""The commands that give a result again."""

import shlex
from collections.abc import Mapping

from ftheta.logic import Result
from ftheta.logic.result import Audit


def command(result: Result) -> str:
    """The line for the terminal."""
    provenance = result.provenance
    knobs = [f"--{name.replace('_', '-')} {_word(value)}" for name, value in provenance.knobs.items()]
    subject = {"given": [f"--on {shlex.quote(provenance.subject)}"], "breaker": ["--breaker"]}
    switches = [*subject.get(provenance.origin, []), *["--force"] * provenance.forced]
    return " ".join(["ftheta check", result.id, *knobs, f"--seed {provenance.seed}", *switches])


def snippet(result: Result) -> str:
    """The same in Python."""
    provenance = result.provenance
    subject = {"given": [repr(provenance.subject)], "breaker": ["breaker=True"]}
    arguments = [repr(result.id), *subject.get(provenance.origin, [])]
    arguments += [f"{name}={value!r}" for name, value in provenance.knobs.items()]
    arguments += [f"seed={provenance.seed}"] + ["force=True"] * provenance.forced
    return f"import ftheta as ft\n\nresult = ft.check({', '.join(arguments)})"


def audit_command(audit: Audit) -> str:
    """The line that repeats an audit."""
    data = [f"--data {shlex.quote(audit.data)}"] if audit.data else []
    return " ".join(["ftheta audit", shlex.quote(audit.subject), *data, f"--seed {audit.seed}"])


def versions(found: Mapping[str, str]) -> str:
    """`ftheta 0.1.0, jax 0.10.2`."""
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else shlex.quote(f"{value}")
