"""What every error of the library must be."""

import numpy as np
import pytest
import torch

from o2nc import Blocks


def check(call, kind, *parts):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert message.endswith((".", "?"))  # a sentence, or one and the nearest name
    assert " object at 0x" not in message


WRONG_VECTORS = {
    "integers": (np.ones(3, dtype=int), ValueError, "floating dtype; got int64"),
    "booleans": (np.ones(3, dtype=bool), ValueError, "floating dtype; got bool"),
    "complex": (np.ones(3, dtype=complex), ValueError, "floating dtype; got complex128"),
    "scalar": (np.asarray(1.0), ValueError, "(..., d); got shape ()"),
    "list": ([1.0, 2.0], TypeError, "must be an array or Blocks", "got [1.0, 2.0]"),
    "number": (1.0, TypeError, "must be an array or Blocks", "got 1.0"),
    "none": (None, TypeError, "must be an array or Blocks", "got None"),
    "empty blocks": (Blocks(()), TypeError, "Blocks of a tuple of arrays; got Blocks(arrays=())"),
    "blocks of lists": (Blocks(([1.0],)), TypeError, "Blocks of a tuple of arrays"),
    "a list of blocks": (Blocks([np.ones(3)]), TypeError, "Blocks of a tuple of arrays; got Blocks(arrays=["),
    "two libraries": (
        Blocks((np.ones(3), torch.ones(3, dtype=torch.float64))),
        ValueError,
        "one array library; got numpy.ndarray, torch.Tensor",
    ),
}
