"""Groups of a model: what they carry, what patterns tell, what is split, how they print, and what is refused."""

import re

import pytest
import torch
from torch import nn

from o2nc.torch import Hedged, groups
from sentences import check


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.norm = nn.LayerNorm(4)
        self.conv = nn.Conv2d(1, 2, 3)
        self.head = nn.Linear(4, 7)
        self.head.weight = self.table.weight
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.frozen = nn.Linear(2, 2).requires_grad_(False)


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate = nn.Parameter(torch.zeros(1, 3, width))
        self.experts = nn.Parameter(torch.zeros(3, 2 * width, width))
        self.line = nn.Conv1d(6, width, 3)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(9, 4)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.lm_head = nn.Linear(4, 9, bias=False)


def named(found):
    return {group["name"]: [name for name, _ in group["params"]] for group in found}


def test_what_groups_carry():
    model = Model()
    found = groups(model, weight_decay=0.1, lr=0.05, experts=("adam", "polar"))
    assert named(found) == {
        "matrices": ["conv.weight"],
        "embeddings": ["table.weight"],
        "vectors": ["scale", "norm.weight", "norm.bias", "conv.bias", "head.bias"],
    }
    for group, decay in zip(found, (0.1, 0.1, 0.0), strict=True):
        assert {**group, "params": None} == {
            "params": None,
            "name": group["name"],
            "weight_decay": decay,
            "matrices": group["name"] == "matrices",
            "lr": 0.05,
            "experts": ("adam", "polar"),
        }
    opt = Hedged(found)
    for p in model.parameters():
        p.grad = torch.ones_like(p) if p.requires_grad else None
    opt.step()
    with_polar = [name for name, p in model.named_parameters() if "e.1" in opt.state.get(p, {})]  # a second trace
    assert with_polar == ["conv.weight"]
    assert [group["name"] for group in opt.report()["groups"]] == ["matrices", "embeddings", "vectors"]
    assert len(opt.table.learners) == 1  # shared


def test_every_parameter_is_there_once():
    model = GPT()
    params = [p for group in groups(model, split={"*.qkv.weight": 3}) for _, p in group["params"]]
    assert len(params) == len(list(model.parameters()))
    assert {*map(id, params)} == {*map(id, model.parameters())}


def test_patterns_tell_roles():
    model = GPT()
    before = named(groups(model))
    assert [name for name in before["embeddings"] if "gate" in name] == ["blocks.0.gate", "blocks.1.gate"]
    told = {"*.0.gate": "vectors", re.compile(r"blocks\.\d\.gate"): "matrices", "lm_head.weight": "embeddings"}
    found = named(groups(model, patterns=told))
    assert "blocks.0.gate" in found["vectors"]  # by the first that matches
    assert "blocks.1.gate" in found["matrices"]
    assert found["embeddings"] == ["wte.weight", "lm_head.weight"]
    assert "heads" not in found
    assert found["matrices flat"] == before["matrices flat"]


def test_patterns_know_all_names_of_a_tied_weight():
    assert named(groups(Model(), patterns={"head.weight": "heads"}))["heads"] == ["table.weight"]


def test_patterns_may_be_of_frozen_parameters():
    assert named(groups(Model(), patterns={"frozen.weight": "heads"})) == named(groups(Model()))


def test_split_makes_groups_of_their_own():
    model = GPT()
    found = groups(model, split={"*.qkv.weight": 3, "*.experts": 2, "*.line.weight": 2, "*.out.weight": 1})
    by_name = {group["name"]: group for group in found}
    assert named(found)["matrices split 3"] == ["blocks.0.qkv.weight", "blocks.1.qkv.weight"]
    assert named(found)["matrices split 2"] == ["blocks.0.experts", "blocks.1.experts"]
    assert named(found)["matrices flat split 2"] == ["blocks.0.line.weight", "blocks.1.line.weight"]
    assert named(found)["matrices"] == ["blocks.0.out.weight", "blocks.1.out.weight"]
    assert {name: group["split"] for name, group in by_name.items() if "split" in group} == {
        "matrices split 2": 2,
        "matrices split 3": 3,
        "matrices flat split 2": 2,
    }
    assert [name for name, group in by_name.items() if "stacks" in group] == ["matrices flat split 2"]
    opt = Hedged(found)
    assert [group.get("split", 1) for group in opt.param_groups] == [1, 2, 3, 2, 1, 1, 1]


def test_a_pattern_of_split_is_for_the_matrices_that_it_matches():
    assert named(groups(GPT(), split={"*qkv*": 3}))["matrices split 3"] == [f"blocks.{i}.qkv.weight" for i in (0, 1)]


def test_attention_can_be_left_whole():
    model = nn.Sequential(nn.MultiheadAttention(4, 2), nn.Linear(4, 4))
    assert "matrices split 3" in named(groups(model))
    assert named(groups(model, split={"*in_proj_weight": 1}))["matrices"] == ["0.in_proj_weight", "0.out_proj.weight"]
    as_table = groups(model, patterns={"*in_proj_weight": "embeddings"})
    assert [group.get("split") for group in as_table] == [None] * 4


def test_groups_print_as_a_table():
    found = groups(GPT(), weight_decay=0.1, split={"*.qkv.weight": 3})
    assert str(found).splitlines() == [
        "group             tensors  entries  decay  split  names",
        "matrices                4      224    0.1      1  blocks.*.experts, blocks.*.out.weight",
        "matrices split 3        2       96    0.1      3  blocks.*.qkv.weight",
        "matrices flat           2      144    0.1      1  blocks.*.line.weight",
        "embeddings              3       60    0.1      1  wte.weight, blocks.*.gate",
        "heads                   1       36    0.1      1  lm_head.weight",
        "vectors                 6       40      0      1  blocks.*.qkv.bias, blocks.*.out.bias, blocks.*.line.bias",
    ]
    assert repr(found) == repr(list(found))
    assert isinstance(found, list)


def test_long_rows_are_wrapped_and_changed_groups_print():
    model = nn.ModuleDict({f"layer_{c}": nn.Linear(2, 2, bias=False) for c in "abcdefgh"})
    found = groups(model)
    assert [len(line) <= 49 + 80 for line in str(found).splitlines()] == [True] * 4
    assert str(found).count("layer_") == 8
    found.append({"params": [torch.zeros(2, 3)]})
    assert str(found).splitlines()[-1].split() == ["2", "1", "6", "-", "1", "(2,", "3)"]


def lazy():
    return nn.Sequential(nn.LazyLinear(2), nn.Linear(2, 2))


def conv1d():
    """A layer that has its outputs in columns, as in GPT-2 of transformers."""

    class Conv1D(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(6, 18))

    return nn.Sequential(Conv1D(), nn.Linear(2, 2))


def test_without_a_weight_decay_that_of_the_optimizer_counts():
    opt = Hedged(groups(Model()), weight_decay=0.1)
    decays = {group["name"]: group["weight_decay"] for group in opt.param_groups}
    assert decays == {"matrices": 0.1, "embeddings": 0.1, "vectors": 0.0}
    assert Hedged(groups(Model(), weight_decay=0.3), weight_decay=0.1).param_groups[0]["weight_decay"] == 0.3
    check(lambda: Hedged(groups(Model()), weight_decay=-1.0), ValueError, "`weight_decay`", "-1.0")


WRONG = {
    "a number": (lambda: groups(GPT(), split=3), TypeError, "`split` must be a dict from patterns of names; got 3"),
    "a list": (lambda: groups(GPT(), patterns=["head"]), TypeError, "`patterns` must be a dict", "got ['head']"),
    "model": (
        lambda: groups([nn.Parameter(torch.ones(2))]),
        TypeError,
        "`model` must be a torch.nn.Module; got a list",
    ),
    "frozen": (lambda: groups(GPT().requires_grad_(False)), ValueError, "`model` must have parameters that require"),
    "lazy": (lambda: groups(lazy()), ValueError, "`model` must know its shapes", "'0.weight'"),
    "pattern": (
        lambda: groups(GPT(), patterns={"*.gat": "matrices"}),
        ValueError,
        *("`patterns` must match names; '*.gat' matches none", "the nearest are blocks.*.gate, "),
    ),
    "regex": (lambda: groups(GPT(), patterns={re.compile("gate"): "vectors"}), ValueError, "'gate' matches none"),
    "role": (lambda: groups(GPT(), patterns={"*.gate": "matrix"}), ValueError, "'matrices', 'embeddings'", "'matrix'"),
    "vector": (
        lambda: groups(GPT(), patterns={"*.bias": "matrices"}),
        ValueError,
        *("what has two axes", "'*.bias' matches 'blocks.0.qkv.bias', of shape (12,)"),
    ),
    "key": (lambda: groups(GPT(), patterns={3: "matrices"}), TypeError, "`patterns` must have patterns", "got 3"),
    "split": (lambda: groups(GPT(), split={"*.kqv.weight": 3}), ValueError, "`split` must match names; '*.kqv.weight'"),
    "of bias": (lambda: groups(GPT(), split={"*.bias": 3}), ValueError, "`split` must match matrices; '*.bias'"),
    "rows": (
        lambda: groups(GPT(), split={"*.out.weight": 3}),
        ValueError,
        *("must divide the rows of a matrix; got 3", "'blocks.0.out.weight' of shape (4, 4)"),
    ),
    "rows of a stack": (lambda: groups(GPT(), split={"*.experts": 3}), ValueError, "got 3", "of shape (3, 8, 4)"),
    "parts": (lambda: groups(GPT(), split={"*.qkv.weight": 0}), ValueError, "`split[...]`", "at least 1; got 0"),
    "columns": (lambda: groups(conv1d(), split={"0.weight": 3}), ValueError, "`split` is for rows", "'0.weight'"),
    "option": (lambda: groups(GPT(), beta=(0.9, 0.99)), ValueError, "the nearest is 'betas'"),
    "split of a group": (
        lambda: Hedged([{"params": [nn.Parameter(torch.ones(2, 2))], "split": 1.5}]),
        ValueError,
        "`split` must be a whole number of at least 1; got 1.5",
    ),
    "stacks of a group": (
        lambda: Hedged([{"params": [nn.Parameter(torch.ones(2, 2))], "stacks": 1}]),
        TypeError,
        "`stacks` must be True or False; got 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    check(*WRONG[name])
