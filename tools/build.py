"""Build the notebooks from their sources, and the figures from the package.

    python -m tools.build                 all notebooks and figures
    python -m tools.build 01 03           these notebooks
    python -m tools.build --figures       the figures alone
    python -m tools.build --check         build again elsewhere and compare, byte for byte

A source is MyST Markdown (`notebooks/source/01_query_meets_keys.md`): code cells once, every prose
cell marked `lang: en` or `lang: zh`. It is executed once, and each language becomes an edition with
the same code cells and outputs.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from tools import colab
from tools.gallery import write_figures

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = colab.repository(colab.PYPROJECT.read_text(encoding="utf-8"))
SOURCES = ROOT / "notebooks" / "source"
EDITIONS = {"en": Path("."), "zh": Path("zh")}  # language -> folder inside notebooks/
CELL_SECONDS = 120
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LANGUAGE_INFO = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}


def read(source: Path) -> NotebookNode:
    """Return the notebook in `source`, with Colab's first cell before its own code.

    Raises ValueError for a prose cell without a known language.
    """
    notebook = jupytext.read(source, fmt="md:myst")
    first = next((i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"), 0)
    notebook.cells.insert(first, nbformat.v4.new_code_cell(colab.first_cell(REPOSITORY)))
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("lang") not in EDITIONS:
            raise ValueError(
                f'{source.name}: every prose cell starts with +++ {{"lang": "en"}} (or another of '
                f"{sorted(EDITIONS)}), got {dict(cell.metadata)} at {cell.source[:60]!r}"
            )
    return notebook


def languages(notebook: NotebookNode) -> list[str]:
    """Return the languages that the prose of `notebook` is written in."""
    return sorted({cell.metadata.lang for cell in notebook.cells if cell.cell_type == "markdown"})


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run all code cells in a fresh kernel in `folder`; raise if one fails or writes to stderr."""
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own notes are no news to a reader
        resources={"metadata": {"path": str(folder)}},
    )
    executed = client.execute()
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"a cell wrote to stderr: {output['text']}\n{cell.source}")
            output.get("data", {}).pop(WIDGET_VIEW, None)  # the static picture and the text stay
    return executed


def edition(notebook: NotebookNode, lang: str, links: str) -> NotebookNode:
    """Return the `lang` edition of an executed notebook, with `links` below its title and at its end."""
    cells = [deepcopy(c) for c in notebook.cells if c.metadata.get("lang", lang) == lang]
    if links:
        cells.insert(1, nbformat.v4.new_markdown_cell(links))
        cells.append(nbformat.v4.new_markdown_cell(links))
    for index, (last, cell) in enumerate(pairwise([None, *cells]), start=1):
        cell.id = f"cell-{index}"
        cell.metadata = {"jupyter": {"outputs_hidden": True}} if reveals(last, cell) else {}
    result = nbformat.v4.new_notebook(cells=cells)
    result.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": LANGUAGE_INFO,
    }
    nbformat.validate(result)
    return result


def reveals(last: NotebookNode | None, cell: NotebookNode) -> bool:
    """Does `cell` show what the prediction in the `last` cell asks for? JupyterLab folds its output."""
    asked = last is not None and last.cell_type == "code" and "predict(" in last.source
    return asked and cell.cell_type == "code" and "predict(" not in cell.source


def title(source: Path, lang: str) -> str:
    """Return the first heading of `source` in `lang`."""
    prose = (c.source for c in read(source).cells if c.metadata.get("lang") == lang)
    match = next(filter(None, (re.search(r"^# (.+)$", text, re.MULTILINE) for text in prose)), None)
    if match is None:
        raise ValueError(f"{source.name}: no heading that starts with '# ' in {lang}")
    return match[1]


def link(source: Path | None, lang: str, arrow: str) -> str:
    """Return a link to the edition of `source` in `lang`, or "" where there is none."""
    if source is None or lang not in languages(read(source)):
        return ""
    text = title(source, lang)
    return f"[{f'← {text}' if arrow == '←' else f'{text} →'}]({source.stem}.ipynb)"


def links(source: Path, sources: list[Path], lang: str) -> str:
    """Return the links to the previous and the next notebook, and to Colab once its address is known."""
    here = sources.index(source)
    before = sources[here - 1] if here else None
    after = sources[here + 1] if here + 1 < len(sources) else None
    badge = colab.badge(REPOSITORY, str(Path("notebooks", EDITIONS[lang], f"{source.stem}.ipynb").as_posix()))
    return " · ".join(filter(None, (link(before, lang, "←"), link(after, lang, "→"), badge)))


def build(source: Path, sources: list[Path], target: Path) -> list[Path]:
    """Execute `source` and write its editions below `target`; return the files written."""
    notebook = read(source)
    executed = execute(deepcopy(notebook), ROOT / "notebooks")
    written = []
    for lang in languages(notebook):
        path = target / EDITIONS[lang] / f"{source.stem}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        result = edition(executed, lang, links(source, sources, lang))
        path.write_text(nbformat.writes(result) + "\n", encoding="utf-8", newline="\n")
        written.append(path)
    return written


def build_all(chosen: Iterable[Path], sources: list[Path], target: Path) -> list[Path]:
    """Build `chosen` on two kernels at a time, with a progress bar."""
    os.environ["OMP_NUM_THREADS"] = "1"  # torch's sums depend on the number of threads
    chosen = list(chosen)
    fresh = get_context("spawn")  # a fork copies the threads' locks of what is imported here, JAX's for one
    with ProcessPoolExecutor(max_workers=2, mp_context=fresh) as pool:
        jobs = [pool.submit(build, source, sources, target) for source in chosen]
        bar = tqdm(jobs, desc="notebooks", unit="notebook")
        return [path for job in bar for path in job.result()]


def compared(path: Path) -> bytes:
    """Return the bytes of a file that must be the same after every build.

    These are all, except the pixels of a notebook's pictures that are marked `trained`: what a model
    learns in the same steps differs in the last digits from one processor to another.
    """
    if path.suffix != ".ipynb":
        return path.read_bytes()
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    trained = [o for o in outputs if o.get("metadata", {}).get("image/png", {}).get("trained")]
    for output in trained:
        del output["data"]["image/png"]
    return nbformat.writes(notebook).encode() if trained else path.read_bytes()


def differing(built: Iterable[Path], target: Path, committed: Path) -> list[str]:
    """Return the files of `target` that are missing from `committed` or differ from it."""
    names = [path.relative_to(target) for path in built]
    return [
        str(name)
        for name in names
        if not (committed / name).is_file() or compared(committed / name) != compared(target / name)
    ]


def left_over(built: Iterable[Path], target: Path, committed: Path, pattern: str) -> list[str]:
    """Return the files of `committed` that match `pattern` and that no build writes any more."""
    names = {path.relative_to(target) for path in built}
    there = {path.relative_to(committed) for path in committed.rglob(pattern)}
    hidden = (name for name in there if any(part.startswith(".") for part in name.parts))
    return sorted(str(name) for name in set(there) - names - set(hidden))


def select(names: list[str]) -> list[Path]:
    """Return the sources whose names start with one of `names`; all of them without names."""
    sources = sorted(SOURCES.glob("[0-9]*.md"))
    for name in names:
        if not any(source.name.startswith(name) for source in sources):
            known = ", ".join(source.stem for source in sources)
            raise ValueError(f"no notebook source starts with {name!r}; there are {known}")
    return [s for s in sources if not names or s.name.startswith(tuple(names))]


def figures(target: Path) -> list[Path]:
    """Draw all figures into `target`; return the files written."""
    target.mkdir(parents=True, exist_ok=True)
    write_figures(target)
    return sorted(target.iterdir())


def check(names: list[str]) -> list[str]:
    """Build in a scratch folder; return the committed files that a fresh build would change."""
    with tempfile.TemporaryDirectory() as scratch:
        notebooks, pictures = Path(scratch, "notebooks"), Path(scratch, "figures")
        built = build_all(select(names), select([]), notebooks)
        stale = differing(built, notebooks, ROOT / "notebooks")
        if not names:
            drawn = figures(pictures)
            stale += differing(drawn, pictures, ROOT / "figures")
            stale += left_over(built, notebooks, ROOT / "notebooks", "*.ipynb")
            stale += left_over(drawn, pictures, ROOT / "figures", "*.svg")
        return stale


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="notebook numbers, such as 01 03 (default: all)")
    parser.add_argument("--figures", action="store_true", help="draw the figures alone")
    parser.add_argument("--check", action="store_true", help="compare with what is committed")
    options = parser.parse_args(arguments)
    if options.check:
        stale = check(options.names)
        print("\n".join(f"differs from a fresh build: {name}" for name in stale) or "up to date")
        return 1 if stale else 0
    if not options.names or options.figures:
        print(f"{len(figures(ROOT / 'figures'))} files in figures/")
    if not options.figures:
        for path in build_all(select(options.names), select([]), ROOT / "notebooks"):
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
