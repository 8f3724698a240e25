r"""Results, audits and comparisons as JSON, and back: strict JSON, versioned, described by `docs/result.schema.json`.

Numbers that JSON has no word for are the strings "inf", "-inf" and "nan". Where a value may be text or a number (a
cell of a table, a knob, a coordinate of a witness), such a word means the number, and text that reads like one is
written with a backslash before it. Unknown fields are ignored, so that later versions may add some; a change that
older readers cannot read raises `schema`.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

from ftheta.logic import Chart, Claim, Result, SubjectError
from ftheta.logic.result import SCHEMA, Audit, Comparison

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_WORDS = {"inf": inf, "-inf": -inf, "nan": nan}
_LIKE_A_WORD = re.compile(r"\\*(inf|-inf|nan)")
_JUDGED = ("claims", "examples", "as_printed")
_DOCUMENTS = {"result": Result, "audit": Audit, "comparison": Comparison}
Document: TypeAlias = Result | Audit | Comparison


def to_json(document: Document, *, indent: int | None = None) -> str:
    """The document as JSON text."""
    name = next(name for name, kind in _DOCUMENTS.items() if isinstance(document, kind))
    data = {"document": name, **_to_data(document)}
    for _, part in _locate(data):
        _change_mixed(part, _escape)
    return json.dumps(_spell_non_finite(data), indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(text: str | bytes) -> Document:
    """The document that `to_json` wrote. A wrong one raises a SubjectError that names the field."""
    data = _load(text)
    kind = _DOCUMENTS[data["document"]]
    _upgrade(data)
    for path, part in _locate(data):
        _change_mixed(part, _unescape)
        _read_unions(part, path)
    return _validate(kind, data, "")


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of all documents."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Words(GenerateJsonSchema):
        """A float may be one of the three words."""

        def float_schema(self, schema: Any) -> dict[str, Any]:
            return {"anyOf": [super().float_schema(schema), {"enum": list(_WORDS)}]}

    inputs = [(name, "validation", TypeAdapter(kind)) for name, kind in _DOCUMENTS.items()]
    inputs += [("claim", "validation", _adapter(Claim)), ("chart", "validation", _adapter(Chart))]
    found, shared = TypeAdapter.json_schemas(inputs, schema_generator=Words)  # type: ignore[arg-type]
    definitions = shared["$defs"]
    definitions["Claim"], definitions["Chart"] = (
        found["claim", "validation"],
        found["chart", "validation"],
    )
    definitions["Judged"]["properties"]["claim"] = {"$ref": "#/$defs/Claim"}
    for holder in ("Result", "Section"):
        definitions[holder]["properties"]["charts"]["items"] = {"$ref": "#/$defs/Chart"}
    return _publish(definitions)


def _publish(definitions: dict[str, Any]) -> dict[str, Any]:
    for definition in definitions.values():
        if (
            "kind" in definition.get("properties", {})
            and "const" in definition["properties"]["kind"]
        ):
            definition["required"] = sorted({*definition.get("required", ()), "kind"})
    for kind in _DOCUMENTS.values():
        definition = definitions[kind.__name__]
        definition["properties"]["schema"] = {"type": "integer", "minimum": 1, "maximum": SCHEMA}
        definition["required"] = [*definition["required"], "schema"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ftheta result, audit and comparison of audits",
        "description": "What `ftheta check --json` and `ftheta audit --json` print.",
        "oneOf": [
            {
                "$ref": f"#/$defs/{kind.__name__}",
                "properties": {"document": {"const": name}},
                "required": ["document"],
            }
            for name, kind in _DOCUMENTS.items()
        ],
        "$defs": dict(sorted(definitions.items())),
    }


# -- writing ---------------------------------------------------------------------------------------


def _to_data(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, enumerations as their words."""
    if is_dataclass(value):
        return {field.name: _to_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _to_data(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_to_data(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value


def _spell_non_finite(value: Any) -> Any:
    """Numbers that are not finite as words."""
    if isinstance(value, dict):
        return {key: _spell_non_finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_spell_non_finite(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


# -- places where a value may be text or a number ---------------------------------------------------


def _escape(value: Any) -> Any:
    return f"\\{value}" if isinstance(value, str) and _LIKE_A_WORD.fullmatch(value) else value


def _unescape(value: Any) -> Any:
    if isinstance(value, str) and _LIKE_A_WORD.fullmatch(value):
        return _WORDS[value] if value in _WORDS else value[1:]
    return value


def _change_mixed(result: Any, change: Callable[[Any], Any]) -> None:
    """Apply a change, in place, to every value of a result that may be text or a number."""
    for table in _items(result, "tables"):
        rows = table.get("rows") if isinstance(table, dict) else None
        if isinstance(rows, list):
            table["rows"] = [
                [change(cell) for cell in row] if isinstance(row, list) else row for row in rows
            ]
    mappings = [_inner(_inner(result, "provenance"), "knobs")]
    for judged in (judged for place in _JUDGED for judged in _items(result, place)):
        claim = _inner(judged, "claim")
        mappings += [_inner(claim, "found"), _inner(_inner(claim, "witness"), "at")]
    for mapping in mappings:
        for key, value in mapping.items():
            mapping[key] = [change(v) for v in value] if isinstance(value, list) else change(value)


def _inner(value: Any, key: str) -> dict[str, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _items(value: Any, key: str) -> list[Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, list) else []


def _locate(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The results and sections of a document, each with the way to it: they hold tables and charts."""
    if data["document"] == "result":
        yield "", data
    for way, audit in (("", data), ("before.", data.get("before")), ("after.", data.get("after"))):
        for place in ("results", "sections"):
            yield from (
                (f"{way}{place}[{i}].", part) for i, part in enumerate(_items(audit, place))
            )
    if isinstance(data.get("difference"), dict):
        yield "difference.", data["difference"]


# -- reading ---------------------------------------------------------------------------------------


def _load(text: str | bytes) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise SubjectError(
            "This is not JSON.", got=str(error), remedy="give a file that ftheta wrote"
        ) from None
    if not isinstance(data, dict) or str(data.get("document")) not in _DOCUMENTS:
        got = repr(data.get("document")) if isinstance(data, dict) else type(data).__name__
        raise SubjectError(
            "This is no document of ftheta.",
            where="document",
            got=got,
            remedy=f"one of {', '.join(_DOCUMENTS)}",
        )
    version = data.get("schema")
    if not isinstance(version, int) or version < 1:
        raise SubjectError(
            "The document states no version.", where="schema", got=repr(version), remedy=f"{SCHEMA}"
        )
    if version > SCHEMA:
        raise SubjectError(
            "The document was written by a newer ftheta.",
            where="schema",
            got=f"version {version}; this ftheta reads up to {SCHEMA}",
            remedy="upgrade ftheta",
        )
    return data


def _upgrade(data: dict[str, Any]) -> None:
    """Documents of version 1: an audit listed what it skipped as pairs."""
    if data["schema"] == 1 and data["document"] == "audit":
        pairs = [p for p in _items(data, "skipped") if isinstance(p, list) and len(p) == 2]
        data["skipped"] = [{"id": id, "reason": reason} for id, reason in pairs]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f'{name} is not JSON; ftheta writes "inf", "-inf" and "nan"')


def _read_unions(result: Any, path: str) -> None:
    """Claims and charts by their `kind`, in place."""
    for place in _JUDGED:
        for i, judged in enumerate(_items(result, place)):
            if isinstance(judged, dict) and "claim" in judged:
                judged["claim"] = _validate(Claim, judged["claim"], f"{path}{place}[{i}].claim.")
    charts = _items(result, "charts")
    for i, chart in enumerate(charts):
        charts[i] = _validate(Chart, chart, f"{path}charts[{i}].")


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    """Validates one of the documents, or the union of claims or of charts by their `kind`."""
    from pydantic import Discriminator, TypeAdapter

    tagged: Any = Annotated[kind, Discriminator("kind")]
    return TypeAdapter(kind if kind in _DOCUMENTS.values() else tagged)


def _validate(kind: Any, data: Any, path: str) -> Any:
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(data)
    except ValidationError as error:
        raise _describe_fault(error, path, tagged=kind not in _DOCUMENTS.values()) from None


def _describe_fault(error: "ValidationError", path: str, *, tagged: bool) -> SubjectError:
    """The first fault, with the way to its field; the tag of a union is no step of that way."""
    first = error.errors(include_url=False)[0]
    where = path
    for step in first["loc"][1:] if tagged else first["loc"]:
        where += f"[{step}]" if isinstance(step, int) else f".{step}"
    where = where.replace("..", ".").replace(".[", "[").strip(".")
    got = repr(first["input"])
    return SubjectError(
        f"The document is not as ftheta writes it: {first['msg'].removeprefix('Value error, ').rstrip('.')}.",
        where=where,
        got=got if len(got) < 80 else got[:77] + "…",
        remedy="docs/result.schema.json describes the form",
    )


if __name__ == "__main__":  # `python -m ftheta.report.document FILE` publishes the schema
    Path(sys.argv[1]).write_text(
        json.dumps(schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
