"""The PyTorch example runs, and its network is the objective whose constants it uses."""

import importlib
import re

import numpy as np
import pytest
import torch

from o2nc.lab.objectives.relu_network import HIDDEN, ReluNetwork

pytestmark = pytest.mark.slow
relu = importlib.import_module("torch_relu")


def test_the_network_is_the_objective():
    objective = ReluNetwork.load()
    network = relu.Network(objective.A.shape[1])
    W = np.random.default_rng(0).normal(size=objective.d)
    with torch.no_grad():
        network.hidden.weight.copy_(torch.as_tensor(W).reshape(HIDDEN, -1))
    loss = relu.ramp(torch.as_tensor(objective.b) * network(torch.as_tensor(objective.A)))
    loss.backward()
    value, gradient = objective.value_and_gradient(W)
    assert loss.item() == pytest.approx(value.item(), abs=1e-14)
    np.testing.assert_allclose(network.hidden.weight.grad.numpy().reshape(-1), gradient, rtol=0, atol=1e-14)


def test_relu_network(capsys):
    relu.main(rounds=300)
    objective, certificate = capsys.readouterr().out.splitlines()
    start, _, output = (float(number) for number in re.findall(r"\d\.\d+", objective))
    assert output < start / 2
    assert certificate.startswith("Theorem 2")
    assert certificate.endswith("(plug-in)")
