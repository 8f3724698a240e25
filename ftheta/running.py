"""Hypotheses, then evidence, then verdict: the only place that orders them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from ftheta.lazy import double_precision
from ftheta.logic import (
    Adapter,
    Check,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Hypothesis,
    Judged,
    Provenance,
    Result,
    Status,
    SubjectError,
    Theorem,
    UsageError,
    suggest,
)
from ftheta.logic.evidence import NO_EVIDENCE
from ftheta.logic.hypotheses import named_knobs
from ftheta.logic.knob import Value, parse_knobs
from ftheta.logic.result import conclude
from ftheta.logic.verdict import Verdict
from ftheta.processes.linear_algebra import one_blas_thread
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
    examples: bool = True,
    assessment: "Assessment | None" = None,
    **knobs: Any,
) -> Result:
    """Check the hypotheses on the subject, gather the evidence and judge it.

    Without a subject the theorem runs on its built-in one, or with `breaker` on its negative control. When
    a hypothesis fails, the evidence is gathered only with `force`. Without `examples` the theorem's illustrations on
    other things than the subject are left out. An `assessment` of the same theorem on the same subject takes the place
    of its hypotheses' evaluation.
    """
    started = time.perf_counter()
    ensure_seed(seed)
    breaking = theorem.breaking_knobs if breaker else {}
    values = parse_knobs(theorem.settings, {**_preset(theorem, preset), **breaking, **knobs})
    with one_blas_thread(), double_precision(), np.errstate(all="ignore"):
        origin = "given" if subject is not None else "breaker" if breaker else "built-in"
        if subject is not None:
            _accept(theorem, subject, knobs)
        chosen: Any = _built_in(theorem, seed, breaker, values) if subject is None else subject
        fingerprint = chosen.fingerprint
        chosen = _as_taken(theorem, chosen)
        findings = _findings(theorem, chosen, values) if assessment is None else assessment.findings
        evidence = NO_EVIDENCE
        if force or not _any_failed(findings):
            rng = np.random.default_rng([seed, 1])
            with _readable_errors(chosen.name, forced=_any_failed(findings)):
                evidence = theorem.measure(
                    _adapt(theorem, chosen), rng, **named_knobs(theorem.measure, values)
                )
        illustrated = (
            evidence.examples() if examples and evidence.examples is not None else Examples()
        )
    provenance = Provenance(
        versions=dict(_versions()),
        seed=seed,
        knobs=_used_knobs(theorem, values, origin),
        subject=chosen.name,
        subject_kind=type(chosen).__name__,
        subject_hash=fingerprint,
        forced=force,
        wall_seconds=time.perf_counter()
        - started
        + (0.0 if assessment is None else assessment.seconds),
        origin=origin,
    )
    asked = tuple(zip(theorem.list_hypotheses(chosen), findings, strict=True))
    return _result(theorem, asked, evidence, illustrated, provenance)


@contextmanager
def _readable_errors(name: str, *, forced: bool = False) -> Iterator[None]:
    """Numbers that overflow end linear algebra, and the way of rationals to float64. A run that is `forced` although a
    hypothesis fails may end anywhere, since what it computes may need that hypothesis. All is said of the subject."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise SubjectError(
            "Linear algebra in float64 comes to no end on this subject.",
            where=name,
            got=str(error),
            remedy="scale it: its numbers are too large or too small, or no numbers",
        ) from error
    except OverflowError as error:  # of rationals, which have no bounds, on their way to float64
        raise SubjectError(
            "Numbers that this run comes to are beyond those of float64.",
            where=name,
            got=str(error),
            remedy="scale it: its numbers are too large",
        ) from error
    except Exception as error:
        if not forced or isinstance(error, FthetaError):
            raise
        raise SubjectError(
            "The run was forced, and cannot be carried out where a hypothesis fails.",
            where=name,
            got=f"{type(error).__name__}: {error}",
            remedy="leave out --force to see which one, and meet it",
        ) from error


@dataclass(frozen=True, slots=True)
class Assessment:
    """What was found of the hypotheses of a theorem on a subject, with its usual knobs; `run` takes it from there."""

    findings: tuple[Finding, ...]
    seconds: float

    @property
    def applies(self) -> bool:
        """Whether no hypothesis fails."""
        return not _any_failed(self.findings)


def assess(theorem: Theorem, subject: Subject) -> Assessment:
    """Evaluate the hypotheses alone."""
    started = time.perf_counter()
    with one_blas_thread(), double_precision(), np.errstate(all="ignore"):
        _accept(theorem, subject, {})
        findings = _findings(
            theorem, _as_taken(theorem, subject), parse_knobs(theorem.settings, {})
        )
    return Assessment(findings, time.perf_counter() - started)


def _as_taken(theorem: Theorem, subject: Any) -> Any:
    """The subject as the theorem speaks of it: without the scaling of the inputs where it is about parameters."""
    return (
        subject.behind_scaling().with_zero_biases()
        if theorem.of_parameters and isinstance(subject, Network)
        else subject
    )


def _adapt(theorem: Theorem, subject: Any) -> Any:
    """The subject as one of the kind that the theorem is about."""
    adapter = theorem.find_adapter(subject)
    return subject if adapter is None else _apply_adapter(adapter, subject)


@lru_cache(
    maxsize=4
)  # hypotheses and evidence are about the same subject, and may remember what they found of it
def _apply_adapter(adapter: Adapter, subject: Any) -> Any:
    return adapter.adapt(subject)


def _findings(theorem: Theorem, subject: Any, values: Mapping[str, Value]) -> tuple[Finding, ...]:
    adapter = theorem.find_adapter(subject)
    first: tuple[Finding, ...] = ()
    if adapter is not None and adapter.needs is not None:
        first = (adapter.needs(subject, values),)
        if _any_failed(first):
            return (*first, *(Finding.undecided(adapter.needs.name) for _ in theorem.assumes))
    adapted = _adapt(theorem, subject)
    with _readable_errors(subject.name):
        return (*first, *(hypothesis(adapted, values) for hypothesis in theorem.assumes))


def _any_failed(findings: Sequence[Finding]) -> bool:
    return any(f.status is Status.FAILED for f in findings)


def ensure_seed(seed: int) -> None:
    """A seed is from 0 to 2⁶³ − 1: it is printed and stored."""
    if not 0 <= seed <= MOST_SEED:
        got = seed if abs(seed) <= MOST_SEED else "a number of more than 63 bits"
        raise UsageError(
            "A seed is a whole number, 0 or above, of at most 63 bits.", got=got, remedy="--seed 0"
        )


def _preset(theorem: Theorem, name: str | None) -> Mapping[str, Value]:
    if name is None:
        return {}
    if name not in theorem.presets:
        remedy = suggest(name, theorem.presets, f"choose one of {', '.join(theorem.presets)}")
        raise UsageError("Unknown preset.", got=name, remedy=remedy)
    return theorem.presets[name]


def _built_in(theorem: Theorem, seed: int, breaker: bool, values: Mapping[str, Value]) -> Any:
    if breaker and theorem.breaks_on is None:
        raise UsageError(f"`{theorem.id}` has no negative control.", remedy=theorem.unbreakable)
    make = theorem.breaks_on if breaker and callable(theorem.breaks_on) else theorem.on
    return make(np.random.default_rng([seed, 0]), **named_knobs(make, values))


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


def _used_knobs(theorem: Theorem, values: Mapping[str, Value], origin: str) -> dict[str, Value]:
    """The knobs that shaped this run: those of the built-in subject had no part in one on a subject handed in."""
    idle = theorem.subject_settings if origin == "given" else frozenset()
    return {name: value for name, value in values.items() if name not in idle}


Asked = tuple[tuple[Hypothesis, Finding], ...]
"""Hypotheses, and what was found of each."""


def _result(
    theorem: Theorem, asked: Asked, evidence: Evidence, examples: Examples, provenance: Provenance
) -> Result:
    claims = _judge(evidence.claims)
    verdict = conclude([finding for _, finding in asked], [j.judgement for j in claims])
    return Result(
        id=theorem.id,
        chapter=theorem.chapter,
        title=theorem.title,
        statement=theorem.statement,
        sources=theorem.sources,
        errata=theorem.errata,
        verdict=verdict,
        vacuous=any(j.judgement.vacuous for j in claims),
        summary=evidence.summary or _failure(asked, verdict),
        checks=tuple(Check(h.name, h.says, h.remedy, f) for h, f in asked),
        claims=claims,
        as_printed=_judge(evidence.as_printed),
        numbers=cast(dict[str, Enclosure], dict(evidence.numbers)),
        tables=(*evidence.tables, *examples.tables),
        charts=(*evidence.charts, *examples.charts),
        provenance=provenance,
        examples=_judge(examples.claims),
        example_numbers=cast(dict[str, Enclosure], dict(examples.numbers)),
        gist=theorem.gist,
        see_also=theorem.see_also,
    )


def _judge(claims: tuple[Claim, ...]) -> tuple[Judged, ...]:
    return tuple(Judged(claim, claim.judge()) for claim in claims)


def _failure(asked: Asked, verdict: Verdict) -> str:
    if verdict is not Verdict.INAPPLICABLE:
        return ""
    return "; ".join(
        f"{h.name}: {f.note}" for h, f in asked if f.status is Status.FAILED and not f.awaits
    )


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
