"""What a worker says of real results, made in this process."""

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.lab import jobs
from ftheta.lab.answer_jobs import answers_by_size
from ftheta.lab.answers import answer
from ftheta.lab.exports import MEDIA, export
from ftheta.lab.protocol import Size, State, read_state
from ftheta.lab.reading import facts_of, subject_of
from ftheta.lab.thumbnails import in_the_dark, thumbnail
from ftheta.logic import Axis, Curves, FthetaError, Motion, Series, SubjectError
from ftheta.report.document import from_json
from ftheta.report.reproduce import command, snippet
from ftheta.subjects import Dataset

from ..report.samples import (
    BARS,
    DAG,
    DIAGRAM,
    HEATMAP,
    HISTOGRAM,
    MOTION,
    POINTS,
    REGIONS,
    rich_result,
)
from ..thoroughness import max_examples
from .test_contents import assert_safe

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "result.schema.json").read_text(encoding="utf-8")
)
QUIET = lambda stage: None


def order(kind: str = "run", source=None, size=None, **state):
    return {"kind": kind, "n": 1, "state": state, "source": source, "sizes": [size]}


def test_an_answer_is_one_json_message_with_the_document_of_the_report():
    result = rich_result()
    message = json.loads(answer(result, 5, 0.25))
    assert (message["type"], message["n"], message["seconds"]) == ("result", 5, 0.25)
    jsonschema.validate(message["document"], SCHEMA)
    assert from_json(json.dumps(message["document"])) == replace(result, charts=())
    assert message["snippet"] == snippet(result) and message["command"] == command(result)
    assert message["verdict"]["id"] == result.verdict.value
    assert [c["title_html"] != "" for c in message["charts"]] == [True] * len(result.charts)
    html = message["html"]
    assert len(html["claims"]) == len(result.claims) and len(html["checks"]) == len(result.checks)
    assert any(row["html"] for row in html["how"]) and len(html["numbers"]) == len(result.numbers)
    assert html["example_numbers"] == [["steepness by hand", "7", "exact or rounded outward"]]


def test_whatever_a_result_says_the_page_gets_no_markup_of_it():
    evil = "<img src=x onerror=alert(1)>"
    result = replace(rich_result(), summary=evil, title=evil)
    message = json.loads(answer(result, 0, 0.0))
    assert_safe(message["verdict"]["summary_html"])
    for part in ("checks", "claims", "as_printed", "how", "tables"):
        for row in message["html"][part]:
            for key, value in row.items():
                if key.endswith("html"):
                    assert_safe(value)


def test_charts_take_the_size_and_the_theme_asked_for_and_leave_their_titles_to_the_page():
    small = json.loads(answer(rich_result(), 0, 0.0, size=Size(width=500, height=300), dark=True))[
        "charts"
    ][0]["spec"]
    edges = small["padding"]
    assert small["width"] + edges["left"] + edges["right"] == pytest.approx(500)
    assert small["background"] == "#0f172a"


def test_numbers_that_json_lacks_are_words_and_gaps():
    curve = Curves("y", Axis("x"), Axis("y"), (Series("s", (1, 2, 3), (nan, inf, 1.0)),))
    message = answer(replace(rich_result(), charts=(curve,)), 0, 0.0)
    json.loads(message, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.mark.parametrize("format", MEDIA)
def test_every_format_is_what_it_says(format):
    data = export(rich_result(), format)
    signs = {
        "pdf": b"%PDF",
        "png": b"\x89PNG",
        "svg": b"<svg",
        "html": b"<!DOCTYPE html>",
        "json": b"{",
        "sh": b"#!",
    }
    assert data.startswith(signs.get(format, b"")) and len(data) > 20


def test_the_chart_in_front_is_exported():
    result = rich_result()
    first = export(result, "csv")
    last = export(result, "csv", len(result.charts) - 1)
    assert first != last and last == export(result, "csv", 10**6)


def test_without_charts_there_is_no_figure_and_the_error_says_so():
    with pytest.raises(FthetaError, match="no chart"):
        export(replace(rich_result(), charts=()), "svg")


@pytest.mark.parametrize(
    "chart",
    [*rich_result().charts[:1], BARS, DAG, DIAGRAM, HEATMAP, HISTOGRAM, MOTION, POINTS, REGIONS],
)
def test_a_small_picture_of_every_kind_of_chart_has_no_letters(chart):
    picture = thumbnail(replace(rich_result(), charts=(chart,)))
    assert picture.startswith("<svg") and "<text" not in picture
    assert "#0f172a" not in in_the_dark(picture) or "#0f172a" not in picture


def test_the_small_picture_of_a_chart_that_moves_is_taken_midway():
    box = ((0.0, 0.0), (1.0, 1.0))
    film = lambda *xs: Motion(
        "m", Axis(), Axis(), (0, 1, 2), [[x] for x in xs], [[0.5]] * 3, lines=(box,), ways=False
    )
    drawn = [
        thumbnail(replace(rich_result(), charts=(film(*xs),)))
        for xs in ((0, 0.3, 1), (0.2, 0.3, 0.9), (0, 0.4, 1))
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_nothing_to_draw_is_an_empty_picture():
    assert "<path" not in thumbnail(replace(rich_result(), charts=()))


def test_a_theorem_runs_and_names_its_stages():
    stages: list[str] = []
    header, body = jobs.do(
        order(theorem="hoeffding-chebyshev", knobs={"trials": 100}), stages.append
    )
    message = json.loads(body)
    assert header == {"kind": "done", "parts": [{"size": None, "length": len(body)}]}
    assert message["document"]["provenance"]["knobs"]["trials"] == 100
    assert (
        stages[0] == "making the subject"
        and "gathering the evidence" in stages
        and stages[-1] == "charts"
    )
    assert any(stage.startswith("hypothesis: ") for stage in stages)


def test_one_result_is_drawn_in_every_size_that_is_asked_for():
    asked = order(theorem="hoeffding-chebyshev", knobs={"trials": 100})
    sizes = [{"width": width, "height": 300.0} for width in (400.0, 900.0)]
    header, body = jobs.do({**asked, "sizes": sizes}, QUIET)
    first, second = (json.loads(answer) for answer in answers_by_size(header, body).values())
    assert first["document"] == second["document"]
    assert first["charts"][0]["spec"]["width"] < second["charts"][0]["spec"]["width"] < 900


def test_the_negative_control_and_presets_are_states_too():
    _, body = jobs.do(order(theorem="hat-function", subject="breaker", force=True), QUIET)
    assert json.loads(body)["document"]["provenance"]["origin"] == "breaker"
    _, body = jobs.do(order(theorem="hoeffding-chebyshev", preset="at the edge"), QUIET)
    assert json.loads(body)["document"]["provenance"]["knobs"]["n"] == 1


def test_knobs_of_the_built_in_subject_are_left_out_on_another():
    state = {
        "theorem": "hoeffding-chebyshev",
        "subject": "digits-mlp",
        "knobs": {"risk": 0.2, "delta": 0.1},
    }
    _, body = jobs.do(order(source={"words": "digits-mlp"}, **state), QUIET)
    assert "risk" not in json.loads(body)["document"]["provenance"]["knobs"]


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.integers(1, 10**4).map(float),
)


@max_examples(50)
@given(
    knobs=st.dictionaries(
        st.sampled_from(["n", "delta", "bound", "trials", "risk", "no-such"]), _VALUES, max_size=3
    ),
    preset=st.sampled_from([None, "textbook", "no such"]),
    seed=st.integers(-3, 2**60),
)
def test_no_state_is_an_internal_error(knobs, preset, seed):
    """Whatever the sliders say, there is a result or an error that says what to do."""
    try:
        state = read_state(
            json.dumps(
                {"theorem": "hoeffding-chebyshev", "knobs": knobs, "preset": preset, "seed": seed}
            )
        )
        if isinstance(knobs.get("trials"), int | float) and knobs["trials"] > 10**4:
            return  # allowed, and slow
        header, _ = jobs.do(order(**state.model_dump()), QUIET)
        assert header["kind"] == "done"
    except FthetaError as error:
        assert error.what


def test_two_states_have_the_same_key_exactly_if_they_have_the_same_result():
    a = State(theorem="t", knobs={"a": 1, "b": 2.0}, dark=True, chart=3)
    assert a.key == State(theorem="t", knobs={"b": 2.0, "a": 1}).key
    assert len({State(theorem="t", knobs={"a": v}).key for v in (1, 2, 1.5, "1", True)}) == 5


def test_uploaded_files_are_parsed_and_their_place_is_not_told(tmp_path):
    good = tmp_path / "upload.npz"
    bad = tmp_path / "bad.npz"
    np.savez(good, W0=np.ones((3, 2)), b0=np.zeros(3), W1=np.ones((1, 3)))
    net = subject_of({"path": str(good), "name": "mine.npz"})
    assert net.name == "mine.npz" and ("inputs", "2") in facts_of(net)
    bad.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(SubjectError) as refused:
        subject_of({"path": str(bad), "name": "theirs.npz"})
    assert str(tmp_path) not in str(refused.value) and "theirs.npz" in str(refused.value)


def test_data_are_told_with_and_without_labels():
    assert ("labels", "yes") in facts_of(subject_of({"words": "iris"}))
    assert ("labels", "none") in facts_of(Dataset("rows", np.zeros((3, 2))))


def test_reading_a_file_may_not_take_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "ROOM", 16 << 20)
    path = tmp_path / "upload.npz"
    np.savez_compressed(path, x=np.zeros((1 << 11, 1 << 12)))  # 64 megabytes in 64 kilobytes
    with pytest.raises(SubjectError):
        jobs.do({"kind": "read", "source": {"path": str(path), "name": "bomb.npz"}}, QUIET)
    np.ones(1 << 23)  # the limit was for the reading alone
