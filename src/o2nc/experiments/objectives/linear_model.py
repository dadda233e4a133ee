"""A linear model with any loss of its prediction."""

from abc import abstractmethod

from ... import _xp
from ..._xp import Array
from .nonsmooth_base import Minibatch, pull


class LinearModel(Minibatch):
    """A loss of one number, the prediction <a, x>.

    Reference: Assumption 3.
    """

    @property
    def d(self) -> int:
        """The number of features, with the intercept."""
        return int(self.A.shape[1])

    def start(self, like: Array) -> Array:
        """The origin."""
        return _xp.zeros((self.d,), like)

    @abstractmethod
    def loss(self, prediction: Array, b: Array) -> tuple[Array, Array]:
        """The loss of each row and its derivative in the prediction."""

    def evaluate(self, x: Array, A: Array, b: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient."""
        losses, slopes = self.loss(_xp.matvec(A, x), b)
        n = b.shape[-1]
        return _xp.namespace(x).mean(losses, axis=-1, keepdims=True), pull(slopes * (1 / n), A)
