"""Exported pages: words on every picture, what was folded folded, links among the pages."""

from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from tools import build, html

NOTEBOOK = build.NOTEBOOKS / "03_softmax.ipynb"


@pytest.fixture(scope="module")
def page() -> BeautifulSoup:
    return BeautifulSoup(html.page(NOTEBOOK), "html.parser")


def test_every_picture_carries_its_words(page: BeautifulSoup) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    words = [o.metadata["image/png"]["alt"] for o in outputs if "image/png" in o.get("data", {})]
    assert words and [picture.get("alt") for picture in page.find_all("img")] == words


def test_what_jupyterlab_folds_is_folded(page: BeautifulSoup) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    folded = [c for c in stored.cells if c.metadata.get("jupyter", {}).get("outputs_hidden") and c.outputs]
    assert len(page.select("details.folded")) >= len(folded) > 0
    assert not page.select("details[open]")
    text = folded[0].outputs[0].get("data", {}).get("text/plain", folded[0].outputs[0].get("text"))
    places = [node for node in page.find_all(string=True) if text.strip() in node]
    assert any(place.find_parent("details", class_="folded") for place in places)


def test_cells_of_a_table_say_their_column(tmp_path: Path) -> None:
    table = "| token | weight |\n|---|---|\n| animal | 0.31 |"
    path = tmp_path / "table.ipynb"
    path.write_text(
        nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(table)])),
        encoding="utf-8",
    )
    cells = BeautifulSoup(html.page(path), "html.parser").find_all("td")
    assert [(cell["data-label"], cell.get_text()) for cell in cells] == [
        ("token", "animal"),
        ("weight", "0.31"),
    ]


def test_links_stay_among_the_pages(page: BeautifulSoup) -> None:
    addresses = [str(link["href"]) for link in page.find_all("a", href=True)]
    assert any(address.startswith("04_weighted_values.html") for address in addresses)
    assert html.to_page("03_softmax.ipynb#Shift") == "03_softmax.html#Shift"
    assert html.to_page("https://example.org/x.ipynb") == "https://example.org/x.ipynb"


def test_pages_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    assert html.write(["3"], tmp_path / "html") == [tmp_path / "html" / "03_softmax.html"]
    assert "<!DOCTYPE html>" in (tmp_path / "html" / "03_softmax.html").read_text(encoding="utf-8")


def test_a_notebook_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert html.main(["99"]) == 1
    assert "no notebook '99'" in capsys.readouterr().err
