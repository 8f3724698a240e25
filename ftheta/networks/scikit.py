"""Multi-layer perceptrons of scikit-learn as lists of layers, behind the scalers that stand before them.

The parameters are those of the perceptron; what a scaler has learnt are constants. What is read are the attributes of
fitted objects; scikit-learn is not imported.
"""

from typing import Any, Literal

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError

from .description import Dense, Description
from .scaling import Operation, ScaledLayers, Scaling, behind

Outputs = Literal["logits", "probabilities"]
ACTIVATIONS = {"identity": "identity", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
MODELS = ("MLPRegressor", "MLPClassifier", "Pipeline", "GridSearchCV", "RandomizedSearchCV")


def is_scikit(found: Any) -> bool:
    """Whether this is an object of scikit-learn, or of a class derived from one of its own."""
    return any(kind.__module__.split(".")[0] == "sklearn" for kind in type(found).__mro__)


Last = Literal["", "softmax", "exp"]
"""What follows the layers and is no activation of theirs."""


def read_scikit(model: Any, outputs: Outputs = "logits") -> tuple[Description | ScaledLayers, Last]:
    """The layers of a fitted model behind its scalers, and what follows them.

    The outputs of a regressor are its predictions, those of a classifier logits, or probabilities if asked for. With
    two classes there is one output, of the second class: its log-odds or its probability.
    """
    if outputs not in ("logits", "probabilities"):
        raise UsageError(
            "Unknown kind of outputs.", got=outputs, remedy='choose "logits" or "probabilities"'
        )
    if _kind(model) in ("GridSearchCV", "RandomizedSearchCV"):
        model = _fitted_attribute(model, "best_estimator_")
    scalers: list[Any] = []
    while _kind(model) == "Pipeline":
        *before, model = [
            step for _, step in model.steps if step is not None and step != "passthrough"
        ] or [None]
        scalers += before
    if _kind(model) not in ("MLPRegressor", "MLPClassifier"):
        raise SubjectError(
            "This model of scikit-learn is not a network.",
            got=type(model).__name__,
            remedy="give a fitted MLPRegressor or MLPClassifier, or a Pipeline that ends in one",
        )
    layers = _layers(model)
    width = layers[0].weight.shape[1]
    scaling = Scaling(tuple(step for scaler in scalers for step in _steps(scaler, width)))
    last = model.out_activation_
    if last not in ("identity", "logistic", "softmax", "exp"):
        raise SubjectError(
            "Unknown activation of the outputs.", where=type(model).__name__, got=last
        )
    if outputs == "probabilities" and last == "logistic":
        layers[-1] = Dense(layers[-1].weight, layers[-1].bias, "sigmoid")
    follows: Last = "exp" if last == "exp" else ""  # of Poisson regression
    if last == "softmax" and outputs == "probabilities":
        follows = "softmax"
    return behind(scaling, Description(tuple(layers))), follows


def _kind(model: Any) -> str:
    """The class of scikit-learn that the object belongs to, perhaps by derivation."""
    classes = (
        kind.__name__ for kind in type(model).__mro__ if kind.__module__.split(".")[0] == "sklearn"
    )
    return next((name for name in classes if name in MODELS), "")


def _fitted_attribute(model: Any, attribute: str) -> Any:
    if not hasattr(model, attribute):
        raise SubjectError(
            "The model is not fitted.",
            got=type(model).__name__,
            remedy="call fit first: it has no weights yet",
        )
    return getattr(model, attribute)


def _layers(model: Any) -> list[Dense]:
    weights = _fitted_attribute(model, "coefs_")
    biases = _fitted_attribute(model, "intercepts_")
    if model.activation not in ACTIVATIONS:
        raise SubjectError("Unknown activation.", where=type(model).__name__, got=model.activation)
    words = [ACTIVATIONS[model.activation]] * (len(weights) - 1) + ["identity"]
    return [
        Dense(np.asarray(w).T, np.asarray(b), word) for w, b, word in zip(weights, biases, words)
    ]


def _steps(scaler: Any, width: int) -> list[tuple[Operation, np.ndarray]]:
    """What a scaler does to every feature, in its order."""
    kind = type(scaler).__name__
    if not is_scikit(scaler) or kind not in (
        "StandardScaler",
        "RobustScaler",
        "MinMaxScaler",
        "MaxAbsScaler",
    ):
        raise SubjectError(
            "This step of the pipeline is no scaling of the features.",
            got=kind,
            remedy="StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler are; give the MLP alone for others, "
            "and data that are transformed already",
        )
    if kind == "MinMaxScaler":
        if scaler.clip:
            raise SubjectError(
                "A MinMaxScaler that clips is not affine.",
                got="clip=True",
                remedy="fit without clip",
            )
        return [
            ("mul", _numbers(_fitted_attribute(scaler, "scale_"), width)),
            ("add", _numbers(_fitted_attribute(scaler, "min_"), width)),
        ]
    spread = _fitted_attribute(scaler, "scale_")
    centre = getattr(scaler, "mean_" if kind == "StandardScaler" else "center_", None)
    centred = getattr(scaler, "with_mean", True) and getattr(scaler, "with_centering", True)
    steps: list[tuple[Operation, np.ndarray]] = []
    if centre is not None and centred:
        steps.append(("sub", _numbers(centre, width)))
    if spread is not None:
        steps.append(("div", _numbers(spread, width)))
    return steps


def _numbers(found: Any, width: int) -> np.ndarray:
    """One number for each feature."""
    return np.broadcast_to(np.asarray(found, np.float64), (width,))


def predict_rows(model: Any, rows: np.ndarray) -> np.ndarray:
    """What scikit-learn itself predicts: numbers of a regressor, probabilities of a classifier; of two classes that of
    the second."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows)).reshape(len(rows), -1)
    chances = np.asarray(model.predict_proba(rows))
    return chances[:, 1:] if len(model.classes_) == 2 and chances.shape[1] == 2 else chances


def as_probabilities(model: Any, outputs: np.ndarray) -> np.ndarray:
    """The same of the outputs that `read_scikit` gives."""
    if not hasattr(model, "predict_proba"):
        return outputs
    if outputs.shape[1] == 1 or _last_activation(model) == "logistic":
        return 1 / (1 + np.exp(-outputs))
    powers = np.exp(outputs - outputs.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _last_activation(model: Any) -> str:
    model = getattr(model, "best_estimator_", model)
    return (
        _last_activation(model.steps[-1][1])
        if _kind(model) == "Pipeline"
        else model.out_activation_
    )
