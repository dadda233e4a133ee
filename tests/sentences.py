"""What every error of the library must be."""

import pytest


def check(call, kind, *parts):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert message.endswith(".")  # a sentence
    assert " object at 0x" not in message
