"""Labels and the outputs they belong to: what is matched, what is said, and what is refused."""

import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.auditing.facts.warnings import below_majority, data_warnings
from ftheta.logic import SubjectError
from ftheta.networks import Dense, Description
from ftheta.report.verdicts import remarks
from ftheta.subjects import Dataset, Network
from ftheta.subjects.files import from_rows, with_notes

from ..thoroughness import max_examples

NAMES = np.array(["zero", "one", "two"])


def identity(classes: tuple[str, ...] = ()) -> Network:
    """Three outputs; the prediction is the largest entry of the input."""
    net = Network.described(Description((Dense(np.eye(3), np.zeros(3)),)), "identity")
    return Network(
        net.name, net.apply, net.params, net.input_shape, net.description, classes=classes
    )


def rows(y: np.ndarray) -> np.ndarray:
    """Inputs that the network predicts as `y`, no two alike."""
    return np.eye(3)[y] * 5 + np.arange(len(y))[:, None] / 100


Y = np.array([0, 1, 2, 2, 1, 0, 2])


def labels(data: Dataset | None) -> list[int]:
    assert data is not None and data.y is not None
    return data.y.tolist()


# ---- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "coded", [NAMES[Y], NAMES[Y].astype("S5"), NAMES[Y].astype(object), NAMES[Y][:, None]]
)
def test_words_that_the_network_knows_are_its_outputs(coded):
    data = identity(("zero", "one", "two")).with_data(from_rows(rows(Y), "data", coded)).data
    assert (
        labels(data) == Y.tolist() and data is not None and data.classes == ("zero", "one", "two")
    )
    assert any("by their names" in note for note in data.notes) and not any(
        "alphabetical" in n for n in data.notes
    )


def test_words_that_nobody_knows_are_numbered_in_alphabetical_order_and_that_is_said():
    data = identity().with_data(from_rows(rows(Y), "data", NAMES[Y])).data
    assert labels(data) == [["one", "two", "zero"].index(str(NAMES[y])) for y in Y]
    assert data is not None and any(
        "alphabetical order (0 = one, 1 = two, 2 = zero)" in note for note in data.notes
    )


def test_one_output_decides_between_two_words_as_scikit_learn_numbers_them():
    neural = pytest.importorskip("sklearn.neural_network")
    words = np.array(["yes", "no"])
    x = np.random.default_rng(0).normal(size=(30, 3))
    y = words[(x[:, 0] > 0).astype(int)]
    model = neural.MLPClassifier((4,), solver="lbfgs", random_state=0).fit(x, y)
    one_output = Network.described(
        Description((Dense(np.ones((1, 3)), np.zeros(1)),)), "one output"
    )
    data = one_output.with_data(from_rows(x, "data", y)).data
    assert [model.classes_[label] for label in labels(data)] == y.tolist()
    with pytest.raises(SubjectError, match="which outputs"):
        one_output.with_data(from_rows(x, "data", np.resize(["yes", "no", "perhaps"], len(x))))


@pytest.mark.parametrize("words", [["a", "b"], ["a", "b", "c", "d"]])
def test_words_without_an_output_of_their_own_are_refused(words):
    with pytest.raises(SubjectError, match="not clear which outputs"):
        identity().with_data(from_rows(rows(Y), "data", np.resize(words, len(Y))))
    with pytest.raises(SubjectError, match="none of the classes"):
        identity(("zero", "one", "two")).with_data(
            from_rows(rows(Y), "data", np.resize(words, len(Y)))
        )


def test_names_of_numbered_labels_change_no_number():
    """A data set may name its classes 0, 1, 2; their order is its own."""
    data = identity().with_data(Dataset("data", rows(Y), Y, classes=tuple(NAMES))).data
    assert labels(data) == Y.tolist() and data is not None and data.notes == ()


def test_numbers_that_are_names_of_classes_are_matched():
    data = (
        identity(("3", "5", "7")).with_data(Dataset("data", rows(Y), np.array([3, 5, 7])[Y])).data
    )
    assert labels(data) == Y.tolist()
    assert (
        labels(identity(("3", "5", "7")).with_data(Dataset("data", rows(Y), Y)).data) == Y.tolist()
    )


def test_classes_of_scikit_learn_are_the_names_of_outputs():
    neural = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(0)
    for names in (NAMES, np.array([4, 8, 9]), np.array([4.0, 8.0, 9.0])):
        x = rng.normal(size=(30, 3))
        y = rng.integers(0, 3, 30)
        model = neural.MLPClassifier((4,), max_iter=1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one step of training is enough here
            model.fit(x, names[y])
        for outputs in ("logits", "probabilities"):
            net = ft.load(model, outputs=outputs)
            assert isinstance(net, Network)
            data = net.with_data(
                from_rows(x, "data", names[y].astype(int) if names.dtype.kind == "f" else names[y])
            )
            predicted = np.array([int(np.argmax(data(row))) for row in x])
            assert ((predicted == labels(data.data)) == (model.predict(x) == names[y])).all()


# ---- one-hot rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float, int, bool])
def test_one_hot_rows_are_classes_and_that_is_said(dtype):
    data = identity().with_data(Dataset("data", rows(Y), np.eye(3, dtype=dtype)[Y])).data
    assert (
        labels(data) == Y.tolist()
        and data is not None
        and any("one-hot" in note for note in data.notes)
    )


@pytest.mark.parametrize("odd", [0.5, 2.0, -1.0])
def test_rows_that_are_not_one_hot_stay_targets(odd):
    targets = np.eye(3)[Y]
    targets[3] = [odd, 1 - odd, 0]
    data = identity().with_data(Dataset("data", rows(Y), targets)).data
    assert data is not None and data.y is not None and data.y.shape == (7, 3) and data.notes == ()


# ---- contradictions --------------------------------------------------------------------------------------------------


@max_examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30),
    st.booleans(),
)
def test_the_noise_floor_of_classes_is_that_of_brute_force(pairs, one_hot):
    x = np.array([[float(a)] for a, _ in pairs])
    y = np.array([b for _, b in pairs])
    y = np.minimum(y, len(y) - 1)
    seen = defaultdict(Counter)
    for a, b in zip(x[:, 0], y.tolist()):
        seen[a][b] += 1
    rows_apart = sum(sum(counts.values()) for counts in seen.values() if len(counts) > 1)
    right = sum(max(counts.values()) for counts in seen.values())
    notes = [
        note
        for note in with_notes(Dataset("data", x, np.eye(4)[y] if one_hot else y)).notes
        if "another label" in note
    ]
    if not rows_apart:
        assert notes == []
        return
    (note,) = notes
    assert note.startswith(f"{rows_apart} of {len(y)} rows") and f"more than {right} rows" in note


def test_the_noise_floor_of_targets_is_the_variance_within_equal_rows():
    data = with_notes(Dataset("data", np.array([[1.0], [1.0], [2.0]]), np.array([0.5, 1.5, 7.25])))
    (note,) = [note for note in data.notes if "another label" in note]
    assert note.startswith("2 of 3 rows") and note.endswith(f"{0.5 / 3:.3g})")


def test_a_note_is_said_once():
    data = ft.load(Dataset("data", np.ones((2, 1)), np.array([0, 1])))
    assert isinstance(data, Dataset) and any("another label" in note for note in data.notes)
    again = ft.load(data)
    assert isinstance(again, Dataset) and again.notes == data.notes


# ---- accuracies ------------------------------------------------------------------------------------------------------


def test_an_accuracy_below_majority_is_said_with_the_best_renaming():
    net = identity().with_data(from_rows(rows(Y), "data", NAMES[Y]))
    told = [str(fact.value) for fact in data_warnings(net, np.random.default_rng(0)).facts]
    assert "alphabetical" in told[0]
    assert any("below the majority-class rate" in note and "accuracy 1" in note for note in told)


@max_examples(100)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_the_warning_comes_if_and_only_if_the_accuracy_is_below_majority(pairs):
    guessed, classes = (np.array(column) for column in zip(*pairs))
    warned = below_majority(guessed, classes, 3)
    assert bool(warned) == ((guessed == classes).sum() < max(Counter(classes.tolist()).values()))


def test_data_without_faults_get_no_warning():
    net = identity().with_data(Dataset("data", rows(Y), Y))
    assert data_warnings(net, np.random.default_rng(0)).facts == ()


def test_a_check_says_what_is_wrong_with_its_data():
    data = from_rows(rows(Y), "data", NAMES[Y])
    result = ft.check("softmax-calculus", identity(), with_data=data)
    assert any("alphabetical" in warning for warning in result.provenance.data_warnings)
    assert any(
        remark.startswith("data warning: the labels are words") for remark in remarks(result)
    )
    assert ft.check("softmax-calculus").provenance.data_warnings == ()
