"""The default `Hedged` in float64: half batches, another order, loop, or number of threads change last digits."""

import pytest
import torch

from o2nc.torch import Hedged, groups

STEPS, BOUND = 40, 1e-7


def network(dtype):
    """ReLUs, inputs that are always 0, and matrices of several shapes, some of them equal; a convolution is one too."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv1d(2, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 24), torch.nn.ReLU()]
    for _ in range(3):
        layers += [torch.nn.Linear(24, 24), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(24, 5)).to(dtype)


def data(dtype):
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(200, 2, 10, generator=generator, dtype=torch.float64)
    X[:, :, :2] = 0
    Y = torch.sin(X.flatten(1) @ torch.randn(20, 5, generator=generator, dtype=torch.float64))
    picks = [torch.randint(200, (6,), generator=generator) for _ in range(STEPS)]
    return X.to(dtype), Y.to(dtype), picks


def trained(chunks=1, backwards=False, named=False, dtype=torch.float64, steps=STEPS, **options):
    """The parameters by name, after training."""
    model, (X, Y, picks) = network(dtype), data(dtype)
    given = groups(model) if named else list(model.parameters())
    if backwards:
        given = [{**group, "params": group["params"][::-1]} for group in given][::-1] if named else given[::-1]
    opt = Hedged(given, **options)
    for pick in picks[:steps]:
        opt.zero_grad()
        for part in pick.chunk(chunks):
            ((model(X[part]) - Y[part]).square().sum() / len(pick)).backward()
        opt.step()
    return {name: p.detach() for name, p in model.named_parameters()}


def apart(one, two):
    """The largest difference, to the largest entry of the tensor."""
    return max(((one[name] - p).abs().max() / one[name].abs().max()).item() for name, p in two.items())


OTHERS = {
    "half batches": {"chunks": 2},
    "batches of two": {"chunks": 3},
    "backwards": {"backwards": True},
    "the loop": {"foreach": False},
    "backwards in the loop": {"backwards": True, "foreach": False},
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_the_same_run_in_another_way(other, named):
    assert apart(trained(named=named), trained(named=named, **OTHERS[other])) < BOUND


def test_the_bound_is_not_for_everything():
    """Another direction on one matrix is another run."""
    assert apart(trained(), trained(experts=("muon", "adam"))) > 1e-3


def test_one_thread_is_two():
    before = torch.get_num_threads()
    try:
        one = trained()
        torch.set_num_threads(2)
        two = trained()
    finally:
        torch.set_num_threads(before)
    assert apart(one, two) < BOUND


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_or_not():
    torch._dynamo.reset()
    assert apart(trained(), trained(compile=True)) < BOUND


@pytest.mark.parametrize(("other", "bound"), [("half batches", 1e-2), ("the loop", 1e-3), ("backwards", 1e-3)])
def test_in_single_precision_for_a_few_steps(other, bound):
    """As the page about the state says: bases of "soap" make more of a last digit."""
    how = {"dtype": torch.float32, "steps": 5, "named": True}
    assert apart(trained(**how), trained(**how, **OTHERS[other])) < bound
