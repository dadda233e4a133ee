"""The rivals: which parameters each of them takes, and what decays."""

import copy

import numpy as np
import pytest
import torch
from networks.averaged import AveragedDoG
from networks.development import DEVELOPMENT
from networks.final import FINAL
from networks.first_final import FIRST_FINAL
from networks.looks import LOOKS
from networks.methods import EXPERTS, METHODS, factor
from networks.parameters import decaying, hidden_matrices
from pytorch_optimizer import SOAP

from reference_soap import Published

RIVALS = ["adamw", "muon", "soap", "schedule-free", "prodigy", "mechanic", "dog", "sgd10"]
NOT_HIDDEN = {  # with two axes or more
    "places": {"8.weight"},
    "vision transformer": {"position", "head.weight"},
    "lstm": {"first.weight", "head.weight"},
    "adding": {"head.weight"},
    "modular": {"model.token.weight", "model.position.weight", "model.head.weight"},
    "recommender": {"people.weight", "things.weight", "body.4.weight"},
    "autoencoder": {"14.weight"},
    "distances": {"head.weight"},
    "denoising": {"last.weight"},
    "sorting": {"table", "places"},
    "forecast": {"6.weight"},
    "matching": {"right.out.weight"},
    "routing": {"token.weight", "head.weight"} | {f"layers.{i}.{name}" for i in (0, 1) for name in ("up", "down")},
    "variational": {"decoder.4.weight"},
    "points": {"classify.2.weight"},
}


def decay_of(optimizers):
    """The weight decay of every parameter, by id."""
    return {id(p): group["weight_decay"] for opt in optimizers for group in opt.param_groups for p in group["params"]}


def steps(name, task, count=3):
    """A copy of the model of a task after a few steps of a method, and its optimizers."""
    model = copy.deepcopy(task.model)
    optimizers = METHODS[name].build(model, METHODS[name].rates[0], 10, 0.1)
    for opt in optimizers:
        getattr(opt, "train", lambda: None)()
    for _, (x, y) in zip(range(count), task.batches(), strict=False):
        model.zero_grad()
        task.loss(model, x, y).backward()
        for opt in optimizers:
            opt.step()
    return model, optimizers


@pytest.mark.parametrize("name", NOT_HIDDEN)
def test_tables_and_last_layers_are_not_hidden(name):
    model = (DEVELOPMENT | FIRST_FINAL | FINAL)[name](0).model
    hidden = [id(p) for p in hidden_matrices(model)]
    wide = {path: id(p) for path, p in model.named_parameters() if p.ndim >= 2}
    assert {path for path, p in wide.items() if p not in hidden} == NOT_HIDDEN[name]
    assert len(hidden) == len(wide) - len(NOT_HIDDEN[name])


def test_what_is_tied_to_a_table_is_not_hidden():
    model = torch.nn.ModuleDict({"table": torch.nn.Embedding(5, 4), "body": torch.nn.Linear(4, 4)})
    model["project"] = torch.nn.Linear(4, 5, bias=False)
    model["project"].weight = model["table"].weight
    model["head"] = torch.nn.Linear(5, 2)
    assert [id(p) for p in hidden_matrices(model)] == [id(model["body"].weight)]


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("task", ["places", "lstm"])
def test_every_parameter_has_one_optimizer_and_the_same_decay(name, task):
    model = DEVELOPMENT[task](0).model
    optimizers = METHODS[name].build(model, METHODS[name].rates[0], 10, 0.1)
    given = [id(p) for opt in optimizers for group in opt.param_groups for p in group["params"]]
    assert sorted(given) == sorted(id(p) for p in model.parameters())
    expected = {id(p): 0.1 if p.ndim >= 2 or name == "dog" else 0.0 for p in model.parameters()}
    assert decay_of(optimizers) == expected


def test_muon_leaves_convolutions_to_adamw_and_soap_takes_them():
    model = DEVELOPMENT["places"](0).model
    (alone,) = METHODS["muon"].build(model, 1e-3, 10, 0.0)
    assert isinstance(alone, torch.optim.AdamW)
    first, _ = METHODS["soap"].build(model, 1e-3, 10, 0.0)
    (group,) = first.param_groups
    assert {p.ndim for p in group["params"]} == {4}
    assert (group["betas"], group["precondition_frequency"], group["lr"]) == ((0.95, 0.95), 10, 1e-3)
    recurrent = DEVELOPMENT["lstm"](0).model
    for name in ("muon", "soap"):
        taken = METHODS[name].build(recurrent, 1e-3, 10, 0.0)[0].param_groups[0]["params"]
        assert [id(p) for p in taken] == [id(recurrent.body.weight_ih_l0), id(recurrent.body.weight_hh_l0)]


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_moves_every_parameter(name):
    task = DEVELOPMENT["tumours"](0)
    model, _ = steps(name, task)
    pairs = zip(task.model.parameters(), model.parameters(), strict=True)
    assert all(q.isfinite().all() and not torch.equal(p, q) for p, q in pairs)


def test_the_average_of_dog_is_shown_and_hidden_again():
    task = DEVELOPMENT["tumours"](0)
    first, _ = steps("dog", task, 1)
    second, _ = steps("dog", task, 2)
    third, (opt,) = steps("dog", task, 3)
    assert isinstance(opt, AveragedDoG)
    weights = (9 / 9, 9 / 10, 9 / 11)  # of the t-th iterate, 9 / (8 + t), as in the paper
    last = [p.detach().clone() for p in third.parameters()]
    for _ in range(2):
        opt.eval()
        for models in zip(*(m.parameters() for m in (third, first, second)), last, strict=True):
            shown, x, y, z = (p.detach().double() for p in models)
            average = x
            for weight, point in zip(weights[1:], (y, z), strict=True):
                average = (1 - weight) * average + weight * point
            torch.testing.assert_close(shown, average, rtol=1e-6, atol=1e-7)
        opt.train()
        assert all(torch.equal(p, q) for p, q in zip(third.parameters(), last, strict=True))
    assert not torch.equal(average, z)


def test_soap_is_the_published_one():
    generator, shape = np.random.default_rng(0), (4, 4)  # square: else eigenvectors of 0 are anybody's
    p, theirs = torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)), Published(shape)
    opt = SOAP([p], lr=1.0, weight_decay=0.0)
    for _ in range(25):
        grad, before = generator.standard_normal(shape), p.detach().clone()
        p.grad = torch.tensor(grad)
        opt.step()
        moved = (before - p.detach()).numpy()
        np.testing.assert_allclose(moved, theirs.update(grad), rtol=0, atol=1e-5)  # their QR is in float32


def test_vectors_do_not_decay():
    model = torch.nn.Linear(2, 3)
    assert decaying(model.parameters(), 0.1) == [
        {"params": [model.weight], "weight_decay": 0.1},
        {"params": [model.bias], "weight_decay": 0.0},
    ]
    assert len(decaying([model.bias], 0.1)) == 1


def test_the_schedule_rises_and_falls_to_nothing():
    found = [factor(t, 40) for t in range(41)]
    assert found[:3] == [0.5, 1.0, 1.0]
    assert found[-1] == 0
    assert found[21] == pytest.approx(0.5)
    assert [factor(t, 2) for t in range(3)] == [1.0, 1.0, 0.0]  # a run of two steps has a schedule too


def test_experts_are_methods_and_all_methods_are_drawn():
    assert set(EXPERTS) < set(METHODS)
    assert set(LOOKS) == set(METHODS)
