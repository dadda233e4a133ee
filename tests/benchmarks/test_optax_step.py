"""benchmarks/optax_step.py on tiny trees: what it measures, prints and stores."""

import jax.numpy as jnp
import numpy as np
import optax_step
import pytest
from step_cost import on_jax, results, timing
from step_cost.on_jax import ADAMW, TRANSFORMATIONS, Training
from step_cost.timing import Cost

FEW = {name: TRANSFORMATIONS[name] for name in (ADAMW, "hedge momentum+adam")}


@pytest.mark.slow
def test_a_run_prints_ratios_and_keeps_what_the_file_has(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(optax_step, "TRANSFORMATIONS", FEW)
    out, docs = tmp_path / "found.json", tmp_path / "docs"
    (docs / "assets").mkdir(parents=True)
    (docs / "optax-cost.md").write_text("<!-- steps -->\n\nold\n<!-- end of steps -->\n")
    arguments = ["--quick", "--widest", "0", "--repeats", "2", "--out", str(out)]
    optax_step.main(["--widths", "4", "--models", "convolutions", *arguments])
    text = capsys.readouterr().out
    assert "width 4: 0.00032 million parameters in 20 leaves" in text
    assert "target at most 1.5" in text
    optax_step.main(["--widths", "2", "--models", *arguments, "--docs", str(docs)])
    found = results.load(out)
    assert list(optax_step.curve(found)) == [2, 4]
    page = (docs / "optax-cost.md").read_text()
    ratio = timing.ratio(results.costs(found, 2, "models")["convolutions"], "hedge momentum+adam", ADAMW)
    assert f"| {ratio.cpu:.2f} |" in page
    assert "width 2 | width 4 | convolutions" in page
    assert (docs / "assets" / "optax-step.png").stat().st_size > 1000


def test_a_step_moves_all_leaves_by_what_the_transformation_says():
    tx = TRANSFORMATIONS[ADAMW].make()
    training = Training(tx, [(3, 2), (4,)])
    before = [np.asarray(a) for a in training.x]
    updates, _ = tx.update(training.s, tx.init(training.x), training.x)
    training.step()
    for a, b, u in zip(training.x, before, updates, strict=True):
        np.testing.assert_allclose(a, b + u, rtol=1e-6)


def test_a_profile_finds_the_loops_of_xla():
    text = on_jax.profile(ADAMW, [(8, 8)], steps=2)
    assert "3 arrays are kept, 3.0 x the parameters" in text[0]  # x, and two averages
    assert any("fusion" in line for line in text[1:])


@pytest.mark.slow
def test_the_weight_is_with_the_winner_and_stays():
    training = optax_step.settled("soap", [(4, 4)] * 2)
    for _ in range(12):
        training.step()
    weights = training.state.report.weights
    assert bool(jnp.all(jnp.isfinite(weights)))
    assert float(weights[1]) == 1.0


def test_ratios_in_the_table_are_of_cpu_time():
    costs = {ADAMW: Cost(1.0, 2.0), "hedge adam": Cost(9.0, 5.0)}
    found = {"2": {"curve": {"values": {"16": {name: cost._asdict() for name, cost in costs.items()}}}}}
    assert "| hedge adam | 2.50 |" in optax_step.page(found)


def test_wrong_arguments_are_sentences(capsys):
    for wrong in (["--repeats", "0"], ["--widths", "0"], ["--profile", "8", "adam"]):
        with pytest.raises(SystemExit):
            optax_step.main(wrong)
        assert "must be" in capsys.readouterr().err
