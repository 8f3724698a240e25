"""What a course is: sections of pages in the order of the slides, each section with an exercise whose answer runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ftheta.catalogue import entry_of, index, settings_of
from ftheta.logic import FthetaError, UsageError, Verdict, suggest
from ftheta.logic.knob import parse_knobs
from ftheta.theorems import CHAPTERS

MOST_QUOTED = 12  # words of a slide
Words = Annotated[str, Field(min_length=1, max_length=2000)]
Value = bool | int | float | str


class Mistake(ValueError):
    """An error of ours, in the form to which pydantic adds its place."""

    def __init__(self, error: FthetaError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def _place_errors() -> Iterator[None]:
    try:
        yield
    except FthetaError as error:
        raise Mistake(error) from error


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Run(_Strict):
    """A theorem with a setting of its knobs: those of a preset, or single ones, or both."""

    theorem: Words
    preset: str = ""
    knobs: dict[str, Value] = {}

    @field_validator("theorem")
    @classmethod
    def _is_in_the_catalogue(cls, id: str) -> str:
        with _place_errors():
            return entry_of(id)["id"]

    @model_validator(mode="after")
    def _has_such_knobs(self) -> Self:
        with _place_errors():
            presets = self.entry["presets"]
            if self.preset and self.preset not in presets:
                remedy = suggest(self.preset, presets, f"choose one of {', '.join(presets)}")
                raise UsageError(
                    f"{self.theorem} has no such preset.", got=self.preset, remedy=remedy
                )
            parse_knobs(settings_of(self.entry), self.knobs)
        return self

    @property
    def entry(self) -> dict[str, Any]:
        """What the index says of the theorem."""
        return entry_of(self.theorem)

    @property
    def all_knobs(self) -> dict[str, Value]:
        """The knobs of the preset and the single ones together."""
        return {**(self.entry["presets"][self.preset] if self.preset else {}), **self.knobs}


class Page(_Run):
    """A theorem in a course. `chart` is the title of the picture to see first, `look` what to see in it."""

    chart: str = ""
    look: str = ""
    quote: str = ""

    @field_validator("quote")
    @classmethod
    def _is_short(cls, words: str) -> str:
        return _short(words)


class Exercise(_Run):
    """A question, and its answer: words, and a run of a theorem that has this verdict and these numbers."""

    ask: Words
    answer: Words
    force: bool = False
    verdict: Verdict
    numbers: dict[str, float] = {}


class Section(_Strict):
    """Pages in the order of the slides; `chapters` adds the other theorems of those chapters that name the source."""

    title: Words
    quote: str = ""
    pages: tuple[Page, ...] = Field(default=(), alias="page")
    chapters: tuple[str, ...] = ()
    exercise: Exercise | None = None

    @field_validator("quote")
    @classmethod
    def _is_short(cls, words: str) -> str:
        return _short(words)

    @field_validator("chapters")
    @classmethod
    def _exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in CHAPTERS:
                remedy = suggest(name, CHAPTERS, f"choose one of {', '.join(CHAPTERS)}")
                raise Mistake(UsageError("Unknown chapter.", got=name, remedy=remedy))
        return names


class Course(_Strict):
    """A course; `source` is the key of its slides in the bibliography, where they are known there."""

    title: Words
    by: str = ""
    source: str = ""
    sections: Annotated[tuple[Section, ...], Field(alias="section", min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _add_chapters(cls, data: Any) -> Any:
        """Sections that name chapters have the other theorems of these as pages."""
        if not isinstance(data, dict) or not isinstance(data.get("section"), list):
            return data
        sections = [section for section in data["section"] if isinstance(section, dict)]
        listed = {
            page.get("theorem")
            for s in sections
            for page in s.get("page", ())
            if isinstance(page, dict)
        }
        return {
            **data,
            "section": [_with_chapters(s, data.get("source", ""), listed) for s in data["section"]],
        }

    @property
    def pages(self) -> Iterator[Page]:
        """All pages in order."""
        return (page for section in self.sections for page in section.pages)


def _with_chapters(section: Any, source: str, listed: set[Any]) -> Any:
    if not isinstance(section, dict) or not section.get("chapters"):
        return section
    others = [
        {"theorem": id}
        for id, entry in index().items()
        if entry["chapter"] in section["chapters"]
        and id not in listed
        and (not source or source in entry["sources"])
    ]
    return {**section, "page": [*section.get("page", ()), *others]}


def _short(words: str) -> str:
    if len(words.split()) > MOST_QUOTED:
        got = f"{len(words.split())} words"
        raise Mistake(
            UsageError(
                "A quotation is too long.", got=got, remedy=f"quote at most {MOST_QUOTED} words"
            )
        )
    return words
