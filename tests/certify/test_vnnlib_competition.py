"""The properties of the competition VNN-COMP are read as they are meant, where FTHETA_VNNCOMP names their folder."""

import re
import time
from fractions import Fraction

import pytest

from ftheta.certify.vnnlib import read_query, read_question
from ftheta.logic import SubjectError
from ftheta.networks.reading import read_text

from .vnncomp import BENCHMARKS

pytestmark = pytest.mark.skipif(
    not (BENCHMARKS / "nn4sys").is_dir(), reason="FTHETA_VNNCOMP names no folder of instances"
)

# inputs, outputs, cases, disjuncts of all cases: those that occur in a benchmark
SIZES = {
    "acasxu": {(5, 5, 1, n) for n in (1, 2, 3, 4)} | {(5, 5, 2, 8)},
    "cgan": {(5, 1, 1, 2)},
    "collins_rul_cnn": {(400, 1, 1, 2)},
    "cora": {(784, 10, 1, 9)},
    "eran": {(784, 10, 1, 9)},
    "lsnc": {(6, 8, 1, 13), (8, 10, 1, 17)},
    "lsnc_relu": {(6, 8, 1, 13)},
    "ml4acopf": {(22, 186, 1, n) for n in (1, 2, 20, 28, 56)},
    "mnist_fc": {(784, 10, 1, 9)},
    "nn4sys": {(1, 1, n, 2 * n) for n in (1, 200, 400, 600, 800, 1000)} | {(48, 6, 1, 1)},
    "oval21": {(3072, 10, 1, 9)},
    "reach_prob_density": {(5, 5, 1, 1), (14, 14, 1, 1)},
    "rl_benchmarks": {(4, 2, 1, 1), (8, 4, 1, 1)},
    "safenlp": {(30, 2, 1, 1)},
    "test": {(1, 1, 1, 1), (5, 5, 1, 1)},
    "tllverifybench": {(2, 1, 1, 1)},
    "verivital": {(784, 10, 1, 9)},
    "vit": {(3072, 10, 1, 9)},
}
SECONDS_FOR_A_MEGABYTE = 2.0  # of processor time, on a busy machine


@pytest.mark.parametrize("benchmark", SIZES)
def test_all_properties_of_a_benchmark_are_read(benchmark):
    paths = sorted((BENCHMARKS / benchmark / "vnnlib").rglob("*.vnnlib*"))
    assert paths
    sizes = set[tuple[int, int, int, int]]()
    text_size = 0
    start = time.process_time()
    for path in paths:
        question = read_question(path)
        disjuncts = sum(len(case.unsafe) for case in question.cases)
        sizes.add((question.inputs, question.outputs, len(question.cases), disjuncts))
        assert not any(case.box.is_empty for case in question.cases)
    seconds = time.process_time() - start
    text_size = sum(len(read_text(path)) for path in paths)
    assert sizes <= SIZES[benchmark]
    assert seconds < 0.05 * len(paths) + SECONDS_FOR_A_MEGABYTE * text_size / 1e6


@pytest.mark.parametrize("benchmark", [name for name in SIZES if name not in ("acasxu", "nn4sys")])
def test_boxes_and_rows_are_those_that_a_search_for_words_finds(benchmark):
    for path in sorted((BENCHMARKS / benchmark / "vnnlib").rglob("*.vnnlib*"))[:20]:
        text = re.sub(r";[^\n]*", "", read_text(path))
        (case,) = read_question(path).cases
        ends: dict[str, dict[int, Fraction]] = {"<=": {}, ">=": {}}
        for sign, i, value in re.findall(r"\((<=|>=) X_(\d+) ([-+.\deE]+)\)", text):
            assert int(i) not in ends[sign]
            ends[sign][int(i)] = Fraction(value)
        assert dict(enumerate(case.box.lo)) == ends[">="]
        assert dict(enumerate(case.box.hi)) == ends["<="]
        comparisons = len(re.findall(r"\([<>]=? Y_", text))
        rows = {id(row) for disjunct in case.unsafe for row in disjunct}
        assert len(rows) == comparisons


@pytest.mark.parametrize("number", range(1, 11))
def test_acas_xu_asks_the_same_in_both_versions(number):
    old = read_query(BENCHMARKS / f"acasxu/vnnlib/prop_{number}.vnnlib.gz")
    new = read_query(BENCHMARKS / f"acasxu/vnnlib-2.0/prop_{number}.vnnlib.gz")
    assert old.question() == new.question()
    assert (old.element_types, new.element_types) == ({"real"}, {"float32"})


# -- the test queries of the standard ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("acc", (3, 1, 1, 2)),
        ("cartpole", (4, 2, 1, 1)),
        ("drones", (12, 1, 1, 2)),
        ("dubinsrejoin", (8, 8, 1, 1)),
        ("intermediate_nodes", (3, 5, 1, 2)),
        ("lunarlander", (8, 4, 1, 1)),
        ("single_network", (3, 4, 1, 4)),
    ],
)
def test_queries_of_the_standard_are_read(name, sizes):
    query = read_query(BENCHMARKS / f"vnnlib-2.0/{name}.vnnlib")
    question = query.question()
    (case,) = question.cases
    assert (question.inputs, question.outputs, len(question.cases), len(case.unsafe)) == sizes
    assert query.element_types == {"real"} and query.version == (2, 0)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("initialized", "A takes its value from the network's file"),
        ("mnist", r"X\[0,1\] has no lower bound"),
        ("multiple_networks", r"A\[1\] has no lower bound"),
        ("test_linearise", r"X\[2\] has no upper bound"),
    ],
)
def test_queries_of_the_standard_about_unbounded_inputs_say_which(name, says):
    query = read_query(BENCHMARKS / f"vnnlib-2.0/{name}.vnnlib")
    with pytest.raises(SubjectError, match=says):
        query.question()


def test_networks_of_the_standard_s_query_are_declared():
    query = read_query(BENCHMARKS / "vnnlib-2.0/multiple_networks.vnnlib")
    assert [(net.name, net.equal_to, net.isomorphic_to) for net in query.networks] == [
        ("AcasXu", "", ""),
        ("AcasYu", "AcasXu", ""),
        ("AcasZu", "", "AcasXu"),
    ]
    hidden = read_query(BENCHMARKS / "vnnlib-2.0/intermediate_nodes.vnnlib").networks[0].hidden
    assert [(tensor.name, tensor.shape, tensor.node) for tensor in hidden] == [
        ("N", (1, 2), "onnx")
    ]


def test_the_linear_forms_of_the_standard_are_worked_out():
    """The comments of the file say what each left side is."""
    query = read_query(BENCHMARKS / "vnnlib-2.0/test_linearise.vnnlib")
    assert not query.products
    rows = [(dict(row.inputs), row.bound) for row in query.formula.parts if hasattr(row, "bound")]  # type: ignore[union-attr]
    half = Fraction(7, 2)
    assert rows == [
        ({0: 1}, 5),
        ({0: -1}, 0),
        ({0: 1}, 5),
        ({0: -1}, -5),
        ({0: half}, 7),
        ({0: -2}, 0),
        ({0: 2}, 5),
        ({}, 0),
        ({0: 1, 1: -1}, -3),
        ({0: 1, 1: -1, 2: -1}, 0),
        ({0: -1, 1: -1}, -5),
        ({}, 0),
        ({0: 1}, 5),
        ({0: 1}, 5),
        ({}, 5),
        ({}, 2),
        ({1: 1, 0: -1}, -3),
        ({0: 6}, 18),
        ({1: 1, 0: 1, 2: -1}, 10),
    ]
