"""Hypotheses, then evidence, then verdict: the only place that orders them."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, cast

import jax
import numpy as np

from ftheta.logic import Check, Enclosure, Evidence, Finding, Judged, Provenance, Result, Status, Theorem, UsageError
from ftheta.logic.hypothesis import named
from ftheta.logic.knob import Value, parse_knobs
from ftheta.logic.result import conclude
from ftheta.logic.verdict import Verdict
from ftheta.subjects import Network, Subject

_RECORDED = ("ftheta", "jax", "jaxlib", "numpy", "scipy")


MOST_SEED = (1 << 63) - 1


def run(
    theorem: Theorem,
    subject: Subject | None = None,
    *,
    seed: int = 0,
    force: bool = False,
    breaker: bool = False,
    preset: str | None = None,
    **knobs: Any,
) -> Result:
    """Check the hypotheses on the subject, gather the evidence and judge it.

    Without a subject the theorem runs on its built-in one, or with `breaker` on its negative control. When
    a hypothesis fails, the evidence is gathered only with `force`.
    """
    started = time.perf_counter()
    ensure_seed(seed)
    values = parse_knobs(theorem.settings, {**_preset(theorem, preset), **knobs})
    with jax.enable_x64(True), np.errstate(all="ignore"):
        origin = "given" if subject is not None else "breaker" if breaker else "built-in"
        if subject is not None:
            _accept(theorem, subject, knobs)
        chosen: Any = _built_in(theorem, seed, breaker, values) if subject is None else subject
        fingerprint = chosen.fingerprint
        if theorem.of_parameters and isinstance(chosen, Network):
            chosen = chosen.behind_scaling()
        findings = [h(chosen, values) for h in theorem.assumes]
        failed = any(f.status is Status.FAILED for f in findings)
        evidence = Evidence(claims=())
        if force or not failed:
            rng = np.random.default_rng([seed, 1])
            evidence = theorem.measure(chosen, rng, **named(theorem.measure, values))
    provenance = Provenance(
        versions=dict(_versions()),
        seed=seed,
        knobs=_used(theorem, values, origin),
        subject=chosen.name,
        subject_kind=type(chosen).__name__,
        subject_hash=fingerprint,
        forced=force,
        wall_seconds=time.perf_counter() - started,
        origin=origin,
    )
    return _result(theorem, findings, evidence, provenance)


def unmet(theorem: Theorem, subject: Subject, *, seed: int = 0) -> Result | None:
    """The result of `run` where a hypothesis fails, None where all are met: a look before the evidence is gathered."""

    @wraps(theorem.measure)  # the knobs are read off the signature
    def nothing(*_: Any, **knobs: Any) -> Evidence:
        return Evidence(claims=())

    looked = run(replace(theorem, measure=nothing), subject, seed=seed)
    return looked if looked.verdict is Verdict.INAPPLICABLE else None


def ensure_seed(seed: int) -> None:
    """A seed is from 0 to 2⁶³ − 1: it is printed and stored."""
    if not 0 <= seed <= MOST_SEED:
        got = seed if abs(seed) <= MOST_SEED else "a number of more than 63 bits"
        raise UsageError("A seed is a whole number, 0 or above, of at most 63 bits.", got=got, remedy="--seed 0")


def _preset(theorem: Theorem, name: str | None) -> Mapping[str, Value]:
    if name is None:
        return {}
    if name not in theorem.presets:
        raise UsageError("Unknown preset.", got=name, remedy=f"choose one of {', '.join(theorem.presets)}")
    return theorem.presets[name]


def _built_in(theorem: Theorem, seed: int, breaker: bool, values: Mapping[str, Value]) -> Any:
    if breaker and theorem.breaks_on is None:
        raise UsageError(f"`{theorem.id}` has no negative control.", remedy=theorem.unbreakable)
    make = theorem.breaks_on if breaker and theorem.breaks_on is not None else theorem.on
    return make(np.random.default_rng([seed, 0]), **named(make, values))


def _accept(theorem: Theorem, subject: Any, knobs: Mapping[str, Any]) -> None:
    if not isinstance(subject, theorem.takes):
        kinds = " or ".join(t.__name__ for t in theorem.takes)
        raise UsageError(f"`{theorem.id}` is about a {kinds}.", got=f"a {type(subject).__name__}")
    idle = theorem.subject_settings & {name.replace("-", "_") for name in knobs}
    if idle:
        raise UsageError(
            f"The knobs {', '.join(sorted(idle))} shape the built-in subject only.",
            remedy="leave them out when a subject is handed in",
        )


def _used(theorem: Theorem, values: Mapping[str, Value], origin: str) -> dict[str, Value]:
    """The knobs that shaped this run: those of the built-in subject had no part in one on a subject handed in."""
    idle = theorem.subject_settings if origin == "given" else frozenset()
    return {name: value for name, value in values.items() if name not in idle}


def _result(theorem: Theorem, findings: list[Finding], evidence: Evidence, provenance: Provenance) -> Result:
    claims = tuple(Judged(c, c.judge()) for c in evidence.claims)
    verdict = conclude(findings, [j.judgement for j in claims])
    return Result(
        id=theorem.id,
        chapter=theorem.chapter,
        title=theorem.title,
        statement=theorem.statement,
        sources=theorem.sources,
        errata=theorem.errata,
        verdict=verdict,
        vacuous=any(j.judgement.vacuous for j in claims),
        summary=evidence.summary or _failure(theorem, findings, verdict),
        checks=tuple(Check(h.name, h.says, h.remedy, f) for h, f in zip(theorem.assumes, findings)),
        claims=claims,
        as_printed=tuple(Judged(c, c.judge()) for c in evidence.as_printed),
        numbers=cast(dict[str, Enclosure], dict(evidence.numbers)),
        tables=evidence.tables,
        charts=evidence.charts,
        provenance=provenance,
    )


def _failure(theorem: Theorem, findings: list[Finding], verdict: Verdict) -> str:
    if verdict is not Verdict.INAPPLICABLE:
        return ""
    notes = [f"{h.name}: {f.note}" for h, f in zip(theorem.assumes, findings) if f.status is Status.FAILED]
    return "; ".join(notes)


@cache
def _versions() -> Mapping[str, str]:
    """Read once: to find the installed versions takes longer than many a theorem."""
    found = {}
    for package in _RECORDED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return MappingProxyType(found)
