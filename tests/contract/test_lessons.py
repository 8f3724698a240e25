"""Lessons: every theorem has one, and it says what is so of its theorem."""

from pathlib import Path

import pytest

from ftheta.catalogue import index, settings_of, theorems
from ftheta.catalogue.lessons import read_lesson
from ftheta.logic import Theorem
from ftheta.logic.knob import parse_knobs

from .test_contract import default_result

each_theorem = pytest.mark.parametrize("theorem", list(theorems().values()), ids=lambda t: t.id)


@each_theorem
def test_every_theorem_has_a_lesson(theorem: Theorem):
    assert index()[theorem.id]["lesson"], "write it beside the theorem: CONTRIBUTING.md says how"


def test_every_lesson_belongs_to_a_theorem():
    folder = Path(__file__).parents[2] / "ftheta" / "theorems"
    named = {path.stem.replace("_", "-") for path in folder.glob("*/*.toml")}
    assert named == theorems().keys()


@each_theorem
def test_every_claim_and_chart_belongs_to_a_part_of_the_statement(theorem: Theorem):
    result = default_result(theorem.id)
    parts = index()[theorem.id]["lesson"]["parts"]
    beginnings = [words for part in parts for words in part["claims"]]
    stated = [judged.claim.what for judged in result.claims]
    for what in stated:
        assert sum(what.startswith(words) for words in beginnings) == 1, (
            f"name the part that “{what}” checks"
        )
    assert all(any(what.startswith(words) for what in stated) for words in beginnings)
    titles = sorted(title for part in parts for title in part["charts"])
    assert titles == sorted(chart.title for chart in result.charts), "name each chart in one part"


@each_theorem
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
