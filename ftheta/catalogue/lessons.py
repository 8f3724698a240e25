"""The lesson of a theorem: what a reader wants beside the statement. One TOML file next to the theorem's own, read
where the index is made, so that every view has it from there."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Words = Annotated[str, Field(min_length=1, max_length=1200)]
MOST_PARTS = 8


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(_Strict):
    """One result of the statement. `claims` are the beginnings of the claims that check it, `charts` the titles of the
    pictures that show it, as the default run has them."""

    says: Words
    claims: tuple[Words, ...] = ()
    charts: tuple[Words, ...] = ()


class Trial(_Strict):
    """A state of the knobs, and what to look for in it."""

    look: Words
    preset: str = ""
    knobs: dict[str, bool | int | float | str] = {}


class Lesson(_Strict):
    """`why` one cares, the `parts` (a), (b), …, what the `symbols` mean, the `idea` of the proof, three `trials`, what
    `breaks` it, and where it `leads`: ids of theorems with a reason each."""

    why: Words
    parts: Annotated[tuple[Part, ...], Field(alias="part", min_length=1, max_length=MOST_PARTS)]
    symbols: Annotated[dict[str, Words], Field(min_length=1)]
    idea: Words
    trials: Annotated[tuple[Trial, ...], Field(alias="try", min_length=3, max_length=3)]
    breaks: Words
    leads: Annotated[dict[str, Words], Field(min_length=1)]


def place_of_lesson(chapters: Path, chapter: str, id: str) -> Path:
    """The file of a theorem's lesson, whether it is there or not."""
    return chapters / chapter / f"{id.replace('-', '_')}.toml"


def read_lesson(path: Path) -> dict[str, Any] | None:
    """A lesson as the index holds it; None where there is no such file. What is wrong with it is told with its path."""
    if not path.is_file():
        return None
    try:
        return Lesson.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).model_dump(
            mode="json"
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
