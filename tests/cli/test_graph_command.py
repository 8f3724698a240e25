"""`ftheta graph`: an expression from the command line to the table and the picture."""

import json

import pytest

from ftheta.cli import run

WORKED = "t2*exp(t1)*sqrt(t1+t2*exp(t1))"


def words(capsys, *arguments):
    code = run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_is_printed_with_the_gradient(capsys):
    code, out, _ = words(capsys, "graph", WORKED, "--at", "t1=0,t2=1")
    assert code == 0 and "value 1; ∂/∂t1 = 2, ∂/∂t2 = 1.5" in out


def test_json_has_every_node_and_the_page_has_the_table_and_the_graph(capsys, tmp_path):
    page = tmp_path / "worked.html"
    code, out, _ = words(capsys, "graph", WORKED, "--at", "t1=1,t2=2", "--json", "--out", str(page))
    found = json.loads(out)
    assert code == 0 and found["gradient"] == pytest.approx(
        {"t1": 20.6891558433, "t2": 9.8088584253}, abs=1e-9
    )
    assert [n["node"] for n in found["nodes"]] == ["t1", "t2", "x3", "x4", "x5", "x6", "x7"]
    text = page.read_text()
    assert "<svg" in text and "local partials" in text and "<script" not in text
    code, _, _ = words(
        capsys, "graph", WORKED, "--at", "t1=1,t2=2", "--out", str(tmp_path / "worked.svg")
    )
    assert code == 0 and (tmp_path / "worked.svg").read_text().startswith("<svg")


def test_a_point_without_derivative_is_said_so(capsys):
    code, out, _ = words(capsys, "graph", "abs(x)+log(y)", "--at", "x=0,y=-1", "--json")
    assert code == 0 and json.loads(out)["value"] == "nan"
    assert any("no finite value" in note for note in json.loads(out)["trouble"])


@pytest.mark.parametrize(
    "arguments, part",
    [
        (("graph", "2x", "--at", "x=1"), "write * between"),
        (("graph", "x*y", "--at", "x=1"), "no value for y"),
        (("graph", "__import__('os')", "--at", "x=1"), "no meaning"),
        (("graph", "x", "--at", "x=1", "--out", "x.docx"), ".svg"),
    ],
)
def test_bad_words_give_a_clear_error(capsys, arguments, part):
    code, out, err = words(capsys, *arguments)
    assert code == 2 and part in err and "Traceback" not in err and out == ""


def test_a_theorem_takes_an_expression_as_its_subject(capsys):
    code, out, _ = words(
        capsys,
        "check",
        "worked-example-graph",
        "--on",
        "sin(x)*y",
        "--theta1",
        "0",
        "--theta2",
        "0.5",
        "--json",
    )
    assert code == 0 and json.loads(out)["numbers"]["∂x"]["lo"] == pytest.approx(0.5)
    code, _, err = words(capsys, "check", "worked-example-graph", "--on", "sin(x)**")
    assert code == 2 and "^" in err
