"""What pages read at their start, in each language made once: the catalogue, the courses, the words of the page."""

from ftheta.languages import speaking
from ftheta.languages.catalogues import NAMES, words_of

from .contents import Contents, catalogue
from .courses import Courses


class PageData:
    """`course` is the name or the path of the course that the lab was started with; `classroom`: the lab is one for
    a class."""

    def __init__(self, course: str | None, classroom: bool) -> None:
        self.given = Courses(course)
        self.classroom = classroom
        self.kept: dict[tuple[str, str], Contents] = {}

    def catalogue(self, language: str) -> Contents:
        if ("catalogue", language) not in self.kept:
            with speaking(language):
                self.kept["catalogue", language] = Contents.of(catalogue(self.classroom))
        return self.kept["catalogue", language]

    def courses(self, language: str) -> Contents:
        if ("courses", language) not in self.kept:
            with speaking(language):
                self.kept["courses", language] = self.given.contents()
        return self.kept["courses", language]

    def words(self, language: str) -> Contents:
        """The words of the page by their English ones, and the languages that there are."""
        if ("words", language) not in self.kept:
            document = {
                "language": language,
                "languages": NAMES,
                "words": words_of(language, "lab"),
            }
            self.kept["words", language] = Contents.of(document)
        return self.kept["words", language]
