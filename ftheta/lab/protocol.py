"""What a page may say, checked before anything is done with it."""

import json
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
)

from ftheta.languages import ENGLISH, KNOWN
from ftheta.logic import FthetaError, UsageError

BUILT_IN = "built-in"
BREAKER = "breaker"
LONGEST_MESSAGE = 64 << 10

_Number: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=(1 << 53) - 1)]
_Word: TypeAlias = Annotated[str, Field(strict=True, max_length=200)]
_Language: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(KNOWN)})$")]
_Value: TypeAlias = StrictBool | StrictInt | StrictFloat | _Word


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class State(_Strict):
    """All that a result depends on, and what the address of a page holds; `chart` is the one in front, `lang` the
    language of the words around it."""

    theorem: _Word
    subject: _Word = BUILT_IN
    preset: _Word | None = None
    knobs: Annotated[dict[_Word, _Value], Field(max_length=64)] = Field(default_factory=dict)
    seed: _Number = 0
    force: StrictBool = False
    dark: StrictBool = False
    chart: _Number = 0
    lang: _Language = ENGLISH

    @property
    def key(self) -> str:
        """The same for two states exactly if they have the same result."""
        return json.dumps(self.model_dump(exclude={"dark", "chart", "lang"}), sort_keys=True)


class Size(_Strict):
    """Of the charts, in pixels; without it each has the size that suits it."""

    width: Annotated[float, Field(ge=200, le=4000)]
    height: Annotated[float, Field(ge=120, le=4000)]


class Run(_Strict):
    type: Literal["run"]
    n: _Number
    state: State
    size: Size | None = None


class Cancel(_Strict):
    type: Literal["cancel"]
    n: _Number


_Width: TypeAlias = Annotated[float, Field(ge=200, le=2000)]


class AuditOrder(_Strict):
    """Audit a network: ids of subjects, seconds, and how charts are to look."""

    type: Literal["audit"]
    n: _Number
    model: _Word
    data: _Word | None = None
    train: _Word | None = None
    budget: Annotated[float, Field(ge=1, le=600)] = 60.0
    seed: _Number = 0
    dark: StrictBool = False
    width: _Width = 480.0


class AuditPart(_Strict):
    """Of the audit that is open: a part for other rows, all sections in another look, or the report as a file."""

    type: Literal["audit-part"]
    n: _Number
    part: Literal["row", "slice", "look", "html", "json"]
    rows: Annotated[list[_Number], Field(max_length=3)] = Field(default_factory=list)
    dark: StrictBool = False
    width: _Width = 480.0


class AuditStop(_Strict):
    """End the audit with what is done."""

    type: Literal["audit-stop"]
    n: _Number


AuditMessage: TypeAlias = AuditOrder | AuditPart | AuditStop
Message: TypeAlias = Run | Cancel | AuditMessage
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Discriminator("type")])
_STATE = TypeAdapter(State)


def read_message(text: str | bytes) -> Message:
    """The message of a page, or a UsageError that names what is wrong with it."""
    return _read(_MESSAGE, text)


def read_state(text: str | bytes) -> State:
    """The state that a page sends to have it exported."""
    return _read(_STATE, text)


def _read(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    if len(text) > LONGEST_MESSAGE:
        raise UsageError(
            "The message is too long.",
            got=f"{len(text):,} bytes",
            remedy=f"at most {LONGEST_MESSAGE:,}",
        )
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        got = repr(first["input"])
        raise UsageError(
            f"The message is not as agreed: {first['msg']}.",
            where=where,
            got=got if len(got) < 80 else got[:77] + "…",
            remedy="docs/lab.md describes the messages; a reload of the page mends a broken link",
        ) from None


def told(error: FthetaError) -> dict[str, str]:
    """An error as the page shows it."""
    return {
        "what": error.what,
        "where": error.where,
        "got": "" if error.got is None else str(error.got),
        "remedy": error.remedy,
    }
