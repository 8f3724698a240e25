"""The courses: what they hold, what they refuse, and that their exercises have the answers that they state."""

import json
import re
import sys

import pytest

from ftheta.catalogue import index
from ftheta.catalogue.bibliography import references
from ftheta.checking import check
from ftheta.cli import run
from ftheta.courses import NAMES, Course, Exercise, built_in_courses, course, read_course
from ftheta.courses.answers import differences
from ftheta.logic import FthetaError, SubjectError, UsageError

OWN = """
title = "My course"

[[section]]
title = "First"
quote = "a few words"

[[section.page]]
theorem = "hat-function"
look = "Two neurons are not enough."

[[section.page]]
theorem = "gd-strongly-convex"
preset = "ill-conditioned"
knobs = { steps = 50 }

[section.exercise]
ask = "How many neurons?"
answer = "Three."
theorem = "hat-function"
verdict = "proved"
numbers = { "hidden neurons" = 3 }
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_course_has_the_theorems_whose_sources_name_it(name):
    found = built_in_courses()[name]
    ids = [page.theorem for page in found.pages]
    assert found.source in references()
    assert sorted(ids) == sorted(
        id for id, entry in index().items() if found.source in entry["sources"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_section_has_a_quotation_and_an_exercise(name):
    for section in built_in_courses()[name].sections:
        assert section.quote and section.exercise is not None and section.pages, section.title


def _answers():
    for name in NAMES:
        for k, section in enumerate(built_in_courses()[name].sections, 1):
            marks = () if name == "gribonval" else pytest.mark.nightly
            yield pytest.param(section.exercise, id=f"{name}-{k}", marks=marks)


@pytest.mark.parametrize("exercise", list(_answers()))
def test_the_answer_of_an_exercise_is_what_its_run_gives(exercise: Exercise):
    result = check(
        exercise.theorem, preset=exercise.preset or None, force=exercise.force, **exercise.knobs
    )
    assert not differences(exercise, result)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_every_chart_that_a_page_names_is_drawn_by_its_theorem(name):
    for page in built_in_courses()[name].pages:
        if page.chart:
            drawn = check(page.theorem, preset=page.preset or None, **page.knobs).charts
            assert page.chart in [chart.title for chart in drawn], page.theorem


def test_a_wrong_answer_is_told(own):
    exercise = read_course(own).sections[0].exercise
    assert exercise is not None
    result = check("hat-function", preset="broken on purpose")
    told = differences(exercise, result)
    assert "the verdict is inapplicable, stated: proved" in told and any(
        "hidden neurons" in words for words in told
    )
    wrong = exercise.model_copy(update={"numbers": {"hidden neurons": 4.0}})
    assert differences(wrong, check("hat-function")) == ["hidden neurons is 3, stated: 4"]


def test_a_course_of_ones_own_is_read_from_its_file(own):
    found = course(str(own))
    assert found.title == "My course" and [page.theorem for page in found.pages] == [
        "hat-function",
        "gd-strongly-convex",
    ]
    assert list(found.pages)[1].all_knobs == {"kappa": 1000.0, "steps": 50}


def test_a_section_may_take_the_rest_of_a_chapter():
    data = {
        "title": "All",
        "section": [{"title": "Risk", "chapters": ["risk"], "page": [{"theorem": "loss-zoo"}]}],
    }
    ids = [page.theorem for page in Course.model_validate(data).pages]
    assert ids[0] == "loss-zoo" and sorted(ids) == sorted(
        i for i, e in index().items() if e["chapter"] == "risk"
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (
            'theorem = "gd-strongly-convex"',
            'theorem = "gd-strongly-konvex"',
            13,
            "did you mean gd-strongly-convex",
        ),
        ('preset = "ill-conditioned"', 'preset = "ill"', 12, "ill-conditioned"),
        ("steps = 50", "stepz = 50", 12, "--steps"),
        ('quote = "a few words"', f'quote = "{"word " * 13}"', 6, "at most 12 words"),
        ('verdict = "proved"', 'verdict = "true"', 21, "proved"),
        ('look = "Two', 'loook = "Two', 10, "Extra inputs are not permitted"),
        ('title = "My course"', 'title = ""', 2, "at least 1 character"),
        ('answer = "Three."', "", 17, "Field required"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(own, old, new, line, words):
    own.write_text(OWN.replace(old, new), encoding="utf-8")
    with pytest.raises(SubjectError) as told:
        read_course(own)
    assert f"my.toml, line {line} " in told.value.where and words in str(told.value)


@pytest.mark.parametrize(
    "content",
    [b"title = ", b"\xff\xfe", b"# " + b"x" * (1 << 20), b"", b"title = 'x'\nsection = 3"],
)
def test_a_file_that_is_no_course_is_refused(own, content):
    own.write_bytes(content)
    with pytest.raises(FthetaError, match=re.escape(str(own))):
        read_course(own)


def test_an_unknown_course_suggests_the_nearest():
    with pytest.raises(UsageError, match="murari"):
        course("murary")
    with pytest.raises(SubjectError, match="no such file"):
        course("nowhere.toml")


def test_the_command_lists_walks_and_prints(own, tmp_path, capsys):
    assert run(["course", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(NAMES)
    assert run(["course", str(own), "--answers"]) == 0
    walked = capsys.readouterr().out
    assert (
        "1. First" in walked
        and "hidden neurons = 3" in walked
        and "--preset ill-conditioned --steps 50" in walked
    )
    assert run(["course", str(own), "2"]) == 2
    assert run(["course", "murari", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["sections"][2]["exercise"]["python"] == "ft.check('gd-strongly-convex', kappa=100)"
    )
    page = tmp_path / "out.html"
    assert run(["course", "murari", "--print", str(page)]) == 0
    written = page.read_text(encoding="utf-8")
    assert (
        written.count("<article") == len(list(built_in_courses()["murari"].pages))
        and "<script" not in written
    )
    assert run(["course", "murari", "--print", "out.txt"]) == 2


BROWSERS = {
    "prints": "print('%PDF', end='', file=open(to, 'w')); assert '<article' in open(page).read()",
    "fails": "sys.exit('no display')",
}


def browser(folder, does: str) -> str:
    """A program in place of Chromium."""
    made = folder / does
    options = "to = next(w for w in sys.argv if '--print-to-pdf=' in w).split('=', 1)[1]"
    page = "page = sys.argv[-1].removeprefix('file://')"
    made.write_text(f"#!{sys.executable}\nimport sys\n{options}\n{page}\n{BROWSERS[does]}\n")
    made.chmod(0o755)
    return str(made)


def test_a_handout_is_printed_by_a_browser_and_without_one_it_is_said_what_to_do(
    own, tmp_path, capsys, monkeypatch
):
    made = tmp_path / "out.pdf"
    monkeypatch.setenv("CHROMIUM", browser(tmp_path, "prints"))
    assert run(["course", str(own), "--print", str(made)]) == 0
    assert made.read_text() == "%PDF"
    made.unlink()
    monkeypatch.setenv("CHROMIUM", browser(tmp_path, "fails"))
    assert run(["course", str(own), "--print", str(made)]) != 0
    assert "no display" in capsys.readouterr().err and not made.exists()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["course", str(own), "--print", str(made)]) == 2
    assert "name the file .html" in capsys.readouterr().err


def test_errata_are_shown_in_the_courses_that_they_are_about(capsys):
    assert run(["course", "murari", "2"]) == 0
    assert "Murari's slides print" in capsys.readouterr().out
    assert run(["course", "gribonval", "7"]) == 0
    assert "Murari" not in capsys.readouterr().out
