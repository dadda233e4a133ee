"""The objectives of the deterministic experiment, by name: four sets of data of scikit-learn, two losses.

>>> list(CONVEX)[:4]
['cancer-logistic', 'cancer-svm', 'wine-logistic', 'wine-svm']
"""

from collections.abc import Callable
from functools import cache
from types import MappingProxyType

import numpy as np

from .classifier import Classifier
from .logistic import Logistic
from .nonsmooth_base import Floats, standardised
from .smoothed_svm import SmoothedSVM


def _cancer() -> tuple[Floats, Floats]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def _wine() -> tuple[Floats, Floats]:
    from sklearn.datasets import load_wine

    X, cultivar = load_wine(return_X_y=True)
    return X, cultivar == 1


def _digits() -> tuple[Floats, Floats]:
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return X, digit % 2 == 0


def _diabetes() -> tuple[Floats, Floats]:
    from sklearn.datasets import load_diabetes

    X, progression = load_diabetes(return_X_y=True)
    return X, progression > np.median(progression)


# Malignant or benign; cultivar 1 or another; even or odd; above the median or not.
DATA = MappingProxyType({"cancer": _cancer, "wine": _wine, "digits": _digits, "diabetes": _diabetes})
LOSSES = MappingProxyType({"logistic": Logistic, "svm": SmoothedSVM})


@cache
def _load(data: str, loss: str) -> Classifier:
    X, positive = DATA[data]()
    return LOSSES[loss](standardised(X), np.where(positive, 1.0, -1.0))


CONVEX: MappingProxyType[str, Callable[[], Classifier]] = MappingProxyType(
    {f"{data}-{loss}": lambda data=data, loss=loss: _load(data, loss) for data in DATA for loss in LOSSES}  # type: ignore[misc]
)


def convex_objective(name: str) -> Classifier:
    """The objective called ``name``; the data are standardised, and read once.

    Reference: not in the paper.

    >>> f = convex_objective("wine-svm")
    >>> print(f"{len(f.b)} {f.d} {f.beta:.3f} {f.f_star:.6f}")
    178 14 4.711 0.022087
    >>> convex_objective("iris-svm")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of cancer-logistic, cancer-svm, wine-logistic, wine-svm, digits-logistic, \
digits-svm, diabetes-logistic, diabetes-svm; got 'iris-svm'.
    """
    if name not in CONVEX:
        raise ValueError(f"`objective` must be one of {', '.join(CONVEX)}; got {name!r}.")
    return CONVEX[name]()
