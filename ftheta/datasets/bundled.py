"""The real data that come with scikit-learn; nothing is downloaded."""

from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError

from .named_arrays import Data


def digits() -> Data:
    """1,797 images of handwritten digits, 8 × 8 pixels in [0, 1] (sixteenths)."""
    found = _read("digits")
    return _data("digits", found, found.data / 16)


def iris() -> Data:
    """150 flowers of three species, four lengths in centimetres."""
    return _data("iris", _read("iris"))


def wine() -> Data:
    """178 wines of three growers, 13 chemical measurements of very different sizes."""
    return _data("wine", _read("wine"))


def breast_cancer() -> Data:
    """569 tumours, malignant (0) or benign (1), 30 measurements of very different sizes."""
    return _data("breast-cancer", _read("breast_cancer"))


def diabetes() -> Data:
    """442 patients, ten measurements (columns of mean 0 and length 1), and how the illness went on in a year."""
    return _data("diabetes", _read("diabetes"))


def _read(name: str) -> Any:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise UsageError(
            "This data set comes with scikit-learn, which is not installed.",
            got=name.replace("_", "-"),
            remedy="pip install scikit-learn (or ftheta[data]), or take a generated set such as moons or mnist1d",
        ) from error
    return getattr(datasets, f"load_{name}")()


def _data(name: str, found: Any, x: np.ndarray | None = None) -> Data:
    columns = tuple(str(word) for word in found.feature_names)
    classes = tuple(str(word) for word in found.get("target_names", ()))
    return Data(
        name, np.asarray(found.data if x is None else x, np.float64), found.target, columns, classes
    )
