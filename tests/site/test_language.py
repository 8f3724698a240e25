"""Generated pages in French: headings, titles and courses; without a language they are English."""

import pytest

from ftheta.languages import speaking
from website.contents import Contents
from website.course_page import course_page
from website.gallery import chapter_page
from website.theorem_page import theorem_page


@pytest.fixture(scope="module")
def contents():
    return Contents.of_package()


def no_run(_id):
    return None


def test_a_theorem_page_is_in_french(contents):
    entry = contents.theorems["runge"]
    english = theorem_page(entry, None, contents)
    with speaking("fr"):
        french = theorem_page(entry, None, contents)
    assert "# Le phénomène de Runge" in french and "## Énoncé" in french
    assert "# Runge's phenomenon" in english and "## Statement" in english


def test_chapters_and_courses_are_in_french(contents):
    with speaking("fr"):
        chapter = chapter_page("attention", contents, no_run)
        course = course_page("murari", contents.courses["murari"], no_run)
    assert "Les tokens sont des particules" in chapter
    assert "<summary>Réponse</summary>" in course
    assert "«\N{NO-BREAK SPACE}This optimisation process" in course  # a quotation stays as it is
