"""Data sets by name: what they hold, that a seed fixes them, and that splits are disjoint."""

import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.datasets import dataset, dataset_of_words, knobs_of, operation_table, shared_rows, split
from ftheta.datasets.mnist1d import templates
from ftheta.datasets.naming import SETS
from ftheta.datasets.operations import group_table
from ftheta.logic import SubjectError, UsageError

from ..thoroughness import max_examples

RANDOM = (
    "moons",
    "circles",
    "spirals",
    "blobs",
    "xor",
    "checkerboard",
    "teacher-student",
    "gaussian-design",
)


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_rows_with_labels_and_a_subject(name):
    knobs = {"n": 200} if "n" in knobs_of(name) else {}
    found = dataset(name, **knobs)
    assert len(found.x) == len(found.y) == len(found) and np.isfinite(found.x).all()
    assert not found.columns or len(found.columns) == found.x.shape[1]
    assert not found.classes or set(found.y.tolist()) <= set(range(len(found.classes)))
    subject = ft.load(",".join([name, *(f"{key}={value}" for key, value in knobs.items())]))
    assert isinstance(subject, ft.Dataset) and np.array_equal(subject.x, found.x)
    assert np.array_equal(subject.y, found.y) and subject.columns == found.columns  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_fixes_the_data_and_another_changes_them(name):
    again = dataset(name, seed=3)
    other = dataset(name, seed=4)
    assert np.array_equal(dataset(name, seed=3).x, again.x) and not np.array_equal(again.x, other.x)


def test_the_global_random_state_is_left_alone():
    state = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]  # noqa: NPY002
    dataset("mnist1d", n=100)
    assert (np.random.get_state()[1] == state).all()  # type: ignore[index]  # noqa: NPY002


def test_the_bundled_sets_are_those_of_scikit_learn():
    from sklearn import datasets as peer

    for name in ("iris", "wine", "breast_cancer", "diabetes"):
        x, y = getattr(peer, f"load_{name}")(return_X_y=True)
        found = dataset(name)
        assert np.array_equal(found.x, x) and np.array_equal(found.y, y)
    x, _ = peer.load_digits(return_X_y=True)
    assert np.array_equal(dataset("digits").x * 16, x)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match="pip install scikit-learn"):
        dataset("iris")


def test_mnist1d_is_the_published_set():
    """Numbers of `mnist1d.data.make_dataset()` of the package mnist1d 0.0.2.post1, at its own seed 42."""
    found = dataset("mnist1d")
    assert found.x.shape == (5000, 40) and np.bincount(found.y).tolist() == [500] * 10
    assert found.y[:10].tolist() == [2, 6, 4, 5, 6, 6, 6, 0, 3, 1]
    assert found.x[0, :4] == pytest.approx(
        [-0.33200567, -0.47191037, -0.77869708, -1.00974083], abs=1e-8
    )
    assert found.x.mean() == pytest.approx(0, abs=1e-12) and found.x.std() == pytest.approx(1)


def test_mnist1d_is_what_its_package_makes(monkeypatch):
    for module in (
        "requests",
        "matplotlib",
        "matplotlib.pyplot",
    ):  # it imports them and does not need them
        if module not in sys.modules:
            monkeypatch.setitem(sys.modules, module, ModuleType(module))
    peer = pytest.importorskip("mnist1d.data")
    args = peer.get_dataset_args()
    args.seed = 7
    args.num_samples = 300
    made = peer.make_dataset(args)
    ours = dataset("mnist1d", seed=7, n=300)
    assert np.allclose(np.concatenate([made["x"], made["x_test"]]), ours.x, atol=1e-12)
    assert np.array_equal(np.concatenate([made["y"], made["y_test"]]), ours.y)
    assert np.allclose(made["templates"]["x"], templates())


# ---- what the toys are, by their definition --------------------------------------------------------------------------


def test_moons_and_circles_lie_on_circles():
    moons = dataset("moons", noise=0.0)
    circles = dataset("circles", noise=0.0, ratio=0.3)
    centres = np.where((moons.y == 0)[:, None], (0, 0), (1, 0.5))
    assert np.allclose(np.linalg.norm(moons.x - centres, axis=1), 1)
    assert (np.where(moons.y == 0, 1, -1) * (moons.x - centres)[:, 1] >= -1e-12).all()
    assert np.allclose(np.linalg.norm(circles.x, axis=1), np.where(circles.y == 0, 1, 0.3))


def test_every_arm_of_the_spirals_is_the_first_one_turned():
    found = dataset("spirals", noise=0.0, classes=3, turns=2.0)
    z = found.x[:, 0] + 1j * found.x[:, 1]
    turned = z * np.exp(-2j * np.pi * (2 * abs(z) + found.y / 3))
    assert np.allclose(turned.imag, 0, atol=1e-12) and (turned.real > 0).all()


def test_xor_and_checkerboard_are_labelled_by_their_squares():
    xor = dataset("xor")
    board = dataset("checkerboard", fields=2)
    assert ((np.sign(xor.x).prod(1) < 0) == xor.y).all()
    assert (
        (np.sign(board.x).prod(1) < 0) == board.y
    ).all()  # two by two fields are the signs again


def test_the_truth_of_the_models_makes_their_targets():
    line = dataset("gaussian-design", noise=0.0, signal=2.0)
    taught = dataset("teacher-student", activation="tanh")
    assert np.allclose(line.x @ line.truth["beta"], line.y) and np.linalg.norm(
        line.truth["beta"]
    ) == pytest.approx(2)
    W = taught.truth["W"]
    a = taught.truth["a"]
    assert np.allclose(np.tanh(taught.x @ W.T) @ a / np.sqrt(len(a)), taught.y)
    noisy = dataset("gaussian-design", n=40_000, noise=0.5)
    spread = (noisy.y - noisy.truth["clean"]).var() / 0.25
    assert abs(spread - 1) < 5 * np.sqrt(2 / 40_000)


# ---- operations ------------------------------------------------------------------------------------------------------


def test_the_modular_tables_are_the_operations():
    for p in (5, 7):
        for operation, value in (
            ("a+b", lambda a, b: a + b),
            ("a^3+ab", lambda a, b: a**3 + a * b),
        ):
            found = dataset("modular", p=p, operation=operation)
            assert [value(int(a), int(b)) % p for a, b in found.x] == found.y.tolist() and len(
                found
            ) == p * p
        quotient = dataset("modular", p=p, operation="a/b")
        assert (
            len(quotient) == p * (p - 1)
            and ((quotient.y * quotient.x[:, 1] - quotient.x[:, 0]) % p == 0).all()
        )
    assert len(dataset("modular")) == 9409


@pytest.mark.parametrize("of, order", [("Z7", 7), ("S4", 24), ("A5", 60), ("D5", 10), ("Q8", 8)])
def test_the_group_tables_satisfy_the_axioms(of, order):
    names, table = group_table(of)
    assert len(names) == len(set(names)) == len(table) == order
    assert all(sorted(line) == list(range(order)) for line in (*table.tolist(), *table.T.tolist()))
    # (ab)c and a(bc)
    left = table[table]
    right = table[:, table]
    assert np.array_equal(left, right)
    unit = [
        e
        for e in range(order)
        if (table[e] == np.arange(order)).all() and (table[:, e] == np.arange(order)).all()
    ]
    assert len(unit) == 1 and np.array_equal(table, table.T) == (of == "Z7")
    if of == "Q8":  # it has one element of order two, the dihedral group of eight elements has five
        assert (np.diag(table) == unit[0]).sum() == 2 and (
            np.diag(group_table("D4")[1]) == 0
        ).sum() == 6


def test_any_operation_is_data():
    found = operation_table(np.maximum.outer(np.arange(4), np.arange(4)))
    assert found.x.tolist()[5] == [1, 1] and (found.y == found.x.max(1)).all()
    for bad in (np.zeros((2, 3), int), np.ones((2, 2)), np.full((2, 2), 2)):
        with pytest.raises(UsageError):
            operation_table(bad)


# ---- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, part",
    [
        ("moons,n", "have values"), ("moons,size=3", "no such knob"), ("moons,n=x", "no whole number"),
        ("moons,n=0", "out of its range"), ("moons,n=1.5", "no whole number"), ("moons,seed=-1", "A seed"),
        ("iris,n=3", "no such knob"), ("modular,operation=a%b", "no such operation"),
        ("modular,p=9,operation=a/b", "prime"), ("group,of=M11", "no such group"), ("modular,p=1000", "elements"),
        ("mnist1d,n=9", "one row a digit"), ("teacher-student,activation=cube", "no such activation"),
        ("gaussian-design,n=1000000,d=1000000", "too large"), ("moons,noise=-1", "out of its range"),
    ],
)  # fmt: skip
def test_words_that_are_wrong_say_so(words, part):
    with pytest.raises(UsageError, match=part):
        ft.load(words)


def test_names_that_are_close_are_suggested():
    assert dataset_of_words("nothing") is None
    with pytest.raises(UsageError, match="moons"):
        dataset("moon")
    with pytest.raises(SubjectError, match="checkerboard"):
        ft.load("chekerboard")


# ---- splits ----------------------------------------------------------------------------------------------------------


@max_examples(60)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=60), st.floats(0.05, 0.95), st.integers(0, 99)
)
def test_a_split_is_disjoint_complete_and_stratified(labels, share, seed):
    labels = np.array(labels)
    for stratify in (None, labels):
        parts = split(len(labels), test=share, seed=seed, stratify=stratify)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
        assert len(parts.test) == min(max(round(share * len(labels)), 1), len(labels) - 1)
        assert np.array_equal(
            parts.test, split(len(labels), test=share, seed=seed, stratify=stratify).test
        )
    for c in np.unique(labels):
        expected = (labels == c).sum() * len(parts.test) / len(labels)
        assert abs((labels[parts.test] == c).sum() - expected) < 1


def test_rows_in_both_parts_are_found():
    train = np.array([[1.0, 2.0], [0.0, 3.0], [5.0, 5.0]])
    test = np.array([[7, 7], [0, 3], [2, 1]])
    assert (
        shared_rows(test, train).tolist() == [1] and shared_rows(train, test * -1.0).tolist() == []
    )
    assert shared_rows(np.array([[-0.0, 3.0]]), train).tolist() == [0]
    with pytest.raises(UsageError):
        shared_rows(train, train[:, :1])
    with pytest.raises(UsageError, match="both sides"):
        split(1)


# ---- the command line ------------------------------------------------------------------------------------------------


def test_names_are_subjects_of_the_commands(capsys):
    from ftheta.cli import run

    assert (
        run(["fit", "moons,n=40", "--loss", "cross-entropy", "--widths", "4", "--steps", "3"]) == 0
    )
    assert "moons,n=40 (40 rows)" in capsys.readouterr().out
    assert run(["check", "double-descent", "--on", "gaussian-design,n=40,d=30", "--n", "10"]) in (
        0,
        3,
    )
    assert "gaussian-design,n=40,d=30" in capsys.readouterr().out
    assert run(["fit", "moons,n=x"]) == 2
