"""A theorem: a statement, what it asks, what it runs on, and the function that gathers its evidence."""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union, get_args, get_origin, get_type_hints

from .adapter import Adapter
from .evidence import Evidence
from .hypotheses import Hypothesis
from .knob import Setting, Value, settings_of


@dataclass(frozen=True, slots=True)
class Theorem:
    """What the decorator returns. `measure(subject, rng, **knobs)` gathers evidence and passes no judgement."""

    id: str
    chapter: str
    title: str
    statement: str
    sources: tuple[str, ...]
    assumes: tuple[Hypothesis, ...]
    on: Callable[..., Any]
    breaks_on: Callable[..., Any] | str | None
    unbreakable: str
    presets: Mapping[str, Mapping[str, Value]]
    errata: str
    gist: str
    see_also: tuple[str, ...]
    same_for_all: Mapping[str, str]
    settings: tuple[Setting, ...]
    takes: tuple[type, ...]
    audited: bool
    of_parameters: bool
    adapters: tuple[Adapter, ...]
    measure: Callable[..., Evidence] = field(repr=False)

    def find_adapter(self, subject: Any) -> Adapter | None:
        """What reads the subject as one that the theorem is about; None where it is one already."""
        return next(
            (adapter for adapter in self.adapters if isinstance(subject, adapter.takes)), None
        )

    def list_hypotheses(self, subject: Any) -> tuple[Hypothesis, ...]:
        """What is asked of this subject: what its adapter needs, then the hypotheses of the theorem."""
        adapter = self.find_adapter(subject)
        return (
            self.assumes
            if adapter is None or adapter.needs is None
            else (adapter.needs, *self.assumes)
        )

    @property
    def breaking_knobs(self) -> Mapping[str, Value]:
        """The knobs of the negative control; none where it is a subject."""
        return self.presets[self.breaks_on] if isinstance(self.breaks_on, str) else {}

    @property
    def subject_settings(self) -> frozenset[str]:
        """Knobs that only shape the built-in subject and mean nothing for a subject handed in."""
        own = {s.name for s in settings_of(self.measure)}
        return frozenset(s.name for s in self.settings if s.name not in own)


def theorem(
    *,
    title: str,
    sources: tuple[str, ...],
    on: Callable[..., Any],
    assumes: tuple[Hypothesis, ...] = (),
    breaks_on: Callable[..., Any] | str | None = None,
    unbreakable: str = "",
    presets: Mapping[str, Mapping[str, Value]] | None = None,
    errata: str = "",
    gist: str = "",
    see_also: tuple[str, ...] = (),
    same_for_all: Mapping[str, str] | None = None,
    audited: bool = True,
    of_parameters: bool = False,
    adapters: tuple[Adapter, ...] = (),
) -> Callable[[Callable[..., Evidence]], Theorem]:
    r"""Make a theorem of `measure(subject, rng, *, knobs...) -> Evidence`.

    The function's name gives the id, its docstring the statement (LaTeX between `$`), its keyword-only
    arguments and those of `on` the knobs, the annotation of its first argument the subjects it takes.

    - `sources`: keys of references.bib, or of the courses in `bibliography`.
    - `on(rng, *, knobs...)` makes the built-in subject; `breaks_on` likewise the negative control, on which
      a hypothesis fails and, when forced, a claim is refuted; where knobs break it and no subject does, it is
      the name of a preset. `unbreakable` says why if there is none that can be refuted.
    - `presets`: name -> knobs.
    - `errata`: errors in the sources.
    - `gist`: one sentence without formulas: what it says and why one cares.
    - `see_also`: ids of theorems a reader may want next.
    - `same_for_all`: how a claim begins that may have the same text and numbers on different subjects -> why it may.
    - `audited`: a theorem that takes a Network is part of every audit, unless it is about one network in particular.
    - `of_parameters`: it reads the parameters off the list of layers, and not the function alone. A network whose
      inputs are scaled first is then handed over as the layers that were trained, with scaled data.
    - `adapters`: how subjects of other kinds are read as one of the kind that the theorem is about.
    """

    def wrap(measure: Callable[..., Evidence]) -> Theorem:
        return Theorem(
            id=measure.__name__.replace("_", "-"),
            chapter=_chapter(measure.__module__),
            title=title,
            statement=inspect.cleandoc(measure.__doc__ or ""),
            sources=sources,
            assumes=assumes,
            on=on,
            breaks_on=breaks_on,
            unbreakable=unbreakable,
            presets=dict(presets or {"textbook": {}}),
            errata=inspect.cleandoc(errata),
            gist=gist,
            see_also=see_also,
            same_for_all=dict(same_for_all or {}),
            settings=settings_of(measure, on),
            takes=(*_subject_types(measure), *(adapter.takes for adapter in adapters)),
            audited=audited,
            of_parameters=of_parameters,
            adapters=adapters,
            measure=measure,
        )

    return wrap


def _chapter(module: str) -> str:
    """`ftheta.theorems.<chapter>.<theorem>` names the chapter; another package is one of its own."""
    parts = module.split(".")
    if parts[:2] == ["ftheta", "theorems"]:
        return parts[2]
    return "" if parts[0] == "__main__" else parts[0]


def _subject_types(measure: Callable[..., Evidence]) -> tuple[type, ...]:
    first = next(iter(inspect.signature(measure).parameters))
    hint = get_type_hints(measure)[first]
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
