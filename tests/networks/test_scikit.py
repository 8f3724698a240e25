"""scikit-learn is the judge: its predictions and probabilities, to 1e-10."""

import warnings
from typing import Any

import jax
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import ftheta as ft
from ftheta.logic import SubjectError, UsageError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) * [1, 10, 100, 1e-3] + [0, 5, 500, 1]
TARGETS = np.stack([X[:, 0] * 3, X[:, 1] - X[:, 0]], axis=1)
CLASSES = RNG.integers(0, 3, 80)
WORDS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]


def network(source, *example, **asked) -> ft.Network:
    found = ft.load(source, *example, **asked)
    assert isinstance(found, ft.Network)
    return found


def fitted(model: Any, y, x=X) -> Any:
    fixed = {name: 0 for name in model.get_params() if name.endswith("random_state")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few steps do not converge
        return model.set_params(**fixed).fit(x, y)


def values(net, x=X):
    return np.asarray(jax.vmap(net)(x))


def close(found, wanted, tolerance=1e-10):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("word", ["identity", "logistic", "tanh", "relu"])
def test_a_regressor_predicts_the_same(word):
    model = fitted(MLPRegressor(hidden_layer_sizes=(8, 5), activation=word, max_iter=20), TARGETS)
    net = network(model)
    close(values(net), model.predict(X))
    assert (
        net.description is not None
        and net.description.widths == (4, 8, 5, 2)
        and net.name == "MLPRegressor"
    )


def test_a_poisson_regressor_predicts_rates():
    model = MLPRegressor(loss="poisson", hidden_layer_sizes=(4,), max_iter=20)
    model = fitted(make_pipeline(StandardScaler(), model), CLASSES)
    close(values(network(model))[:, 0], model.predict(X))


def test_the_logits_of_a_classifier_have_its_probabilities_as_softmax():
    model = fitted(MLPClassifier((8,), max_iter=20), CLASSES)
    net = network(model)
    close(
        np.asarray(jax.nn.softmax(values(net), axis=-1), np.float32), model.predict_proba(X), 1e-5
    )
    assert np.array_equal(values(net).argmax(1), model.predict(X))
    close(values(network(model, outputs="probabilities")), model.predict_proba(X))


def test_two_classes_have_one_output_the_log_odds_of_the_second():
    model = fitted(MLPClassifier((8,), max_iter=20), WORDS)
    net = network(model)
    chances = network(model, outputs="probabilities")
    assert net.output_shape == chances.output_shape == (1,)
    chance = model.predict_proba(X)[:, 1:]
    close(values(chances), chance)
    close(1 / (1 + np.exp(-values(net))), chance)
    assert np.array_equal(model.classes_[(values(net)[:, 0] > 0).astype(int)], model.predict(X))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        "passthrough",
    ],
)
def test_scalers_are_folded_into_the_first_layer(scaler):
    model = fitted(
        make_pipeline(scaler, MLPRegressor(hidden_layer_sizes=(8,), max_iter=20)), TARGETS
    )
    net = network(model)
    close(values(net), model.predict(X))
    assert net.description is not None and len(net.description.layers) == 2


def test_a_scaler_after_a_scaler_and_a_search_around_it():
    inner = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), max_iter=10))
    model = fitted(Pipeline([("robust", RobustScaler()), ("rest", inner)]), TARGETS)
    close(values(network(model)), model.predict(X))
    search = fitted(GridSearchCV(inner, {"mlpregressor__alpha": [0.1, 1.0]}, cv=2), TARGETS)
    close(values(network(search)), search.predict(X))


def test_weights_fitted_in_float32():
    x = StandardScaler().fit_transform(X).astype(np.float32)
    model = fitted(
        MLPRegressor(hidden_layer_sizes=(8,), max_iter=20), TARGETS.astype(np.float32), x
    )
    close(values(network(model), x), model.predict(x), 1e-5)


@pytest.mark.parametrize(
    "model, part",
    [
        (MLPRegressor(), "not fitted"),
        (make_pipeline(StandardScaler(), MLPClassifier()), "not fitted"),
        (GridSearchCV(MLPRegressor(), {}), "not fitted"),
        (LogisticRegression(), "not a network"),
        (Pipeline([("nothing", "passthrough")]), "not a network"),
        (
            fitted(
                make_pipeline(PCA(2), MLPRegressor(hidden_layer_sizes=(3,), max_iter=5)), TARGETS
            ),
            "PCA",
        ),
        (
            fitted(
                make_pipeline(
                    MinMaxScaler(clip=True), MLPRegressor(hidden_layer_sizes=(3,), max_iter=5)
                ),
                TARGETS,
            ),
            "clips",
        ),
        (
            Pipeline(
                [
                    ("s", StandardScaler()),
                    ("m", fitted(MLPRegressor(hidden_layer_sizes=(3,), max_iter=5), TARGETS)),
                ]
            ),
            "not fitted",
        ),
    ],
)
def test_what_is_not_a_fitted_network_is_refused(model, part):
    with pytest.raises(SubjectError, match=part):
        network(model)


def test_other_outputs_are_refused():
    with pytest.raises(UsageError, match="Unknown kind of outputs"):
        network(MLPRegressor(), outputs="labels")  # type: ignore[arg-type]
