"""The courses as the lab serves them."""

import json

from ftheta.cli import run
from ftheta.courses import NAMES
from ftheta.lab.courses import Courses, name_of
from ftheta.lab.guard import Door
from ftheta.lab.serve import address_of

from .clients import Site
from .test_contents import assert_safe

OWN = """
title = "<b>Mine</b>"
[[section]]
title = "One"
[[section.page]]
theorem = "hat-function"
look = "<script>alert(1)</script> and $x<1$"
"""


def test_the_courses_are_served_and_kept_by_the_browser(site: Site):
    answer = site.ask("GET", "/api/courses")
    assert answer.status == 200 and [course["name"] for course in answer.json] == list(NAMES)
    etag = answer.headers["etag"]
    assert site.ask("GET", "/api/courses", **{"If-None-Match": etag}).status == 304


def test_a_course_of_ones_own_is_served_beside_the_others_and_cannot_smuggle_html(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(OWN, encoding="utf-8")
    shown = json.loads(Courses(str(path)).contents().plain)
    assert [course["name"] for course in shown] == [*NAMES, "my"]
    assert_safe(shown[-1]["sections"][0]["pages"][0]["look"])


def test_every_html_of_the_courses_is_words_and_formulas():
    for course in json.loads(Courses().contents().plain):
        for section in course["sections"]:
            assert_safe(section["exercise"]["ask"])
            assert_safe(section["exercise"]["answer"])
            for page in section["pages"]:
                assert_safe(page["look"])


def test_the_address_leads_to_the_course():
    door = Door("127.0.0.1", 8417, "Sesame-open")
    assert address_of(door, None, course="murari").endswith("#/courses/murari")
    assert address_of(door, "adam", course="murari").endswith("#/adam")
    assert name_of("./folder/my course.toml") == "my course"


def test_a_mistake_in_a_course_is_told_before_anything_is_served(tmp_path, capsys):
    assert run(["lab", "--course", "murary", "--no-browser", "--port", "0"]) == 2
    assert "did you mean murari" in capsys.readouterr().err
    path = tmp_path / "my.toml"
    path.write_text(OWN.replace("hat-function", "hat-funktion"), encoding="utf-8")
    assert run(["lab", "--course", str(path), "--no-browser", "--port", "0"]) == 4
    assert "line 6" in capsys.readouterr().err
