"""The audit of one network: what is known of it, and every theorem that applies, within a budget."""

import os
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from time import monotonic
from typing import Any

from ftheta.logic import (
    Audit,
    AuditFinding,
    AuditProgress,
    Enclosure,
    FthetaError,
    Request,
    Result,
    Section,
    Skipped,
    SubjectError,
    Verdict,
)
from ftheta.processes import interrupts
from ftheta.processes.budgets import seconds_of
from ftheta.processes.resources import cores
from ftheta.running import ensure_seed
from ftheta.subjects import Network

from .budget import DEFAULT, Clock
from .inside import run_inside
from .judging import judge, sort_findings
from .learning_rate import ensure_learning_rate, hold_against
from .part import NETWORK, DataErrors, Part, Portrait, Setup
from .performing import Outcome, Progress
from .plan import SECTIONS, Task, plan_tasks
from .pool import CannotLoad, open_pool
from .subjects import Recipe, pickle_networks

MOST_WORKERS = 4  # each holds the network


def audit(
    model: Any,
    data: Any = None,
    *,
    budget: float | str | None = DEFAULT,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    seed: int = 0,
    labels: str | None = None,
    until: str | None = None,
    train: Any = None,
    role: str = "",
    trusted: bool = False,
    lr: float | None = None,
    workers: int | None = None,
    progress: Callable[[AuditProgress], None] = lambda progress: None,
    on_finding: Callable[[AuditFinding], None] = lambda finding: None,
    on_section: Callable[[Section], None] = lambda section: None,
) -> Audit:
    """Answer what one wants to know of a network: findings, worst first, and every theorem that they rest on.

    Parameters
    ----------
    model, data
        A `Network` and a `Dataset`, or anything `ftheta.load` turns into them.
    budget
        Seconds, or words like "2m"; None for as long as it takes. It counts from when the first worker has read the
        network, and neither kernels that are compiled (once for an installation) nor, on Linux, time in which the
        machine was busy with other processes. What was stopped or not begun is listed as skipped.
    only, skip
        Ids of theorems or facts, chapters, or sections.
    seed
        Of everything random. Results do not depend on the budget, but for what is missing.
    labels, until
        As for `ftheta.load`: where the labels of the data are, and the node of the file at which the network ends.
    train
        The data that it was trained on: for rows in both, a shift between both, and the gap of the accuracies.
    role
        What the network is in a generative model: generator, critic, decoder, score or velocity.
    trusted
        Whether onnxruntime, where it is installed, may run the file, to be held against what is read off it here.
    lr
        The learning rate it is trained with, to be held against the largest stable step.
    workers
        Processes: as many as there are cores, at most 4; with 0 everything runs in this process, which then can be
        stopped between theorems only.
    progress
        Is told how far it has come, about four times a second.
    on_finding
        Is told each finding as it comes.
    on_section
        Is told a section whenever a fact was added to it, with all that it has then.

    Ctrl-C returns what is done, with `interrupted` true.
    """
    begun = monotonic()
    limit = seconds_of(budget)
    tasks = plan_tasks(only, skip)
    ensure_seed(seed)
    recipe = (
        model
        if isinstance(model, Recipe)
        else Recipe(model, data, labels, until, train, role, trusted)
    )
    ensure_learning_rate(lr)
    run = Run(tasks, seed, limit, begun, progress, on_finding, on_section, lr=lr)
    (portrait,) = run.go((recipe,), workers)
    words = (_words(recipe.model), _words(recipe.data), recipe.labels or "", recipe.until or "")
    asked = Request(*words, tuple(only), tuple(skip), limit, _words(recipe.train), lr)
    return _audit(portrait, run, asked)


def not_begun(recipe: Recipe, options: Mapping[str, Any]) -> Audit:
    """The audit of a network that was to follow upon something that was interrupted; `options` are those of `audit`."""
    only = tuple(options.get("only", ()))
    skip = tuple(options.get("skip", ()))
    run = Run(
        plan_tasks(only, skip), options.get("seed", 0), None, monotonic(), lambda progress: None
    )
    run.interrupt()
    words = (_words(recipe.model), _words(recipe.data), recipe.labels or "", recipe.until or "")
    return _audit(_portray(recipe.network_or_rows), run, Request(*words, only, skip))


def _words(given: Any) -> str:
    return str(given) if isinstance(given, (str, os.PathLike)) else ""


@dataclass
class Run:
    """Tasks on their way to outcomes."""

    tasks: Sequence[Task]
    seed: int
    limit: float | None
    begun: float
    progress: Callable[[AuditProgress], None]
    on_finding: Callable[[AuditFinding], None] = lambda finding: None
    on_section: Callable[[Section], None] = lambda section: None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    interrupted: bool = False
    of_data: tuple[AuditFinding, ...] = ()  # that cannot be used
    lr: float | None = None

    def go(self, recipes: tuple[Recipe, ...], workers: int | None) -> tuple[Portrait, ...]:
        """Perform everything, in workers where that can be, and return what the networks are.

        Networks that are given in words are read by the workers alone, unless they cannot do it.
        """
        processes = (
            min(_cores() if workers is None else workers, len(self.tasks))
            if os.name == "posix"
            else 0
        )
        in_words = all(recipe.in_words for recipe in recipes)
        packed = pickle.dumps(recipes) if in_words else pickle_networks(_networks(recipes))
        portraits: tuple[Portrait, ...] = ()
        if processes and packed is not None:
            portraits = self._in_workers(packed, processes)
        if portraits and not self._rest:
            return portraits
        networks = _networks(recipes)
        self._judge_data(network.data_errors for network in networks)
        if self._rest:
            clock = Clock.of(self.limit, len(self.tasks), 1)
            try:
                run_inside(self._rest, networks, self.seed, clock, self._done, self._teller(clock))
            except KeyboardInterrupt:
                interrupts.heed()
                self.interrupt()
        return tuple(_portray(network) for network in networks)

    def _in_workers(self, packed: bytes, workers: int) -> tuple[Portrait, ...]:
        """Perform what the workers can; nothing is returned where they cannot say what the networks are."""
        clock = Clock.of(self.limit, len(self.tasks), workers)
        judge_data = lambda portraits: self._judge_data(
            portrait.data_errors for portrait in portraits
        )
        with open_pool(Setup(packed, self.seed), workers, judge_data) as opened:
            try:
                opened.run(self.tasks, clock, self._done, self._teller(clock))
            except KeyboardInterrupt:
                if not opened.portraits:  # nothing is known yet
                    raise
                interrupts.heed()
                self.interrupt()
            except CannotLoad as trouble:
                if isinstance(
                    trouble.__cause__, FthetaError
                ):  # the network cannot be read, here neither
                    raise trouble.__cause__ from None
        return opened.portraits

    def interrupt(self) -> None:
        """Ctrl-C ended the work: what is missing says so."""
        self.interrupted = True
        for task in self._rest:
            self._done(
                task, Skipped(task.id, "interrupted", "run the audit again", unfinished=True)
            )

    @property
    def _rest(self) -> list[Task]:
        return [task for task in self.tasks if task.id not in self.outcomes]

    def _done(self, task: Task, outcome: Outcome) -> None:
        if isinstance(outcome, Part) and self.lr is not None:
            outcome = hold_against(outcome, self.lr)
        self.outcomes[task.id] = outcome
        for finding in findings_of(outcome):
            self.on_finding(finding)
        if isinstance(outcome, Part) and task.section in SECTIONS:
            self.on_section(self._section(task.section))

    def _judge_data(self, errors: Iterable[DataErrors]) -> None:
        """Say which data of the networks cannot be used, once."""
        if self.of_data:
            return
        found = {
            error.says: error
            for few in errors
            for which in few
            for error in _judge_unusable(*which)
        }
        self.of_data = tuple(found.values())
        for finding in self.of_data:
            self.on_finding(finding)

    @property
    def findings(self) -> tuple[AuditFinding, ...]:
        """All of them, worst first."""
        found = (self.outcomes[task.id] for task in self.tasks if task.id in self.outcomes)
        return sort_findings(
            (*self.of_data, *(finding for outcome in found for finding in findings_of(outcome)))
        )

    def _teller(self, clock: Clock) -> Progress:
        def tell(now: Sequence[str]) -> None:
            self.progress(
                AuditProgress(
                    len(self.outcomes),
                    len(self.tasks),
                    clock.seconds_used,
                    clock.budget,
                    tuple(now),
                )
            )

        return tell

    def sections(self) -> tuple[Section, ...]:
        """What was found, section by section; empty ones are left out."""
        made = [self._section(id) for id in SECTIONS]
        return tuple(s for s in made if s.facts or s.tables or s.charts or s.theorems)

    def _section(self, id: str) -> Section:
        """A section with what was found so far."""
        here = [(task, self.outcomes.get(task.id)) for task in self.tasks if task.section == id]
        parts = [outcome for _, outcome in here if isinstance(outcome, Part)]
        theorems = tuple(task.id for task, outcome in here if isinstance(outcome, Result))
        return Section(id, SECTIONS[id], *_join_parts(parts), theorems)


def findings_of(outcome: Outcome) -> tuple[AuditFinding, ...]:
    """What a fact says, or a theorem that is refuted."""
    if isinstance(outcome, Part):
        return outcome.findings
    if isinstance(outcome, Result) and outcome.verdict is Verdict.REFUTED:
        says = f"A theorem is refuted on this network: {outcome.title}."
        return tuple(
            replace(f, theorem=outcome.id) for f in judge("refuted", Enclosure.exact(1), says)
        )
    return ()


def _judge_unusable(which: str, error: SubjectError) -> tuple[AuditFinding, ...]:
    """The finding that data or the network cannot be used: `which`, and what is wrong with them."""
    got = "" if error.got is None else f" ({error.got})"
    what = f"{error.what[:1].lower()}{error.what[1:]}".rstrip(".")
    says = f"The {which} cannot be used: {what}{got}."
    rule = "unusable-network" if which == NETWORK else "unusable-data"
    return judge(rule, Enclosure.exact(1), says, f"read off {error.where}", remedy=error.remedy)


def _networks(recipes: tuple[Recipe, ...]) -> tuple[Network, ...]:
    return tuple(recipe.network_or_rows for recipe in recipes)


def _join_parts(parts: Sequence[Part]) -> tuple[Any, Any, Any]:
    fields = ("facts", "tables", "charts")
    return tuple(tuple(item for part in parts for item in getattr(part, name)) for name in fields)  # type: ignore[return-value]


def _cores() -> int:
    return min(MOST_WORKERS, cores())


def _portray(network: Network) -> Portrait:
    from .describing import portray  # imports JAX

    return portray(network)


def _audit(portrait: Portrait, run: Run, asked: Request) -> Audit:
    sections = run.sections()
    order = [id for section in sections for id in section.theorems]
    outcomes = run.outcomes.values()
    return Audit(
        subject=portrait.name,
        kind=portrait.kind,
        hash=portrait.fingerprint,
        facts=portrait.facts,
        diagram=portrait.diagram,
        results=tuple(run.outcomes[id] for id in order),  # type: ignore[arg-type]
        skipped=tuple(outcome for outcome in outcomes if isinstance(outcome, Skipped)),
        seed=run.seed,
        date=date.today().isoformat(),
        version=version("ftheta"),
        data=portrait.data,
        sections=sections,
        asked=asked,
        seconds=monotonic() - run.begun,
        interrupted=run.interrupted,
        findings=run.findings,
    )
