"""The documentation does not drift: its identifiers exist, its examples run, its pages can be reached."""

import dataclasses
import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import o2nc
import o2nc.lab.playground
import o2nc.optax
import o2nc.torch
from o2nc import certificates, conversions, learners, losses, online, operators, oracles, sets, stationarity, testing
from o2nc.lab.objectives import registry as objectives

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PAPER = (ROOT / "docs" / "paper-to-code.md").read_text()
ROOMS = (o2nc, certificates, conversions, learners, online, oracles, sets, stationarity, testing)
ROOMS += (o2nc.torch, o2nc.optax, o2nc.lab.playground)
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in ROOMS
    for name in module.__all__
    if not inspect.ismodule(getattr(module, name))
} | {
    f"{module.__name__}.{name}": thing
    for module in (losses, operators)  # the classes made there
    for name, thing in vars(module).items()
    if inspect.isclass(thing) and thing.__module__.startswith(module.__name__)
}
STATES = {name for name in PUBLIC if name.endswith("State")}  # explained by the comments of their fields


def resolve(path):
    """The object at a dotted path: the longest module that imports, then attributes; fields of dataclasses count."""
    parts, found = path.split("."), None
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        break
    for j in range(i, len(parts)):
        if hasattr(found, parts[j]):
            found = getattr(found, parts[j])
        elif dataclasses.is_dataclass(found) and parts[j] in {field.name for field in dataclasses.fields(found)}:
            found = None  # a field without a default: it exists, and nothing is inside it
        else:
            raise AttributeError(f"`{path}` names nothing: {parts[j]!r} is not in {'.'.join(parts[:j])}")
    return found


def sections(text):
    """The tables of a page as (heading, rows of cells)."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body.splitlines() if "|" in line
        ]
        yield heading, rows[2:]


@pytest.mark.parametrize("page", PAGES)
def test_identifiers_exist(page):
    for path in set(re.findall(r"`(o2nc(?:\.\w+)+)[`(]", (ROOT / page).read_text())):
        resolve(path)
    for path in re.findall(r"^::: (\S+)$", (ROOT / page).read_text(), flags=re.MULTILINE):
        resolve(path)


def test_a_wrong_identifier_is_noticed():
    with pytest.raises(AttributeError, match="gamma1"):
        resolve("o2nc.learners.Hedge.gamma1")
    with pytest.raises(AttributeError, match="nothing"):
        resolve("o2nc.nothing.at_all")


def test_every_row_of_the_paper_names_an_identifier():
    for heading, rows in sections(PAPER):
        for row in rows:
            assert len(row) == 3, (heading, row)
            assert re.fullmatch(r"(`o2nc[\w.]+`(, )?)+", row[2]), (heading, row)


def test_every_numbered_statement_of_the_paper_is_there():
    tables = {heading: [row[0] for row in rows] for heading, rows in sections(PAPER)}
    named = [name for rows in tables.values() for name in rows]
    statements = {"Assumption": 3, "Definition": 2, "Theorem": 2, "Remark": 1, "Lemma": 15}
    for kind, count in statements.items():
        for number in range(1, count + 1):
            assert f"{kind} {number}" in named
    for number in (1, 2, 3):
        assert f"equation ({number})" in named
    # the lines of the pseudo-code; "end for" has none
    for algorithm, lines in {1: {*range(1, 8), 9}, 2: {*range(1, 11), 12}, 3: set(range(1, 6))}.items():
        present = {int(name.split()[1]) for name in tables[f"Algorithm {algorithm}"] if name.startswith("line ")}
        assert present == lines


def test_every_lemma_is_the_one_that_its_docstring_names():
    for name, _, code in dict(sections(PAPER))["Lemmas"]:
        for path in re.findall(r"`(\S+)`", code):
            assert f"{name} " in inspect.getdoc(resolve(path)), path


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, monkeypatch):
    monkeypatch.setattr(objectives, "_entries", dict(objectives._entries))  # a page adds one of its own
    text = re.sub(r"^```.*$", "", (ROOT / page).read_text(), flags=re.MULTILINE)  # a fence is no output
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    doctest.DocTestRunner().run(examples, out=(report := []).append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_documented(name):
    text = inspect.getdoc(PUBLIC[name])
    assert text
    if name not in STATES:
        assert "Reference: " in text
        assert ">>> " in text


def test_every_public_name_has_a_place_in_the_reference():
    shown = [
        resolve(path)
        for page in (ROOT / "docs" / "api").glob("*.md")
        for path in re.findall(r"^::: (\S+)$", page.read_text(), flags=re.MULTILINE)
    ]
    shown += [getattr(page, name) for page in shown if inspect.ismodule(page) for name in getattr(page, "__all__", ())]
    assert not [name for name, thing in PUBLIC.items() if not any(thing is other for other in shown)]


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    assert sorted(re.findall(r": (\S+\.md)$", navigation, flags=re.MULTILINE)) == sorted(
        page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")
    )


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([\w./-]+\.md)#?([\w-]*)\)", (ROOT / page).read_text()):
        text = ((ROOT / page).parent / target).read_text()
        headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings]


def shelf(name):
    """The pages of a shelf of the navigation."""
    text = (ROOT / "mkdocs.yml").read_text().split(f"\n  - {name}:\n")[1]
    return re.findall(r": (\S+\.md)$", re.split(r"^  - ", text, flags=re.MULTILINE)[0], flags=re.MULTILINE)


def words(text):
    """How many words of a page are read: not code, formulas, drawings and tables."""
    for block in (r"^```.*?^```", r"\\\[.*?\\\]", r"\$\$.*?\$\$", r"<figure>.*?</figure>", r"<!--.*?-->", r"^\|.*?$"):
        text = re.sub(block, "", text, flags=re.DOTALL | re.MULTILINE)
    return len(text.split())


def opening(text):
    """What stands before the first heading below the title."""
    return re.split(r"^## ", text, flags=re.MULTILINE)[0]


PROOFS = {"variance-reduction.md", *(page for page in shelf("Background") if page.startswith("theory"))}


@pytest.mark.parametrize("page", sorted({p[5:] for p in PAGES if p[:5] == "docs/"} - PROOFS - {*shelf("Reference")}))
def test_pages_are_short(page):
    assert words((ROOT / "docs" / page).read_text()) <= 1500


def test_words_are_those_that_are_read():
    page = "# A title\n\nTwo words.\n\n| a | table |\n|---|---|\n\n```sh\nls -l\n```\n\n\\[\na+b\n\\]\n"
    assert words(page) == 5


@pytest.mark.parametrize("page", sorted({*shelf("Results")} - {"training-protocol.md"}))  # which has no results
def test_results_begin_with_three_findings_and_a_picture(page):
    text = opening((ROOT / "docs" / page).read_text())
    assert re.findall(r"^(\d)\. ", text, flags=re.MULTILINE)[:3] == ["1", "2", "3"]
    assert re.search(r"<!-- chart: |^!\[", text, flags=re.MULTILINE)


def test_every_command_has_a_row():
    from o2nc.lab.cli.console import app

    table = (ROOT / "docs" / "api" / "experiments.md").read_text().split("An oracle is spelled")[0]
    commands = [command.name for command in app.registered_commands]
    assert "play" in commands
    assert not [name for name in commands if f"| `o2nc {name}" not in table]


def test_what_a_successor_of_the_theme_must_bring_is_written_down():
    settings = (ROOT / "mkdocs.yml").read_text()
    table = (ROOT / "CONTRIBUTING.md").read_text().split("**The successor of mkdocs-material.**")[1]
    plugins = settings.split("\nplugins:\n")[1].split("\n\n")[0]
    needed = re.findall(r"^  - ([\w-]+)", plugins, flags=re.MULTILINE) + re.findall(r"docs/\w+\.py", settings)
    assert len(needed) == 6
    assert not [name for name in needed if f"`{name}`" not in table]
    assert "custom_dir" not in settings


def charts():
    spec = importlib.util.spec_from_file_location("charts", ROOT / "docs" / "charts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_charts_are_drawn_from_their_tables():
    assert doctest.testmod(charts()).failed == 0
    for page in PAGES:
        text = (ROOT / page).read_text()
        drawn = charts().on_page_markdown(text)
        assert drawn.count('role="img" aria-label') - text.count('role="img" aria-label') == text.count("<!-- chart")


def test_a_mark_of_a_chart_is_where_its_number_is():
    """On a logarithmic axis 1 lies in the middle of 0.1 and 10."""
    svg = charts().drawn("t", "| | a | b | c |\n|---|---|---|---|\n| row | 0.1 | 1.0 | 10 |\n")
    left, middle, right = (float(x) for x in re.findall(r"translate\(([\d.]+) 63\)", svg))
    assert left < middle == pytest.approx((left + right) / 2)


def test_no_page_needs_a_network():
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert "http" not in settings
    for page in PAGES:
        assert "mermaid" not in (ROOT / page).read_text()
