"""Tasks that go on from a good point: the halves have nothing in common, and the start is what AdamW has left."""

import json

import protocol
import pytest
import torch
from networks import fine_tuning
from networks.fine_tuning import FINE_TUNING, RATE, continued, digits_half, text_half, trained
from networks.methods import METHODS
from networks.protocol import over_adamw, wanted
from networks.run import Cell, train

HALVES = {"other digits": digits_half, "other text": text_half}


def short(half, steps=20):
    """A half with fewer steps."""

    def build(seed, second):
        return fine_tuning.replace(half(seed, second), steps=steps)

    return build


def test_the_digits_have_no_class_in_common():
    first, second = (digits_half(0, late) for late in (False, True))
    for one, other, whole in zip(
        (first.train, first.validation), (second.train, second.validation), (1400, 397), strict=True
    ):
        assert one[1].unique().tolist() == [0, 1, 2, 3, 4]
        assert other[1].unique().tolist() == [5, 6, 7, 8, 9]
        assert len(one[0]) + len(other[0]) == whole


def test_the_text_is_cut_in_the_middle():
    first, second = (text_half(0, late) for late in (False, True))
    letters = first.model.token.num_embeddings
    assert letters == second.model.token.num_embeddings
    rows = [{tuple(row) for part in (t.train, t.validation) for row in part[0].tolist()} for t in (first, second)]
    assert len(rows[0] & rows[1]) < 0.02 * len(rows[0])  # some pieces of the library are copies of others
    assert max(max(row) for row in rows[0] | rows[1]) < letters


@pytest.mark.parametrize("name", HALVES)
def test_it_begins_where_adamw_has_ended(name):
    half = short(HALVES[name])
    task, again = (continued(half)(3) for _ in range(2))
    by_hand = half(3, False)
    start = by_hand.evaluate(by_hand.train)
    opt = torch.optim.AdamW(by_hand.model.parameters())
    assert opt.defaults["lr"] == RATE
    for t, (x, y) in enumerate(by_hand.batches()):
        opt.param_groups[0]["lr"] = RATE * min(t + 1, (20 - t) / 19)
        opt.zero_grad()
        by_hand.loss(by_hand.model, x, y).backward()
        opt.step()
    assert by_hand.evaluate(by_hand.train) < start
    for p, q, r in zip(*(t.model.parameters() for t in (task, again, by_hand)), strict=True):
        assert torch.equal(p, q)
        torch.testing.assert_close(p, r, rtol=1e-5, atol=1e-7)
        assert p.grad is None
    (x, _), (u, _) = (next(t.batches()) for t in (task, half(3, True)))
    assert torch.equal(x, u)


def test_going_on_does_not_change_where_the_next_one_begins():
    half = short(digits_half)
    task = continued(half)(1)
    with torch.no_grad():
        for p in task.model.parameters():
            p.zero_()
    assert any(p.any() for p in continued(half)(1).model.parameters())
    assert trained.cache_info().hits > 0


def test_there_is_no_weight_decay_to_choose():
    for half in HALVES.values():
        assert half(0, True).decays == (0.0,)
    assert HALVES.keys() == FINE_TUNING.keys()


def test_the_command_compares_with_adamw_at_its_default_rate(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("networks.protocol.decays", lambda task: (0.0,))
    methods, results = ["adamw", "prodigy"], {}

    def value(cell):
        return (0.4 if cell.lr == RATE else 0.3 if cell.method == "adamw" else 0.5) + 0.01 * cell.seed

    while cells := wanted(results, FINE_TUNING, methods, [0, 1]):
        results |= {cell: {"train": value(cell), "initial": 1.0} for cell in cells}
    found = over_adamw(results, FINE_TUNING, "prodigy")
    assert found == pytest.approx({(task, 1.0): 0.505 / 0.405 for task in FINE_TUNING})
    mine = over_adamw(results, FINE_TUNING, "adamw")
    assert mine == pytest.approx(
        {(task, lr): 1 if lr == RATE else 0.305 / 0.405 for task in FINE_TUNING for lr in METHODS["adamw"].rates}
    )
    lines = [json.dumps({**cell._asdict(), **record}) for cell, record in results.items()]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    protocol.main(["--fine-tuning", "--methods", *methods, "--out", str(tmp_path / "runs.jsonl")])
    assert "| Prodigy | 1 | 1.247 | 1.247 | 0 |" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", FINE_TUNING)
def test_adamw_goes_on(name):
    record = train(Cell(name, "adamw", RATE, 0))
    assert record["train"] < record["initial"]
