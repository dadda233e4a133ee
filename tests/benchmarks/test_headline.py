"""The table of results in the README is what is stored."""

import headline
import pytest


def test_the_readme_has_the_table_of_what_is_stored():
    with pytest.raises(SystemExit) as found:
        headline.main(["--check"])
    assert not found.value.code


def test_another_table_is_noticed(monkeypatch):
    monkeypatch.setattr(headline, "headline", lambda: "| ratio |\n")
    with pytest.raises(SystemExit) as found:
        headline.main(["--check"])
    assert found.value.code
