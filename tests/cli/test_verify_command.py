"""`ftheta verify`: answers and exit codes, exact witnesses, lists of instances that go on where they stopped."""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import ftheta as ft
from ftheta.certify.witnesses import read_witness
from ftheta.cli import run
from ftheta.networks.onnx.rules import RULES
from ftheta.networks.onnx.write import write
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from ftheta.verifying.networks import read_network

BOX = "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))\n" for i in (0, 1))
DECLARED = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The network |x₀| + |x₁|, and the questions whether it is at most −1/2, 1/2 or, being 0 only once, below 0."""
    net = ReluNetwork.dense(
        [np.vstack([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [np.zeros(4), np.zeros(1)]
    )
    write(net, tmp_path / "net.onnx")
    for name, row in {
        "never": "(<= Y_0 -0.5)",
        "often": "(<= Y_0 0.1)",
        "tie": "(< Y_0 0.0)",
    }.items():
        (tmp_path / f"{name}.vnnlib").write_text(f"{DECLARED}{BOX}(assert {row})\n")
    return tmp_path


def test_the_answer_is_the_first_line_and_the_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(folder / "net.onnx"), str(folder / "never.vnnlib")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "unsat"
    witness = folder / "point.txt"
    assert (
        run(
            [
                "verify",
                str(folder / "net.onnx"),
                str(folder / "often.vnnlib"),
                "--witness",
                str(witness),
            ]
        )
        == 1
    )
    assert capsys.readouterr().out.splitlines()[0] == "sat"
    x, y = read_witness(witness)
    assert abs(x[0]) + abs(x[1]) == y[0] <= Fraction(1, 10)


def test_a_chain_that_ends_in_a_relu_is_verified(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1]) for name in "xy")
    weight = numpy_helper.from_array(np.array([[2.0]], np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    save(
        helper.make_model(helper.make_graph(nodes, "relu", [x], [y], [weight])),
        tmp_path / "relu.onnx",
    )
    declared = (
        "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 -1))(assert (<= X_0 1))"
    )
    for row, answer in {
        "(<= Y_0 -0.25)": "unsat",
        "(<= Y_0 0)": "sat",
        "(>= Y_0 2)": "sat",
        "(>= Y_0 2.1)": "unsat",
    }.items():
        (tmp_path / "asked.vnnlib").write_text(f"{declared}(assert {row})")
        assert ft.verify(tmp_path / "relu.onnx", tmp_path / "asked.vnnlib").answer == answer
    read = read_network(tmp_path / "relu.onnx")  # what properties in Python are asked of
    assert isinstance(read, ReluNetwork)
    assert [read(np.array([point])).tolist() for point in (-1.0, 0.5)] == [[0.0], [1.0]]


def test_json_says_what_the_answer_is_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(folder / "net.onnx"), str(folder / "often.vnnlib"), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (
        told["answer"] == "sat" and told["holds"] is False and "stored weights" in told["meaning"]
    )
    x = [Fraction(v) for v in told["witness"]["x"]]
    assert Fraction(told["witness"]["y"][0]) == abs(x[0]) + abs(x[1])


def test_json_is_of_the_published_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(
        (Path(__file__).parents[2] / "docs" / "verification.schema.json").read_text()
    )
    os.chdir(folder)
    Path("instances.csv").write_text(
        "net.onnx,never.vnnlib,5\nnet.onnx,often.vnnlib,5\nnone.onnx,tie.vnnlib,5\n"
    )
    for words in (
        ["net.onnx", "never.vnnlib"],
        ["net.onnx", "often.vnnlib"],
        ["net.onnx", "missing.vnnlib"],
        ["--instances", "instances.csv"],
    ):
        run(["verify", *words, "--json"])
        jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_a_list_of_instances_keeps_its_order_and_goes_on_where_it_stopped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instances = folder / "instances.csv"
    instances.write_text(
        "onnx,vnnlib,timeout\nnet.onnx,never.vnnlib,5\nnet.onnx,often.vnnlib,5\nnone.onnx,tie.vnnlib,5\n"
    )
    out = folder / "results.csv"
    words = [
        "verify",
        "--instances",
        str(instances),
        "--out",
        str(out),
        "--witnesses",
        str(folder / "points"),
    ]
    assert run(words) == 1
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == ["unsat", "sat", "unknown"] and "error" in rows[2][
        "verdict"
    ]
    assert (folder / "points" / "net_often.counterexample").exists()
    marked = out.read_text().replace(rows[0]["seconds"], "12345")
    out.write_text(marked)
    assert run(words) == 1
    assert "12345" in out.read_text()  # decided rows are not computed again


@pytest.mark.parametrize(
    "words, code, said",
    [
        ((), 2, "needed"),
        (("net.onnx",), 2, "needed"),
        (("missing.onnx", "never.vnnlib"), 4, "missing.onnx"),
        (("net.onnx", "missing.vnnlib"), 4, "missing.vnnlib"),
        (("never.vnnlib", "net.onnx"), 4, ""),
        (("net.onnx", "never.vnnlib", "--timeout", "soon"), 2, "positive time"),
        (("net.onnx", "never.vnnlib", "--threads", "0"), 2, "thread"),
        (("--instances", "missing.csv"), 2, "missing.csv"),
        (("net.onnx", "never.vnnlib", "--instances", "i.csv"), 2, "names its networks"),
    ],
)
def test_what_cannot_be_decided_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, said: str
) -> None:
    os.chdir(folder)
    assert run(["verify", *words]) == code
    assert said in capsys.readouterr().err


def test_a_property_of_another_shape_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        (folder / "never.vnnlib")
        .read_text()
        .replace("Y_0", "Y_1")
        .replace("Y_1 Real", "Y_0 Real)(declare-const Y_1 Real")
    )
    (folder / "wide.vnnlib").write_text(text)
    assert run(["verify", str(folder / "net.onnx"), str(folder / "wide.vnnlib")]) == 4
    said = capsys.readouterr().err
    assert "another network" in said and "got: a network with 2 inputs and 2 outputs" in said


FLOATS = """(vnnlib-version <2.0>)
(declare-network f (declare-input X TYPE [2]) (declare-output Y TYPE [1]))
(assert (and (<= X[0] 1.0) (>= X[0] -1.0) (<= X[1] 1.0) (>= X[1] -1.0) (<= Y[0] -0.5)))
"""


@pytest.mark.parametrize(
    "element_type, row, said",
    [
        ("float16", "", "float16"),  # a type for which nothing is sound
        ("float32", "", "float32"),  # the file is in float64
        (
            "float64",
            "(assert (<= (+ Y[0] X[0]) 1.0))",
            "query.vnnlib:4:13",
        ),  # arithmetic would be rounded
    ],
)
def test_a_query_about_floats_that_cannot_be_sound_is_refused_unless_reals_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], element_type: str, row: str, said: str
) -> None:
    (folder / "query.vnnlib").write_text(FLOATS.replace("TYPE", element_type) + row)
    words = ["verify", str(folder / "net.onnx"), str(folder / "query.vnnlib")]
    assert run(words) == 4
    assert said in capsys.readouterr().err
    assert run([*words, "--real"]) == 0


def test_a_query_about_floats_is_answered_about_floats(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "query.vnnlib").write_text(FLOATS.replace("TYPE", "float64"))
    words = ["verify", str(folder / "net.onnx"), str(folder / "query.vnnlib"), "--json"]
    assert run(words) == 0
    assert "float64 program" in json.loads(capsys.readouterr().out)["meaning"]
    words = ["verify", str(folder / "net.onnx"), str(folder / "tie.vnnlib"), "--meaning"]
    assert run([*words, "float32"]) == 3  # rounding may make it negative, as far as bounds can tell
    assert run([*words, "float31"]) == 2
    assert run([*words, "float32", "--real"]) == 2


def test_a_plain_chain_is_verified_without_jax(folder: Path) -> None:
    program = (
        "import sys; from ftheta.cli import run; "
        "code = run(['verify', 'net.onnx', 'never.vnnlib']); assert 'jax' not in sys.modules; sys.exit(code)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], cwd=folder, stdout=subprocess.DEVNULL
        ).returncode
        == 0
    )


def test_the_library_decides_robustness_of_any_network() -> None:
    net = ReluNetwork.dense(
        [np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]])], [np.ones(2), np.zeros(2)]
    )
    x = [0.3, 0.1]  # the first output leads by 2 (x₀ − x₁)
    assert ft.verify(net, ft.Robust(x, 0.09)).holds is True
    refuted = ft.verify(net, ft.Robust(x, 0.11))
    assert refuted.holds is False and refuted.witness is not None
    assert (
        exact(net)(refuted.witness.x) == refuted.witness.y
        and refuted.witness.y[1] >= refuted.witness.y[0]
    )


TWINS = """(vnnlib-version <2.0>)
(declare-network f (declare-input A real [2]) (declare-output B real [1]))
(declare-network g (isomorphic-to f) (declare-input C real [2]) (declare-output D real [1]))
(assert (and (<= A[0] 1.0) (>= A[0] -1.0) (<= A[1] 1.0) (>= A[1] -1.0) (== C[0] A[0]) (== C[1] (+ A[1] 0.1))))
"""


def test_a_query_about_two_networks_is_answered_by_assignments(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.chdir(folder)
    Path("query.vnnlib").write_text(TWINS + "(assert (>= D[0] (+ B[0] 0.1)))")
    words = [
        "verify",
        "query.vnnlib",
        "--network",
        "f=net.onnx",
        "--network",
        "g=net.onnx",
        "--witness",
        "point.txt",
    ]
    assert run(words) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sat" and lines[1] == "A real [2]" and "D real [1]" in lines
    assert Path("point.txt").read_text().splitlines() == lines[1:]
    a, c = (
        Fraction(lines[k + 1])
        for k in (lines.index("A real [2]") + 1, lines.index("C real [2]") + 1)
    )
    assert c == a + Fraction(1, 10)
    Path("query.vnnlib").write_text(TWINS + "(assert (> D[0] (+ B[0] 0.1)))")
    assert run(words) == 0


@pytest.mark.parametrize(
    "words, said",
    [
        (("query.vnnlib",), "has no file"),
        (("query.vnnlib", "--network", "f=net.onnx"), "has no file"),
        (
            ("query.vnnlib", "--network", "f=net.onnx", "--network", "h=net.onnx"),
            "no network of this name",
        ),
        (("query.vnnlib", "--network", "net.onnx"), "its name and its file"),
        (("query.vnnlib", "--network", "f=net.onnx", "--network", "f=net.onnx"), "two files"),
        (("net.onnx", "query.vnnlib"), "several networks"),
        (("net.onnx", "query.vnnlib", "--network", "f=net.onnx"), "needed"),
    ],
)
def test_networks_of_a_query_have_their_names(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    os.chdir(folder)
    Path("query.vnnlib").write_text(TWINS + "(assert (> D[0] B[0]))")
    assert run(["verify", *words]) == 2
    assert said in capsys.readouterr().err


def _write_hard_network(path: Path) -> None:
    """Twelve inputs: whether its output reaches 9,000 is open for a long time."""
    rng = np.random.default_rng(0)
    sizes = [12, 60, 60, 60, 1]
    weights = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    write(ReluNetwork.dense(weights, [np.zeros(len(W)) for W in weights]), path)


def test_a_query_that_takes_too_long_is_timed_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word of VNN-LIB 2.0; version 1.0 has another one."""
    _write_hard_network(folder / "hard.onnx")
    names = [f"X[{i}]" for i in range(12)]
    bounds = "".join(f"(assert (and (<= {x} 1.0) (>= {x} -1.0)))" for x in names)
    declared = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [12]) (declare-output Y real [1]))"
    (folder / "hard.vnnlib").write_text(f"{declared}{bounds}(assert (>= Y[0] 9000.0))")
    words = [
        "verify",
        str(folder / "hard.vnnlib"),
        "--network",
        f"f={folder / 'hard.onnx'}",
        "--timeout",
        "1",
    ]
    assert run(words) == 3
    assert capsys.readouterr().out.splitlines()[0] == "timed-out"


def test_what_is_supported_is_said_in_the_words_of_the_standard(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def say(capability: str) -> list[str]:
        assert run(["supports", capability]) == 0
        return capsys.readouterr().out.splitlines()

    assert say("--onnx-opset-versions") == ["7", "28"]
    assert "real" in say("--onnx-element-types")
    assert {line.split()[0] for line in say("--onnx-operators")} <= set(RULES)
    assert say("--multiple-network-theories") == ["SNET", "MENET", "MINET", "MNET"]
    assert say("--serialise-assignments") == ["false"]
    assert (
        run(["supports"]) == 2 and run(["supports", "--vnnlib-versions", "--onnx-operators"]) == 2
    )
    capsys.readouterr()
    assert run(["--name"]) == 0 and capsys.readouterr().out == "ftheta\n"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_list_that_is_interrupted_keeps_what_is_done_and_says_how_to_go_on(
    folder: Path, threads: int
) -> None:
    _write_hard_network(folder / "hard.onnx")
    bounds = "".join(
        f"(declare-const X_{i} Real)(assert (<= X_{i} 1.0))(assert (>= X_{i} -1.0))\n"
        for i in range(12)
    )
    (folder / "slow.vnnlib").write_text(
        f"(declare-const Y_0 Real)\n{bounds}(assert (>= Y_0 9000.0))\n"
    )
    (folder / "instances.csv").write_text(
        "net.onnx,never.vnnlib,5\nnet.onnx,often.vnnlib,5\nhard.onnx,slow.vnnlib,5\nnet.onnx,tie.vnnlib,5\n"
    )
    out = folder / "results.csv"
    heeding = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = [sys.executable, "-c", heeding + "runpy.run_module('ftheta', run_name='__main__')"]
    words = [
        "verify",
        "--instances",
        str(folder / "instances.csv"),
        "--out",
        str(out),
        "--threads",
        str(threads),
    ]
    process = subprocess.Popen(
        [*program, *words, "--each", "100s"], stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and (not out.exists() or len(out.read_text().splitlines()) < 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert f"2 of 4 instances are done and kept in {out}: the same command goes on" in err
    with out.open() as file:
        first = list(csv.DictReader(file))
    assert [row["verdict"] for row in first] == ["holds", "refuted", "interrupted", "interrupted"]
    assert run([*words, "--each", "0.2s"]) == 1
    with out.open() as file:
        second = list(csv.DictReader(file))
    assert second[:2] == first[:2] and second[3]["verdict"] == "holds"
