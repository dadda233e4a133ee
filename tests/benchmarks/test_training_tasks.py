"""The tasks of benchmarks/networks: what a seed fixes, what a gradient is, and that the final ones are kept apart."""

import math

import pytest
import torch
from networks.development import DEVELOPMENT
from networks.final import FINAL, clouds, following, halves
from networks.fine_tuning import FINE_TUNING
from networks.first_final import FIRST_FINAL, lorenz, marked_graphs
from networks.gpt import SPEEDRUN
from networks.run import ALL
from networks.scale_final import SCALE_FINAL, holes, origins, pairs
from networks.tasks import digits
from protocol import arguments

PROTOCOL = DEVELOPMENT | FIRST_FINAL | FINAL | SCALE_FINAL


def double(x):
    return x.double() if x.is_floating_point() else x


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_names_are_given_once():
    assert len(ALL) == sum(map(len, (DEVELOPMENT, FIRST_FINAL, FINAL, SCALE_FINAL, FINE_TUNING, SPEEDRUN)))
    assert len(DEVELOPMENT) >= 8
    assert len(FINAL) == 4


def test_the_development_command_does_not_run_final_tasks(capsys):
    assert arguments([]).tasks == list(DEVELOPMENT)
    assert not set(arguments([]).tasks) & set(FINAL)
    assert len({arguments(given).out for given in ([], ["--final"], ["--first-final"], ["--fine-tuning"])}) == 4
    for task in (*FIRST_FINAL, *FINAL, *SCALE_FINAL, *FINE_TUNING):
        with pytest.raises(SystemExit):
            arguments(["--tasks", task])
    assert arguments(["--final"]).tasks == list(FINAL)
    assert arguments(["--final"]).seeds == [0, 1, 2, 3, 4]
    assert arguments(["--fine-tuning"]).tasks == list(FINE_TUNING)
    assert arguments(["--fine-tuning"]).seeds == [0, 1, 2, 3, 4]
    for given in (["--final", "--fine-tuning"], ["--fine-tuning", "--tasks", "lstm"], ["--final", "--tasks", "lstm"]):
        with pytest.raises(SystemExit):
            arguments(given)
    assert "run all together" in capsys.readouterr().err


@pytest.mark.parametrize("name", PROTOCOL)
def test_a_seed_fixes_weights_and_minibatches(name):
    task = PROTOCOL[name](3)
    torch.rand(5)  # what was drawn before does not matter
    again, other = PROTOCOL[name](3), PROTOCOL[name](4)
    pairs = [*zip(task.model.parameters(), again.model.parameters(), strict=True)]
    assert all(torch.equal(p, q) for p, q in pairs)
    assert not all(torch.equal(p, q) for p, q in zip(task.model.parameters(), other.model.parameters(), strict=True))
    (x, y), (u, v), (z, _) = (next(t.batches()) for t in (task, again, other))
    assert torch.equal(x, u)
    assert torch.equal(y, v)
    assert not torch.equal(x, z)
    assert len(x) == len(y) == task.batch
    assert torch.equal(task.train[0], other.train[0])


@pytest.mark.parametrize("name", PROTOCOL)
def test_the_data_and_the_first_objective_are_finite(name):
    task = PROTOCOL[name](0)
    for part in (task.train, task.validation):
        assert len(part[0]) == len(part[1]) > 0
        assert all(x.double().isfinite().all() for x in part)
    assert len(task.train[0]) > len(task.validation[0])
    start = task.evaluate(task.train)
    assert math.isfinite(start)
    assert start > 0


@pytest.mark.parametrize("name", PROTOCOL)
def test_the_gradient_is_that_of_differences(name):
    task = PROTOCOL[name](1)
    model, (x, y) = task.model.double(), (double(part[:5]) for part in task.train)
    params = [*model.parameters()]
    grads = torch.autograd.grad(task.loss(model, x, y), params)
    generator, h = torch.Generator().manual_seed(0), 1e-6
    norm = math.sqrt(sum(float(g.square().sum()) for g in grads))
    assert norm > 0
    for _ in range(3):
        noise = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in params]
        length = math.sqrt(sum(float(d.square().sum()) for d in noise))
        along = [d / length + g / norm for d, g in zip(noise, grads, strict=True)]  # so that the slope is not small
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for p, d in zip(params, along, strict=True):
                    p.add_(d, alpha=sign * h)
                values.append(float(task.loss(model, x, y)))
                for p, d in zip(params, along, strict=True):
                    p.sub_(d, alpha=sign * h)
        slope = sum(float((g * d).sum()) for g, d in zip(grads, along, strict=True))
        assert (values[0] - values[1]) / (2 * h) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("name", PROTOCOL)
def test_every_parameter_is_trained_by_a_step(name):
    task = PROTOCOL[name](0)
    before = [p.detach().clone() for p in task.model.parameters()]
    opt = torch.optim.AdamW(task.model.parameters(), lr=1e-3, weight_decay=0.0)
    x, y = next(task.batches())
    task.loss(task.model, x, y).backward()
    opt.step()
    assert task.loss(task.model, x, y).isfinite()
    assert all(not torch.equal(p, q) for p, q in zip(before, task.model.parameters(), strict=True))


def test_distances_are_those_of_a_search():
    (x, y), _ = marked_graphs()
    for graph, distance in zip(x[:20].tolist(), y[:20].tolist(), strict=True):
        front = [i for i, row in enumerate(graph) if row[-1]]
        found = dict.fromkeys(front, 0)
        while front:
            i = front.pop(0)
            for j in range(len(graph)):
                if graph[i][j] and j not in found:
                    found[j] = found[i] + 1
                    front.append(j)
        assert [min(found.get(i, 4), 4) for i in range(len(graph))] == distance


def test_what_is_forecast_is_later_on_the_same_path():
    (x, y), _ = lorenz(count=60, context=16, ahead=12)
    for i in range(20):
        torch.testing.assert_close(y[i], x[i + 12, :, -1], rtol=0, atol=0)


def test_halves_meet_at_the_cut():
    (x, y), _ = halves(count=40)
    own = (x[:20, ..., -1] - y[:20, ..., -1]).abs().mean()
    others = (x[:20, ..., -1] - y[:20, ..., -1].roll(1, 0)).abs().mean()
    assert own < others / 3


def test_the_letter_that_follows_is_that_of_the_text():
    letters, (x, y), _ = following(context=12)
    assert int(max(x.max(), y.max())) < letters
    torch.testing.assert_close(x[1:20, 0], x[:19, 11], rtol=0, atol=0)  # eleven letters later


def test_points_are_drawn_where_the_digit_is_dark():
    (x, _), _ = clouds(copies=1)
    images = digits()[0][0]
    pixels = ((x + 1) * 4).long().clamp(max=7)
    assert (images.gather(1, (8 * pixels[..., 0] + pixels[..., 1])) > 0).all()


def test_the_middle_of_a_patch_is_what_is_asked_for():
    (x, y), _ = holes()
    assert (x[:, :, 4:8, 4:8] == 0).all()
    assert (x.flatten(1) != 0).float().mean() > 0.8
    edge, inside = x[:, :, 3, 4:8], y.unflatten(1, (3, 4, 4))[:, :, 0]  # neighbours are alike
    assert (edge - inside).abs().mean() < (edge - inside.roll(1, 0)).abs().mean() / 2


def test_the_value_that_is_asked_for_is_that_of_the_key():
    (x, y), _ = pairs()
    keys, values = x[:, :8:2], x[:, 1:8:2] - 8
    asked = (keys == x[:, 8:]).float().argmax(1, keepdim=True)
    assert 0.85 < (values.gather(1, asked)[:, 0] == y).float().mean() < 0.95


def test_all_parts_of_the_text_are_there_alike():
    _, (_, y), _ = origins()
    counts = y.bincount(minlength=8)
    assert len(counts) == 8
    assert counts.min() > 0.9 * counts.max()
