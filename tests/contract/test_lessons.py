"""Lessons: those that there are say what is so of their theorem, and no new theorem comes without one."""

from pathlib import Path

import pytest

from ftheta.catalogue import index, settings_of, theorems
from ftheta.lessons import read_lesson
from ftheta.logic import Theorem
from ftheta.logic.knob import parse_knobs

from .test_contract import default_result

WITHOUT = (Path(__file__).parent / "without_lesson.txt").read_text().split()
TAUGHT = [theorems()[id] for id, entry in index().items() if entry["lesson"]]
each_lesson = pytest.mark.parametrize("theorem", TAUGHT, ids=lambda t: t.id)


def test_the_list_of_theorems_without_a_lesson_only_becomes_shorter():
    missing = {id for id, entry in index().items() if not entry["lesson"]}
    assert missing <= set(WITHOUT), "write the lesson of a new theorem: CONTRIBUTING.md says how"
    assert not {theorem.id for theorem in TAUGHT} & set(WITHOUT), "take it from without_lesson.txt"


def test_every_lesson_belongs_to_a_theorem():
    folder = Path(__file__).parents[2] / "ftheta" / "theorems"
    named = {path.stem.replace("_", "-") for path in folder.glob("*/*.toml")}
    assert named == {theorem.id for theorem in TAUGHT}


@each_lesson
def test_every_claim_and_chart_belongs_to_a_part_of_the_statement(theorem: Theorem):
    result = default_result(theorem.id)
    parts = index()[theorem.id]["lesson"]["parts"]
    beginnings = [words for part in parts for words in part["claims"]]
    stated = [judged.claim.what for judged in result.claims]
    for what in stated:
        assert sum(what.startswith(words) for words in beginnings) == 1, f"name the part that “{what}” checks"
    assert all(any(what.startswith(words) for what in stated) for words in beginnings)
    titles = sorted(title for part in parts for title in part["charts"])
    assert titles == sorted(chart.title for chart in result.charts), "name each chart in one part"


@each_lesson
def test_what_a_lesson_asks_to_try_can_be_tried(theorem: Theorem):
    entry = index()[theorem.id]
    for trial in entry["lesson"]["trials"]:
        assert not trial["preset"] or trial["preset"] in entry["presets"]
        parse_knobs(settings_of(entry), trial["knobs"])
        assert trial["preset"] or trial["knobs"]
    assert set(entry["lesson"]["leads"]) <= index().keys() - {theorem.id}


def test_a_lesson_that_lacks_something_is_refused_with_its_file(tmp_path):
    path = tmp_path / "some_theorem.toml"
    assert read_lesson(path) is None
    path.write_text('why = "because"')
    with pytest.raises(ValueError, match=r"some_theorem\.toml.*"):
        read_lesson(path)
