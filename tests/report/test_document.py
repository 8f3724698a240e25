import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import pytest
from hypothesis import given

from ftheta.logic import Enclosure, FthetaError, Result, SubjectError
from ftheta.logic.result import SCHEMA, Audit
from ftheta.report.document import from_json, schema, to_json

from ..thoroughness import max_examples
from . import samples
from .strategies import audits, results, same

VALIDATOR = jsonschema.Draft202012Validator(schema())
SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "result.schema.json"


def strict(text: str) -> Any:
    def refuse(name: str) -> NoReturn:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@given(results)
@max_examples(150)
def test_a_result_comes_back_from_json_as_it_was(result: Result) -> None:
    assert same(from_json(to_json(result)), result)


@given(audits)
@max_examples(40)
def test_an_audit_comes_back_from_json_as_it_was(audit: Audit) -> None:
    assert same(from_json(to_json(audit)), audit)


@given(results)
@max_examples(60)
def test_every_result_is_strict_json_that_the_schema_accepts(result: Result) -> None:
    VALIDATOR.validate(strict(to_json(result)))


def test_handmade_documents_come_back_equal_and_fit_the_schema() -> None:
    for document in (samples.result(), samples.inapplicable(), samples.refuted(), samples.audit()):
        text = to_json(document)
        VALIDATOR.validate(strict(text))
        assert same(from_json(text), document)
    assert from_json(to_json(samples.refuted())) == samples.refuted()


def test_a_word_that_means_a_number_and_text_that_reads_like_it_are_told_apart() -> None:
    table = samples.rich_result().tables[0]
    back = from_json(to_json(samples.rich_result()))
    assert isinstance(back, Result)
    assert back.tables[0].rows[1] == table.rows[1] == ("inf", 7, float("inf"))
    assert type(back.tables[0].rows[1][1]) is int


def test_the_published_schema_is_in_step_with_the_code() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == json.loads(
        json.dumps(schema())
    ), "run: python -m ftheta.report.document docs/result.schema.json"


def test_the_schema_is_a_valid_schema_that_refuses_wrong_documents() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    good = strict(to_json(replace(samples.rich_result(), charts=(samples.CURVES,))))
    for spoil in (
        lambda d: d.pop("verdict"),
        lambda d: d.update(verdict="sure"),
        lambda d: d["claims"][0]["claim"].pop("kind"),
        lambda d: d["charts"][0].update(kind="pie"),
        lambda d: d.update(schema=SCHEMA + 1),
        lambda d: d["charts"][0]["series"][0]["x"].append("many"),
    ):
        document = json.loads(json.dumps(good))
        assert VALIDATOR.is_valid(document)
        spoil(document)
        assert not VALIDATOR.is_valid(document)


def test_a_newer_version_is_refused_with_advice() -> None:
    newer = replace(samples.result(), schema=SCHEMA + 1)
    with pytest.raises(SubjectError, match="newer ftheta") as caught:
        from_json(to_json(newer))
    assert "upgrade" in caught.value.remedy


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda d: d.pop("title"), "title"),
        (lambda d: d.update(verdict="sure"), "verdict"),
        (lambda d: d["provenance"].update(seed="x"), "provenance.seed"),
        (lambda d: d["claims"][0].pop("judgement"), "claims[0].judgement"),
        (lambda d: d["claims"][1]["claim"]["left"].update(lo=2, hi=1), "claims[1].claim.left"),
        (lambda d: d["claims"][0]["claim"].pop("kind"), "claims[0].claim"),
        (lambda d: d["charts"][0]["series"][1]["x"].append("many"), "charts[0].series[1].x[12]"),
        (lambda d: d.update(charts=3), "charts"),
        (lambda d: d["tables"][0].update(rows=[3]), "tables[0].rows[0]"),
        (lambda d: d.update(document="recipe"), "document"),
    ],
)
def test_a_wrong_document_is_refused_with_the_name_of_the_field(spoil: Any, where: str) -> None:
    document = strict(to_json(samples.rich_result()))
    spoil(document)
    with pytest.raises(SubjectError) as caught:
        from_json(json.dumps(document))
    assert caught.value.where == where


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", "NaN", '{"document": "result"}', "\x00", '{"document": ["result"]}'],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(FthetaError):
        from_json(text)


def test_unknown_fields_are_ignored_so_that_later_versions_may_add_some() -> None:
    document = strict(to_json(samples.result()))
    document["novelty"] = document["provenance"]["novelty"] = 1
    assert same(from_json(json.dumps(document)), samples.result())


def test_infinite_ends_are_words() -> None:
    numbers = {"unknown": Enclosure(), "many": Enclosure.at_least(2.0)}
    document = strict(to_json(replace(samples.result(), numbers=numbers)))
    assert document["numbers"]["unknown"]["lo"] == "-inf"
    assert document["numbers"]["many"]["hi"] == "inf"
