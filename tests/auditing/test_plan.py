"""What an audit runs, in which order, and how it is chosen."""

from importlib import import_module
from inspect import getsource

import pytest

from ftheta.auditing.facts import FACTS, SHARED_BY
from ftheta.auditing.plan import SECTIONS, plan_tasks
from ftheta.catalogue import index
from ftheta.logic import UsageError
from ftheta.theorems import CHAPTERS


def test_every_theorem_about_networks_and_every_fact_is_planned_once():
    ids = [task.id for task in plan_tasks()]
    audited = {id for id, entry in index().items() if entry["audited"]}
    assert len(ids) == len(set(ids)) and set(ids) == audited | {f.id for f in FACTS}


def test_facts_come_first_and_sections_take_turns():
    tasks = plan_tasks()
    assert [t.is_fact for t in tasks] == sorted((t.is_fact for t in tasks), reverse=True)
    alone = [t for t in tasks if not t.is_fact and index()[t.id]["takes"] == ["Network"]]
    several = len({t.section for t in alone})
    assert len({t.section for t in alone[:several]}) == several
    assert all(t.section in SECTIONS for t in tasks)
    rest = [set(index()[t.id]["takes"]) <= {"Network", "Dataset"} for t in tasks if not t.is_fact][
        len(alone) :
    ]
    assert rest == sorted(rest, reverse=True) and {True, False} == set(rest)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_theorem_of_any_chapter_has_a_section(chapter, monkeypatch):
    entry = {
        "id": "new-theorem",
        "chapter": chapter,
        "module": "new",
        "audited": True,
        "takes": ["Network"],
    }
    monkeypatch.setattr("ftheta.auditing.plan.index", lambda: {"new-theorem": entry})
    assert plan_tasks(["new_theorem"])[0].section in SECTIONS


def test_only_and_skip_take_ids_chapters_and_sections():
    assert [t.id for t in plan_tasks(["lipschitz-bounds"])] == ["lipschitz-bounds"]
    assert {t.section for t in plan_tasks(["data,symmetry"])} == {"data", "symmetry"}
    chapter = {id for id, e in index().items() if e["audited"] and e["chapter"] == "piecewise"}
    assert {t.id for t in plan_tasks(["piecewise"])} == chapter
    assert not {t.id for t in plan_tasks(skip=["piecewise", "rays"])} & {*chapter, "rays"}


def test_an_unknown_word_suggests_the_nearest_and_nothing_left_is_an_error():
    with pytest.raises(UsageError, match="lipschitz-bounds"):
        plan_tasks(["lipschitz-bound"])
    with pytest.raises(UsageError, match="Nothing is left"):
        plan_tasks(["rays"], ["extrapolation"])


def test_facts_that_need_the_outputs_at_all_rows_are_left_to_the_process_that_has_them():
    for fact in FACTS:
        source = getsource(import_module(fact.module))
        evaluates = "evaluate_data(" in source or "evaluate_classes(" in source
        assert not evaluates or SHARED_BY.get(fact.id) == "outputs", fact.id
