"""The state of an optimizer of PyTorch, as tensors by key."""

import torch

from o2nc.torch.inner_state import flat, form_of, made


def test_a_tree_is_kept_by_key_and_made_again():
    tree = {"a": torch.arange(3), "b": [1.5, None, ("word", True)], "c": {}}
    form = form_of(tree)
    kept = flat(form, tree, "x")
    assert sorted(kept) == ["x.a", "x.b.0", "x.b.2.1"]
    again = made(form, kept, "x")
    assert torch.equal(again.pop("a"), tree.pop("a"))
    assert again == tree
    assert form_of({"a": torch.arange(4)}) != form_of({"a": torch.arange(3)})
