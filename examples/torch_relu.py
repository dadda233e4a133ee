"""Algorithm 2 trains a ReLU network in PyTorch, with a certificate, and ends at its output point.

The network, its bounded loss and its constants are those of `relu` in `o2nc nonsmooth`: one hidden layer whose outer
weights are fixed, so that a bound L on the gradient exists. Run: python examples/torch_relu.py
"""

import argparse

import torch

import o2nc
from o2nc.lab.objectives.relu_network import HIDDEN, OUTER, ReluNetwork
from o2nc.torch import Converted


class Network(torch.nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.hidden = torch.nn.Linear(inputs, HIDDEN, bias=False, dtype=torch.float64)
        self.register_buffer("outer", torch.as_tensor(OUTER))

    def forward(self, x):
        return torch.relu(self.hidden(x)) @ self.outer


def ramp(margins):
    return ((1 - margins) / 2).clamp(0, 1).mean()


def main(rounds, batch=16):
    objective = ReluNetwork.load()
    x, y = torch.as_tensor(objective.A), torch.as_tensor(objective.b)
    model = Network(x.shape[1])
    with torch.no_grad():
        model.hidden.weight.copy_(objective.start(x).reshape(HIDDEN, -1))
    conversion = o2nc.NonsmoothConversion(o2nc.oracles.AdaGrad(o2nc.sets.Box()), objective.constants(rounds, lam=1.0))
    opt = Converted(model.parameters(), conversion, fresh_samples=True)
    generator = torch.Generator().manual_seed(0)

    def loss():
        with torch.no_grad():
            return ramp(y * model(x)).item()

    start = loss()
    for _ in range(rounds):
        chosen = torch.randint(len(x), (batch,), generator=generator)  # with replacement: fresh and unbiased
        opt.zero_grad()
        ramp(y[chosen] * model(x[chosen])).backward()
        opt.step()
    last = loss()
    opt.eval()  # from here on the parameters are the output of the algorithm
    print(f"objective: {start:.4f} at the start, {last:.4f} where the last sample was, {loss():.4f} at the output")
    certificate = opt.certificate()
    print(f"{certificate.name}: at most {certificate.bound:.3f} ({certificate.label})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    main(parser.parse_args().rounds)
