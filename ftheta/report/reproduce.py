"""The commands that give a result again."""

import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ftheta.logic import Request, Result
from ftheta.logic.result import Audit, Comparison

_NO_KNOBS: Mapping[str, Any] = MappingProxyType({})


def command(result: Result) -> str:
    """The line for the terminal."""
    provenance = result.provenance
    knobs = [
        f"--{name.replace('_', '-')} {write_word(value)}"
        for name, value in provenance.knobs.items()
    ]
    given = [f"--on {shlex.quote(provenance.given or provenance.subject)}"]
    option = "--with-data" if "data" in provenance.knobs else "--data"
    given += [f"{option} {shlex.quote(provenance.with_data)}"] if provenance.with_data else []
    given += [f"--against {shlex.quote(provenance.against)}"] if provenance.against else []
    subject = {"given": given, "breaker": ["--breaker"]}
    switches = [*subject.get(provenance.origin, []), *["--force"] * provenance.forced]
    return " ".join(["ftheta check", result.id, *knobs, f"--seed {provenance.seed}", *switches])


def snippet(result: Result) -> str:
    """The same in Python."""
    provenance = result.provenance
    given = [repr(provenance.given or provenance.subject)]
    given += [f"with_data={provenance.with_data!r}"] if provenance.with_data else []
    given += [f"against={provenance.against!r}"] if provenance.against else []
    subject = {"given": given, "breaker": ["breaker=True"]}
    arguments = [repr(result.id), *subject.get(provenance.origin, [])]
    arguments += [f"{name}={value!r}" for name, value in provenance.knobs.items()]
    arguments += [f"seed={provenance.seed}"] + ["force=True"] * provenance.forced
    return f"import ftheta as ft\n\nresult = ft.check({', '.join(arguments)})"


def audit_command(audit: Audit) -> str:
    """The line that repeats an audit."""
    return " ".join(["ftheta audit", *_audit_words(audit)])


def comparison_command(both: Comparison) -> str:
    """The line that repeats a comparison."""
    first, *rest = _audit_words(both.after)
    return " ".join(["ftheta audit", first, "--against", shlex.quote(_model(both.before)), *rest])


def audit_snippet(audit: Audit, against: Audit | None = None) -> str:
    """The same in Python."""
    asked = audit.asked
    given = [repr(_model(audit)), *([] if against is None else [repr(_model(against))])]
    given += [repr(asked.data or audit.data)] if audit.data else []
    given += [f"{name}={value!r}" for name, value in _data_options(asked) if value]
    given += [
        f"{name}={list(value)!r}"
        for name, value in (("only", asked.only), ("skip", asked.skip))
        if value
    ]
    given += [f"lr={asked.lr!r}"] if asked.lr else []
    given += [f"budget={asked.budget:g}"] if asked.budget else []
    called = ", ".join([*given, f"seed={audit.seed}"])
    if against is None:
        return f"import ftheta as ft\n\naudit = ft.audit({called})"
    return f"from ftheta.auditing import compare\n\nboth = compare({called})"


def _model(audit: Audit) -> str:
    return audit.asked.model or audit.subject


def _data_options(asked: Request) -> tuple[tuple[str, str], ...]:
    return ("labels", asked.labels), ("train", asked.train), ("until", asked.until)


def _audit_words(audit: Audit) -> list[str]:
    """The words behind `ftheta audit`."""
    asked = audit.asked
    options = [
        ("--data", asked.data or audit.data),
        *((f"--{name}", value) for name, value in _data_options(asked)),
    ]
    options += [("--only", ",".join(asked.only)), ("--skip", ",".join(asked.skip))]
    options += [("--lr", repr(asked.lr) if asked.lr else "")]
    options += [("--budget", f"{asked.budget:g}s" if asked.budget else "")]
    written = [f"{name} {shlex.quote(value)}" for name, value in options if value]
    return [shlex.quote(_model(audit)), *written, f"--seed {audit.seed}"]


def versions(found: Mapping[str, str]) -> str:
    """`ftheta 0.1.0, jax 0.10.2`."""
    return ", ".join(f"{name} {version}" for name, version in found.items())


def check_line(
    id: str, preset: str = "", knobs: Mapping[str, Any] = _NO_KNOBS, *, force: bool = False
) -> str:
    """The line for the terminal that runs a theorem with a preset, single knobs, or both."""
    chosen = [f"--preset {shlex.quote(preset)}"] if preset else []
    given = [f"--{name.replace('_', '-')} {write_word(value)}" for name, value in knobs.items()]
    return " ".join(["ftheta check", id, *chosen, *given, *["--force"] * force])


def check_call(
    id: str, preset: str = "", knobs: Mapping[str, Any] = _NO_KNOBS, *, force: bool = False
) -> str:
    """The same in Python."""
    chosen = [f"preset={preset!r}"] if preset else []
    given = [f"{name}={value!r}" for name, value in knobs.items()]
    return f"ft.check({', '.join([repr(id), *chosen, *given, *['force=True'] * force])})"


def write_word(value: object) -> str:
    """The value of a knob as one word of a command line."""
    return str(value).lower() if isinstance(value, bool) else shlex.quote(f"{value}")
