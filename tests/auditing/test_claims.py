"""Facts and thresholds say no more than was shown: of rows that were drawn, of numbers that were not computed, of
networks that were rounded."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.auditing.facts import (
    capacity,
    data_quality,
    evaluation,
    far_rows,
    large,
    robust_rows,
    signals,
)
from ftheta.auditing.facts import difference as differences
from ftheta.auditing.facts.difference import difference
from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.auditing.thresholds import parse_threshold, require
from ftheta.logic import Audit, Basis, Enclosure, Met, Section, Skipped, UsageError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network

TASKS = {task.id: task for task in plan_tasks() if task.is_fact}
FIRST_TWO = Network.described(
    Description((Dense(np.eye(2, 3), np.zeros(2), "identity"),)), "first two columns"
)


def part_of(id: str, net: Network) -> Part:
    found = perform(TASKS[id], [net], 0)
    assert isinstance(found, Part), found
    return found


def facts_of(found: Part) -> dict[str, Enclosure]:
    return {
        fact.key: fact.value
        for fact in found.facts
        if fact.key and isinstance(fact.value, Enclosure)
    }


def judge(text: str, *parts: Part) -> Met:
    section = Section(
        "s",
        "s",
        tuple(f for part in parts for f in part.facts),
        tuple(t for part in parts for t in part.tables),
    )
    audit = Audit("net", "Network", "", (), None, (), (), 0, "", "", sections=(section,))
    return require(audit, [parse_threshold(text)]).requirements[0].met


def wrong_at(wrong: int, n: int) -> Network:
    """A network that is wrong at so many of n rows."""
    x = np.random.default_rng(0).normal(size=(n, 3))
    y = x[:, :2].argmax(1)
    y[:wrong] = 1 - y[:wrong]
    return FIRST_TWO.with_data(Dataset("rows", x, y))


# ---- thresholds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [7, 14, 29])
def test_an_accuracy_on_the_limit_is_enough(wrong):
    """1 − 7/100 is less than 0.93 in float64."""
    found = part_of("test-error", wrong_at(wrong, 100))
    assert judge(f"accuracy >= {(100 - wrong) / 100}", found) is Met.MET
    assert judge(f"accuracy > {(100 - wrong) / 100}", found) is Met.MISSED
    assert judge(f"error <= {wrong / 100}", found) is Met.MET


def test_rows_that_were_drawn_decide_by_their_interval(monkeypatch):
    net = wrong_at(10, 200)
    monkeypatch.setattr(evaluation, "affordable", lambda net, work, least, most: 40)
    found = part_of("test-error", net)
    known = facts_of(found)
    assert known["accuracy"].samples == 40 and known["accuracy"].basis is Basis.SAMPLED
    assert known["accuracy_interval"].lo < 0.95 < known["accuracy_interval"].hi
    assert judge("accuracy >= 0.949", found) is judge("accuracy >= 0.951", found) is Met.UNKNOWN
    assert judge("accuracy >= 0.5", found) is judge("error <= 0.5", found) is Met.MET
    assert (
        judge("worst_class_accuracy >= 0.949", found)
        is judge("worst_class_accuracy <= 0.949", found)
        is Met.UNKNOWN
    )
    assert judge("worst_class_accuracy >= 0.2", found) is Met.MET


def test_nothing_is_known_of_a_class_of_which_no_row_was_drawn(monkeypatch):
    net = wrong_at(0, 200)
    assert net.data is not None and net.data.y is not None
    three = Network.described(
        Description((Dense(np.eye(3), np.zeros(3), "identity"),)), "all columns"
    )
    x = net.data.x - [0, 0, 100]  # so that class 2 is never predicted
    y = np.where(np.arange(200) == 3, 2, net.data.y)
    monkeypatch.setattr(evaluation, "affordable", lambda net, work, least, most: 40)
    found = part_of("test-error", three.with_data(Dataset("rows", x, y)))
    assert facts_of(found)["worst_class_accuracy"].lo == 1
    assert judge("worst_class_accuracy >= 0.2", found) is Met.UNKNOWN


def test_rows_that_were_drawn_decide_nothing_of_a_mean_without_a_largest_value(monkeypatch):
    """One row of 200 is off by 1000: 40 others say nothing of it."""
    x = np.random.default_rng(0).normal(size=(200, 1))
    y = x[:, 0].copy()
    y[0] = 1000.0
    net = Network.described(Description((Dense(np.eye(1), np.zeros(1), "identity"),)), "line")
    texts = ("squared_error <= 1", "rmse <= 1", "absolute_error <= 1", "r_squared >= 0.9")
    whole = part_of("test-error", net.with_data(Dataset("rows", x, y)))
    assert {judge(text, whole) for text in texts} == {Met.MISSED}
    monkeypatch.setattr(evaluation, "affordable", lambda net, work, least, most: 40)
    drawn = part_of("test-error", net.with_data(Dataset("rows", x, y)))
    assert (
        facts_of(drawn)["squared_error"].basis is Basis.SAMPLED
        and facts_of(drawn)["squared_error"].hi < 1
    )
    assert {judge(text, drawn) for text in texts} == {Met.UNKNOWN}


def test_predictions_that_change_in_float32_are_at_least_those_of_the_rows_drawn(monkeypatch):
    net = wrong_at(10, 200)
    assert judge("float32_flips == 0", part_of("precision", net)) is Met.MET
    monkeypatch.setattr(evaluation, "affordable", lambda net, work, least, most: 40)
    assert judge("float32_flips == 0", part_of("precision", net)) is Met.UNKNOWN


def test_the_gap_to_rows_of_training_that_were_drawn_has_two_intervals(monkeypatch):
    train = wrong_at(3, 300).data
    net = wrong_at(10, 40).with_train_data(train)
    whole = facts_of(part_of("train-test-gap", net))
    monkeypatch.setattr(evaluation, "affordable", lambda net, work, least, most: min(most, 100))
    drawn = facts_of(part_of("train-test-gap", net))
    assert whole["train_accuracy"].is_point and "train_accuracy_interval" not in whole
    assert drawn["train_accuracy_interval"].lo < 0.99 < drawn["train_accuracy_interval"].hi
    assert drawn["gap_interval"].width > whole["gap_interval"].width + 0.01


def test_no_row_without_a_label_is_right(classifier):
    labelled, nothing = classifier, replace(classifier, data=None)
    unlabelled = classifier.with_data(Dataset("rows", classifier.data.x, None))
    of = lambda net: judge("certified_accuracy(linf, 1e-5) >= 0.5", part_of("certified-rows", net))
    assert of(labelled) is Met.MET
    assert of(unlabelled) is of(nothing) is Met.UNKNOWN


def test_counts_on_rows_that_were_drawn_are_no_counts_of_all(monkeypatch):
    net = wrong_at(10, 200)
    dense = Dense(np.eye(2, 3), np.array([-100.0, 0.0]), "relu")
    other = Network.described(Description((dense, Dense(np.eye(2), np.zeros(2), "identity"))), "on")
    of = lambda text, id: judge(text, part_of(id, other.with_data(net.data)))
    asked = ("dead_neurons <= 2", "active-units"), ("effective_rank >= 0", "effective-rank")
    assert {of(*pair) for pair in asked} == {Met.MET}
    for module in (signals, capacity):
        monkeypatch.setattr(module, "affordable", lambda net, work, least, most: 40)
    assert [of(*pair) for pair in asked] == [Met.MET, Met.UNKNOWN]
    assert of("dead_neurons >= 1", "active-units") is Met.UNKNOWN


def test_predictions_that_changed_on_rows_that_were_drawn_are_at_least_as_many(monkeypatch):
    net = wrong_at(10, 200)
    flips = lambda: {
        f.key: f.value for f in difference(net, net, np.random.default_rng(0)).facts if f.key
    }
    assert flips()["against.flips"].hi == flips()["against.lost"].hi == 0
    monkeypatch.setattr(differences, "ROWS", 40)
    assert flips()["against.flips"].hi == flips()["against.lost"].hi == np.inf


@pytest.mark.parametrize("radius", ["0", "-1", "-0.01"])
def test_a_radius_is_positive(radius):
    with pytest.raises(UsageError, match="positive"):
        parse_threshold(f"certified_accuracy(linf, {radius}) >= 0.9")


@pytest.fixture
def classifier() -> Network:
    rng = np.random.default_rng(2)
    layers = random_mlp(rng, (16, 12, 4), bias=0.3)
    x = rng.normal(size=(10, 16))
    y = np.array([np.asarray(layers.apply(layers.params, row)) for row in x]).argmax(1)
    return Network.described(layers, "net").with_data(Dataset("rows", x, y))


def test_what_was_not_attacked_survives_no_attack(classifier, monkeypatch):
    monkeypatch.setattr(robust_rows, "LINEAR", 0)
    found = part_of("certified-rows", classifier)
    assert judge("attacked_accuracy(linf, 0.01) >= 0.5", found) is Met.UNKNOWN
    assert judge("certified_accuracy(linf, 1e-5) >= 0.5", found) is Met.MET


def test_what_was_not_certified_is_not_known_to_be_fragile(classifier, monkeypatch):
    monkeypatch.setattr(large, "LARGE", 0)
    found = part_of("certified-rows", classifier)
    assert judge("certified_accuracy(linf, 0.01) >= 0.5", found) is Met.UNKNOWN
    assert judge("attacked_accuracy(linf, 1e-6) >= 0.5", found) is Met.MET
    reached = facts_of(found)["attacked_within"].hi
    assert judge(f"attacked_accuracy(linf, {2 * reached}) >= 0.0", found) is Met.UNKNOWN


# ---- outputs that are no numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "id", ["train-test-gap", "margins", "calibration", "baselines", "label-errors"]
)
def test_no_prediction_is_read_off_an_output_that_is_not_finite(id):
    huge = Network.of(
        lambda x: jnp.stack([jnp.inf * (x[0] - x[0] + 1e300) * x[0], x[1]]), np.zeros(3)
    )
    x = np.random.default_rng(0).normal(size=(80, 3))
    data = Dataset("rows", x, np.arange(80) % 2)
    found = perform(
        TASKS[id], [huge.with_data(data).with_train_data(replace(data, name="train"))], 0
    )
    assert isinstance(found, Skipped) and "not finite" in found.reason


# ---- data ------------------------------------------------------------------------------------------------------------


def test_a_column_is_constant_in_all_rows_or_not_at_all(monkeypatch):
    monkeypatch.setattr(data_quality, "ROWS", 20)
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[:, 1] = 1.0
    x[:30, 2] = 2.0
    found = part_of("columns", FIRST_TWO.with_data(Dataset("rows", x, np.arange(40) % 2)))
    assert facts_of(found)["constant_columns"].lo == 1
    (fact,) = [fact for fact in found.facts if fact.key == "collinear_columns"]
    assert "20 of the 40 rows" in fact.note


def test_columns_that_repeat_another_up_to_noise_are_not_called_exact():
    x = np.random.default_rng(0).normal(size=(50, 3))
    x[:, 2] = x[:, 1] + 1e-7 * x[:, 0]
    found = part_of("columns", FIRST_TWO.with_data(Dataset("rows", x)))
    assert facts_of(found)["collinear_columns"] == Enclosure.equal(1)
    (finding,) = [finding for finding in found.findings if finding.rule == "collinear-columns"]
    assert not finding.basis.startswith("exact")


def test_the_range_of_training_is_that_of_all_its_rows(monkeypatch):
    monkeypatch.setattr(far_rows, "REFERENCE", 5)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(20, 3))
    train = np.concatenate([rng.uniform(-1, 1, size=(30, 3)), [[-1.0] * 3, [1.0] * 3]])
    net = FIRST_TWO.with_data(Dataset("rows", x)).with_train_data(Dataset("train", train))
    found = part_of("far-rows", net)
    assert facts_of(found)["outside_range"].hi == 0
    assert all("looked at (5 of 32)" in finding.says for finding in found.findings)


# ---- networks whose normal form is rounded ---------------------------------------------------------------------------


def rectify(factor: float | None) -> Network:
    """x ↦ r(cx) twice, with c = 1/√3 or a float."""

    def apply(x):
        c = jax.lax.rsqrt(jnp.asarray(3.0, x.dtype)) if factor is None else factor
        return jnp.stack([jnp.maximum(c * x[0], 0.0), jnp.maximum(c * (x[0] - 10.0), 0.0)])

    return Network.of(apply, np.zeros(1)).with_data(Dataset("rows", np.linspace(-1, 1, 9)[:, None]))


def equality(one: Network, two: Network) -> str:
    found = difference(one, two, np.random.default_rng(0))
    (fact,) = [fact for fact in found.facts if fact.name == "equality"]
    assert isinstance(fact.value, str)
    return fact.value


def test_rounded_networks_are_neither_proved_equal_nor_different():
    """No float is 1/√3, so that the functions differ, though the normal forms have the same numbers."""
    with jax.enable_x64(True):
        near = float(jax.lax.rsqrt(jnp.asarray(3.0)))
    with jax.enable_x64(True):
        assert equality(rectify(None), rectify(near)).startswith("open")
        assert equality(rectify(None), rectify(0.5)).startswith("open")
        assert equality(rectify(0.5), rectify(0.5)).startswith("proved")
        assert equality(rectify(0.5), rectify(0.25)).startswith("refuted")


def test_neurons_of_a_rounded_network_are_dead_up_to_rounding():
    with jax.enable_x64(True):
        rounded = part_of("units-on-the-box", rectify(None))
        exact = part_of("units-on-the-box", rectify(0.5))
    assert facts_of(rounded)["proved_dead_neurons"].basis is Basis.FLOAT
    assert facts_of(exact)["proved_dead_neurons"] == Enclosure.exact(1)
    assert [finding.basis.split(",")[0] for finding in (*rounded.findings, *exact.findings)] == [
        "computed in float64",
        "proved",
    ]


def test_a_list_of_layers_that_is_not_the_function_proves_nothing_of_it():
    layers = Description(
        (
            Dense(np.ones((2, 1)), np.zeros(2), "relu"),
            Dense(np.ones((1, 2)), np.zeros(1), "identity"),
        )
    )
    told = Network.described(layers)
    assert facts_of(part_of("canonical-form", told))["duplicate_neurons"] == Enclosure.exact(1)
    other = replace(told, apply=lambda params, x: layers.apply(params, x) + 1e-13 * jnp.sin(x))
    found = perform(TASKS["canonical-form"], [other], 0)
    assert isinstance(found, Skipped) and "not shown" in found.reason


def test_blocks_whose_weights_are_computed_on_the_way_are_invertible_up_to_rounding():
    W = np.random.default_rng(0).normal(size=(2, 2))

    def apply(x):
        for _ in range(2):
            x = x + jnp.tanh((0.5 * W / jnp.linalg.norm(W)) @ x)
        return x

    known = facts_of(part_of("residual-blocks", Network.of(apply, np.zeros(2))))[
        "invertible_blocks"
    ]
    assert known.lo == 2 and known.basis is Basis.FLOAT


def overconfident(rows: int) -> Network:
    """A classifier that is sure of everything, and wrong on every third row."""
    y = np.arange(rows) % 2
    x = np.zeros((rows, 3))
    x[np.arange(rows), np.where(np.arange(rows) % 3 == 0, 1 - y, y)] = 8.0
    return FIRST_TWO.with_data(Dataset("rows", x, y))


@pytest.mark.parametrize("rows, advised", [(32, False), (400, True)])
def test_a_temperature_is_advised_where_there_are_enough_rows_to_fit_one(rows, advised):
    (found,) = part_of("calibration", overconfident(rows)).findings
    assert found.says.startswith("Overconfident")
    assert found.remedy.startswith("divide the logits") == advised


def test_no_temperature_is_advised_where_none_helps():
    """Half of the rows are too sure, the others too unsure: the best temperature is 1."""
    n = 4000
    k = np.arange(n)
    logit = np.where(k % 2, np.log(9.0), np.log(1.5))
    right = np.where(k % 2, k % 80 < 66, True)
    x = np.zeros((n, 3))
    x[:, 0] = logit
    cross = lambda t: np.mean(np.log1p(np.exp(np.where(right, -1, 1) * logit * t)))
    assert cross(1.0) - min(map(cross, np.linspace(0.5, 2, 301))) < 1e-4
    rows = Dataset("rows", x, np.where(right, 0, 1))
    (found,) = part_of("calibration", FIRST_TWO.with_data(rows)).findings
    assert "confident" in found.says and "more rows" in found.remedy


def test_a_temperature_is_advised_where_few_rows_are_wrong_but_with_confidence():
    n = 360
    x = np.zeros((n, 3))
    x[np.arange(n), np.arange(n) % 2] = 8.0
    y = np.where(np.arange(n) % 36 == 0, 1 - np.arange(n) % 2, np.arange(n) % 2)
    (found,) = part_of("calibration", FIRST_TWO.with_data(Dataset("rows", x, y))).findings
    assert found.remedy.startswith("divide the logits")


def test_confidence_far_away_is_that_of_a_network_that_gives_probabilities_itself():
    """Of probabilities softmax would make at most e / (e + 2) = 0.58, however sure the network is."""
    sure = Network("sure", lambda p, x: jax.nn.softmax(p * x), np.float64(5.0), (3,))
    rows = np.random.default_rng(5).normal(size=(20, 3))
    found = {f.key: f.value for f in part_of("rays", sure.with_data(Dataset("rows", rows))).facts}
    assert found["far_confidence"].middle > 0.99
