"""Facts about data, on data whose faults were put there."""

import numpy as np
import pytest

from ftheta.auditing.facts import FACTS
from ftheta.auditing.facts.baselines import ROWS
from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.logic import Skipped
from ftheta.networks import Dense, Description
from ftheta.subjects import Dataset, Network

TASKS = {task.id: task for task in plan_tasks([fact.id for fact in FACTS])}
NET = Network.described(
    Description((Dense(np.eye(3, 4), np.zeros(3), "identity"),)), "first three columns"
)


def part(id: str, net: Network) -> Part:
    found = perform(TASKS[id], [net], 0)
    assert isinstance(found, Part), found
    return found


def value(found: Part, key: str) -> float:
    (known,) = [fact.value for fact in found.facts if fact.key == key]
    assert not isinstance(known, str)
    return known.lo


def severities(found: Part) -> dict[str, str]:
    return {finding.rule: finding.severity.value for finding in found.findings}


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 4))


def test_rows_that_repeat_and_contradict_are_counted(rows):
    x = np.concatenate([rows, rows[:5], rows[:2]])
    x[-1] = -0.0 * x[-1] + x[1]  # equal, whatever the sign of zero
    y = np.concatenate([np.arange(60) % 3, np.arange(5) % 3, [0, 2]])
    found = part("duplicates", NET.with_data(Dataset("d", x, y)))
    assert value(found, "duplicates") == 7
    by_hand = sum(
        any(np.array_equal(x[i], x[j]) and y[i] != y[j] for j in range(67)) for i in range(67)
    )
    assert value(found, "conflicting_labels") == by_hand == 3
    assert severities(found) == {"duplicates": "warning", "conflicting-labels": "warning"}


def test_rows_of_training_are_found_among_the_data(rows):
    net = NET.with_data(Dataset("test", rows[:30])).with_train_data(
        Dataset("train", np.concatenate([rows[28:], rows[:1]]))
    )
    found = part("shared-rows", net)
    assert value(found, "shared_rows") == 3 and severities(found) == {"shared-rows": "problem"}
    clean = part("shared-rows", net.with_train_data(Dataset("train", rows[30:])))
    assert value(clean, "shared_rows") == 0 and not clean.findings


def test_columns_that_are_constant_repeat_or_dwarf_others_are_found(rows):
    x = rows.copy()
    x[:, 1] = 3.0
    x[:, 3] = -2e4 * x[:, 0]
    found = part("columns", NET.with_data(Dataset("d", x, np.repeat([0, 1], [57, 3]))))
    assert value(found, "constant_columns") == 1 and value(found, "collinear_columns") == 1
    assert value(found, "imbalance") == 19 and value(found, "column_scales") > 1e4
    names = {"constant-columns", "column-scales"}
    assert names == {rule for rule, word in severities(found).items() if word == "warning"}


def test_a_shift_between_training_and_data_is_noticed_and_none_is_not(rows):
    train = Dataset("train", np.random.default_rng(1).normal(size=(80, 4)))
    same = part("two-samples", NET.with_data(Dataset("d", rows)).with_train_data(train))
    moved = part("two-samples", NET.with_data(Dataset("d", rows + 1)).with_train_data(train))
    assert severities(same) == {"shift": "good"} and severities(moved) == {"shift": "warning"}


def test_labels_that_nobody_believes_are_listed_by_row():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 600)
    x = np.concatenate(
        [10 * np.eye(3)[y] + 0.1 * rng.normal(size=(600, 3)), np.zeros((600, 1))], axis=1
    )
    mistaken = np.sort(rng.permutation(600)[:18])
    wrong = y.copy()
    wrong[mistaken] = (y[mistaken] + 1) % 3
    found = part("label-errors", NET.with_data(Dataset("d", x, wrong)))
    assert {row[0] for row in found.tables[0].rows} <= set(mistaken) and value(
        found, "label_errors"
    ) == 18
    assert severities(found) == {"label-errors": "warning"}


def known(found: Part, key: str) -> bool:
    return any(fact.key == key for fact in found.facts)


def test_wrong_labels_among_some_of_the_rows_are_no_count_of_all():
    """A threshold on `label_errors` is about all rows: of data of which some were looked at it is unknown."""
    y = np.arange(ROWS + 1) % 3
    x = np.concatenate([np.eye(3)[y], np.zeros((len(y), 1))], axis=1)
    whole = part("label-errors", NET.with_data(Dataset("d", x[:-1], y[:-1])))
    some = part("label-errors", NET.with_data(Dataset("d", x, y)))
    assert known(whole, "label_errors") and not known(some, "label_errors")
    assert [fact.name for fact in some.facts] == [fact.name for fact in whole.facts]


def test_classes_that_overlap_are_no_wrong_labels():
    """Two normal laws whose means are two standard deviations apart, judged by the best classifier of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    x = rng.normal(size=(600, 2)) + 2.0 * y[:, None] * np.array([1.0, 0.0])
    best = Network.described(
        Description((Dense(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([1.0, -1.0])),))
    )
    found = part("label-errors", best.with_data(Dataset("d", x, y)))
    assert len(found.tables[0].rows) > 10 and severities(found) == {}


def test_what_is_invisible_in_a_table_is_measured_by_its_narrowest_column():
    """One class is x₁ > 0 with x₁ of size 1, beside a column of size 10⁴: no row that is away from 0 flips."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.choice([-1.0, 1.0], 60), 1e4 * rng.normal(size=60)], axis=1)
    net = Network.described(Description((Dense(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.zeros(2)),)))
    found = part("certified-rows", net.with_data(Dataset("d", x, (x[:, 0] > 0).astype(int))))
    assert severities(found).get("small-changes") == "good"


def test_the_gap_is_the_difference_of_two_accuracies():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 100)
    x = np.concatenate([np.eye(3)[y], np.zeros((100, 1))], axis=1)
    noisy = y.copy()
    noisy[:30] = (noisy[:30] + 1) % 3
    found = part(
        "train-test-gap", NET.with_data(Dataset("d", x, noisy)).with_train_data(Dataset("t", x, y))
    )
    assert value(found, "gap") == pytest.approx(0.3) and value(found, "train_accuracy") == 1
    assert severities(found) == {"gap": "problem"}  # at 95 % it is above 0.2


def test_without_rows_of_training_it_is_said_how_to_give_them(rows):
    for id in ("shared-rows", "two-samples", "train-test-gap"):
        found = perform(TASKS[id], [NET.with_data(Dataset("d", rows, np.arange(60) % 3))], 0)
        assert isinstance(found, Skipped) and "--train" in found.remedy


def test_rows_outside_the_hull_of_training_are_counted_by_certificates():
    """In the square of training a diamond: its corners are out of the hull, though no column is out of range."""
    rng = np.random.default_rng(4)
    inside = rng.uniform(-1, 1, size=(300, 2))
    diamond = np.concatenate(
        [inside[np.abs(inside).sum(1) < 1], [[1, 0], [-1, 0], [0, 1], [0, -1]]]
    )
    train = Dataset("train", np.column_stack([diamond, np.ones((len(diamond), 2))]))
    corners = np.sign(rng.normal(size=(15, 2))) * rng.uniform(0.8, 0.95, size=(15, 2))
    both = np.concatenate([corners, 0.4 * inside[:15]])
    x = np.column_stack([both, np.ones((30, 2))])
    found = part("hull-rows", NET.with_data(Dataset("d", x)).with_train_data(train))
    assert value(found, "outside_hull") == 15 and severities(found) == {"outside-hull": "note"}
    assert {row[0] for row in found.tables[0].rows} <= set(range(15))
    scale = diamond.std(0)
    reach = {k: (np.abs(both[k]).sum() - 1) / np.linalg.norm(scale) for k in range(15)}
    assert all(0.5 * reach[k] < far <= reach[k] * (1 + 1e-9) for k, far in found.tables[0].rows)


def test_rows_of_the_law_of_training_are_not_called_outside():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        train = Dataset("train", rng.normal(size=(120, 4)))
        net = NET.with_data(Dataset("d", rng.normal(size=(50, 4)))).with_train_data(train)
        found = part("hull-rows", net)
        assert 0 < value(found, "outside_hull") < 40 and not found.findings


def test_no_row_is_tried_where_nearly_all_are_outside(rows):
    few = NET.with_data(Dataset("d", rows)).with_train_data(Dataset("train", rows[:4]))
    (fact,) = part("hull-rows", few).facts
    assert fact.value.startswith("not tried") and "cannot surround" in fact.value
    wide = np.random.default_rng(0).normal(size=(60, 30))
    broad = Network.described(
        Description((Dense(np.eye(3, 30), np.zeros(3), "identity"),)), "broad"
    )
    many = broad.with_data(Dataset("d", wide)).with_train_data(Dataset("train", wide))
    assert "uniform in a ball" in part("hull-rows", many).facts[0].value
    enough = part("hull-rows", few.with_train_data(Dataset("train", rows[:6])))
    assert value(enough, "outside_hull") > 0
