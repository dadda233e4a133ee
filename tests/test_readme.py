"""The example of the README prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

README = Path(__file__).parent.parent / "README.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), flags=re.MULTILINE | re.DOTALL)


def printed(code, **given):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), given)
    return out.getvalue()


def test_the_lines_for_researchers_print_what_the_readme_shows():
    code, shown = blocks("python")[0], blocks("text")[0]
    assert printed(code) == shown
    assert sum(bool(line.strip()) for line in code.splitlines()) == 10


def test_the_lines_for_engineers_print_what_the_readme_shows():
    torch.manual_seed(0)
    inputs = torch.randn(256, 8, dtype=torch.float64)
    widths = ((8, 64), (64, 64), (64, 1))
    first, *rest = (torch.nn.Linear(*width, dtype=torch.float64) for width in widths)
    model = torch.nn.Sequential(first, *(part for layer in rest for part in (torch.nn.Tanh(), layer)))
    code, shown = blocks("python")[1], blocks("text")[1]
    targets = inputs[:, :4].sin().sum(1, keepdim=True)
    found = printed(code, torch=torch, model=model, inputs=inputs, targets=targets)
    for word, other in zip(found.split(), shown.split(), strict=True):  # training makes rounding larger
        assert word == other or float(word) == pytest.approx(float(other), rel=0.02)


def test_both_commands_are_targets_of_the_makefile():
    makefile = README.with_name("Makefile").read_text()
    commands = re.findall(r"`?make (\w+)", README.read_text())
    assert {"run", "test"} <= set(commands)
    for target in commands:
        assert f"\n{target}:" in makefile


def test_the_extras_are_those_of_the_package():
    table = README.read_text().split("| extra | for |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    section = (
        README.with_name("pyproject.toml").read_text().split("[project.optional-dependencies]")[1].split("\n\n")[0]
    )
    assert named == set(re.findall(r"^(\w+) =", section, flags=re.MULTILINE))


def test_the_files_that_it_links_to_exist():
    for target in re.findall(r"\]\(([^)#]+)", README.read_text()):
        assert (README.parent / target).exists(), target
