"""Write notebooks as pages for a browser, with the outputs that are stored in them; `make html` calls this.

    python -m tools.html 03     html/03_softmax.html
    python -m tools.html        every notebook

Every picture carries its words, what JupyterLab folds is folded, code scrolls, tables stack on a phone;
the page is light or dark as its reader's system is. How it looks is in tools/html_template/.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

from tools.build import NOTEBOOKS, ROOT, sources

HERE = Path(__file__).resolve().parent
PAGES = ROOT / "html"
LIGHT, DARK = "default", "github-dark"  # pygments' colours of code


def page(notebook: Path) -> str:
    """Return the page of a stored notebook."""
    exporter = HTMLExporter(
        template_name="html_template",
        extra_template_basedirs=[str(HERE)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    body, _ = exporter.from_filename(str(notebook), resources={"code_colors": code_colors()})
    soup = BeautifulSoup(body, "html.parser")
    for table in soup.find_all("table"):
        names = [cell.get_text() for cell in table.select("thead th")]
        for row in table.select("tbody tr"):
            for name, cell in zip(names, row.find_all("td"), strict=False):
                cell["data-label"] = name  # stacked cells say it themselves
    for link in soup.find_all("a", href=True):
        link["href"] = to_page(str(link["href"]))
    return str(soup)


def to_page(address: str) -> str:
    """Return where a link to another notebook of the course leads among the pages.

    >>> to_page("03_softmax.ipynb#Shift"), to_page("https://example.org/x.ipynb")
    ('03_softmax.html#Shift', 'https://example.org/x.ipynb')
    """
    return address if "//" in address else address.replace(".ipynb", ".html")


def code_colors() -> str:
    """Return the style of code, for a light page and for a dark one."""
    light, dark = (HtmlFormatter(style=style).get_style_defs(".highlight") for style in (LIGHT, DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def write(names: Sequence[str], folder: Path) -> list[Path]:
    """Write the pages of the notebooks in `names`, or of all, into `folder`; return their paths."""
    folder.mkdir(exist_ok=True)
    paths = []
    for source in sources(names):
        paths.append(folder / f"{source.stem}.html")
        paths[-1].write_text(page(NOTEBOOKS / f"{source.stem}.ipynb"), encoding="utf-8", newline="\n")
    return paths


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(",")[0])
    parser.add_argument("names", nargs="*", help="numbers or names of notebooks, such as 3 (default: all)")
    try:
        paths = write(parser.parse_args(arguments).names, PAGES)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(path.relative_to(ROOT).as_posix() for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
