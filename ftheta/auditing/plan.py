"""What an audit runs, and in which order: what says most comes first.

1. Facts, the quick and the wanted ones first: they are few, and what a reader looks for.
2. Theorems about networks alone, one of each section in turn: first the hypotheses of them all (what does not apply
   is known soon, and costs the others no time), then those that apply.
3. Theorems about a network and data (bounds of its risk, what it does beyond them), likewise.
4. Theorems that also take a training run, a measure or a family, likewise: on a network they build such a problem
   first, which takes longer and says less about the network itself.

A theorem belongs to the section of its chapter, so that new theorems appear by themselves.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from ftheta.catalogue import index
from ftheta.logic import UsageError, suggest

from .facts import FACTS, SHARED_BY

SECTIONS = {  # questions, in the order of the report
    "what": "What is it?",
    "performance": "How good is it, and how sure?",
    "data": "Are the data fit?",
    "robustness": "How robust is it?",
    "capacity": "Is its capacity used?",
    "training": "Does it train well?",
    "generalisation": "Does it generalise?",
    "symmetry": "What does it respect?",
    "extrapolation": "What happens far away?",
    "kind": "What holds for its kind?",
}
_OF_CHAPTER = {
    "risk": "generalisation",
    "perceptrons": "what",
    "universality": "capacity",
    "piecewise": "capacity",
    "optimisation": "training",
    "gradients": "training",
    "equivariance": "symmetry",
    "width": "training",
    "generalisation": "generalisation",
    "robustness": "robustness",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A theorem or a fact: the function `name` of `module`."""

    id: str
    section: str
    module: str
    name: str
    words: tuple[str, ...]  # that choose it: its id, its chapter, its section
    is_fact: bool = False
    later: bool = False  # after the theorems about networks alone
    looking: bool = False  # a first look: the hypotheses alone
    shares: str = ""  # what its process evaluates for other tasks too


def plan_tasks(only: Iterable[str] = (), skip: Iterable[str] = ()) -> list[Task]:
    """The tasks in order; `only` and `skip` hold ids, chapters or sections."""
    tasks = [*_facts(), *_theorems()]
    wanted = _known_words(only, tasks)
    unwanted = _known_words(skip, tasks)
    chosen = [
        t for t in tasks if (not wanted or wanted & set(t.words)) and not unwanted & set(t.words)
    ]
    if not chosen:
        raise UsageError(
            "Nothing is left to be done.", got=f"only {sorted(wanted)}, without {sorted(unwanted)}"
        )
    return chosen


def _facts() -> list[Task]:
    return [
        Task(
            f.id,
            f.section,
            f.module,
            f.name,
            (f.id, f.section),
            is_fact=True,
            shares=SHARED_BY.get(f.id, ""),
        )
        for f in FACTS
    ]


def _theorems() -> list[Task]:
    entries = [entry for entry in index().values() if entry["audited"]]
    ranked = [
        [_theorem(e, later=rank > 0) for e in entries if _rank(e["takes"]) == rank]
        for rank in range(3)
    ]
    return [task for tasks in ranked for task in _interleave(tasks)]


def _rank(takes: list[str]) -> int:
    """How far from the network itself a theorem is."""
    return 0 if takes == ["Network"] else 1 if set(takes) == {"Network", "Dataset"} else 2


def _theorem(entry: dict[str, str], later: bool) -> Task:
    section = _OF_CHAPTER.get(entry["chapter"], "kind")
    name = entry["id"].replace("-", "_")
    return Task(
        entry["id"],
        section,
        entry["module"],
        name,
        (entry["id"], entry["chapter"], section),
        later=later,
    )


def _interleave(tasks: list[Task]) -> Iterator[Task]:
    """One of each section in turn."""
    rows = [[t for t in tasks if t.section == section] for section in SECTIONS]
    return (task for turn in zip_longest(*rows) for task in turn if task is not None)


def _known_words(words: Iterable[str], tasks: list[Task]) -> set[str]:
    """The words, which must choose something: `a,b` are two, `_` and `-` are the same."""
    parts = [part.strip().lower().replace("_", "-") for word in words for part in word.split(",")]
    known = {word for task in tasks for word in task.words}
    for part in filter(None, parts):
        if part not in known:
            remedy = suggest(part, known, f"sections: {', '.join(SECTIONS)}", most=3)
            raise UsageError(
                "This names nothing that an audit runs: no id, chapter or section.",
                got=part,
                remedy=remedy,
            )
    return set(filter(None, parts))
