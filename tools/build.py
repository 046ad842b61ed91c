"""Build the notebooks from their sources, and the figures from the package.

    python -m tools.build               all notebooks and figures
    python -m tools.build 1 03          these notebooks
    python -m tools.build --figures     the figures alone
    python -m tools.build --watch 07    these notebooks, again whenever they or the package are saved
    python -m tools.build --check       compare the notebooks with what is stored, byte for byte

A source is MyST Markdown, such as `notebooks/source/01_query_meets_keys.md`. `--check` runs no cell:
it takes the stored outputs as they are. nbval tells whether a run gives them again, and the tests of
the figures tell whether these are as drawn.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal
from nbformat import NotebookNode
from tqdm import tqdm
from watchfiles import watch
from watchfiles.main import FileChange

from attention_core.figures.gallery import write_figures
from tools import colab
from tools.stored import keep_stills

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
PACKAGE = ROOT / "attention_core"
FIGURES = ROOT / "figures"
HOME = colab.home(colab.PYPROJECT.read_text(encoding="utf-8"))
SLOW = ("13", "09")  # they train models: started first, so that no kernel waits for them at the end
CELL_SECONDS = 300
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


# --- one notebook ---------------------------------------------------------------------------------


def sources(names: Sequence[str] = ()) -> list[Path]:
    """Return the sources that `names` name, such as 1, 01 or 01_query_meets_keys; without names, all.

    Raises ValueError for a name that no source has.
    """
    found = sorted((NOTEBOOKS / "source").glob("[0-9][0-9]_*.md"))
    known = {name: s for s in found for name in (s.stem, s.stem[:2], str(int(s.stem[:2])))}
    for name in names:
        if name not in known:
            raise ValueError(f"no notebook {name!r}; there are {', '.join(s.stem for s in found)}")
    return sorted({known[name] for name in names}) if names else found


def read(source: Path) -> NotebookNode:
    """Return the notebook in `source`, not executed: with Colab's first cell, and links to its neighbours."""
    notebook = jupytext.read(source, fmt="md:myst")
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    notebook.cells.insert(first, nbformat.v4.new_code_cell(colab.first_cell(HOME)))
    if shown := links(source):
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(shown))
        notebook.cells.append(nbformat.v4.new_markdown_cell(shown))
    for index, (last, cell) in enumerate(pairwise([None, *notebook.cells]), start=1):
        cell.id = f"cell-{index}"
        cell.metadata = {"jupyter": {"outputs_hidden": True}} if reveals(last, cell) else {}
    notebook.metadata = METADATA
    return notebook


def links(source: Path) -> str:
    """Return the links to the notebooks before and after, and to Colab once its address is known."""
    everything = sorted(source.parent.glob("[0-9][0-9]_*.md"))
    here = everything.index(source)
    before = [f"[← {title(s)}]({s.stem}.ipynb)" for s in everything[:here][-1:]]
    after = [f"[{title(s)} →]({s.stem}.ipynb)" for s in everything[here + 1 :][:1]]
    badge = colab.badge(HOME, f"notebooks/{source.stem}.ipynb")
    return " · ".join(filter(None, [*before, *after, badge]))


def title(source: Path) -> str:
    """Return the first heading of `source`."""
    match = re.search(r"^# (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{source.name}: no heading that starts with '# '")
    return match[1]


def reveals(last: NotebookNode | None, cell: NotebookNode) -> bool:
    """Does `cell` show what the prediction in the `last` cell asks for? JupyterLab folds its output."""
    asked = last is not None and last.cell_type == "code" and "predict(" in last.source
    return asked and cell.cell_type == "code" and "predict(" not in cell.source


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells of `notebook`."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def written(source: Path, outputs: Iterable[Sequence[NotebookNode]]) -> str:
    """Return the notebook of `source`, as text, with the `outputs` of its code cells.

    Of what is live the still picture and its words stay. Raises RuntimeError for text on stderr.
    """
    notebook = read(source)
    cells = enumerate(code_cells(notebook), start=1)
    for (count, cell), shown in zip(cells, outputs, strict=False):  # --check: there may be fewer
        cell.execution_count, cell.outputs = count, deepcopy(list(shown))
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise RuntimeError(f"{source.name}: a cell wrote to stderr: {output.text}\n{cell.source}")
            if output.output_type == "execute_result":
                output.execution_count = count
            keep_stills(output.get("data", {}))
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def build_one(source: Path, path: Path, bar: "tqdm[Any]") -> None:
    """Run the notebook of `source` in a fresh kernel and write it to `path`; `bar` counts the cells.

    Raises RuntimeError when a cell fails, takes too long or writes to stderr.
    """
    notebook = read(source)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own notes are no news to a reader
        resources={"metadata": {"path": str(NOTEBOOKS)}},
        on_cell_start=lambda **_: bar.set_postfix_str(source.stem, refresh=False),
        on_cell_executed=lambda **_: bar.update(),
    )
    try:
        asyncio.run(client.async_execute())  # unlike `execute`, this closes its event loop
    except CellControlSignal as error:
        raise RuntimeError(f"{source.name}: {error}") from None
    text = written(source, (cell.outputs for cell in code_cells(notebook)))
    path.write_text(text, encoding="utf-8", newline="\n")


# --- all of them ----------------------------------------------------------------------------------


def build(chosen: Sequence[Path], target: Path) -> None:
    """Write the notebooks of `chosen` into the folder `target`, two kernels at a time."""
    os.environ["OMP_NUM_THREADS"] = "1"  # the kernels inherit it: sums depend on the number of threads
    n_cells = sum(len(code_cells(read(source))) for source in chosen)
    bar = tqdm(total=n_cells, desc="building", unit="cell", mininterval=0.5)
    with bar, ThreadPoolExecutor(max_workers=2) as pool:
        ordered = sorted(chosen, key=lambda source: source.stem[:2] not in SLOW)
        jobs = [pool.submit(build_one, s, target / f"{s.stem}.ipynb", bar) for s in ordered]
        for job in jobs:
            job.result()


def rebuild_when_saved(chosen: Sequence[Path], target: Path, changes: Iterable[Iterable[FileChange]]) -> None:
    """Build what each of `changes` concerns; a cell that fails is told, and the next change awaited."""
    for change in changes:
        saved = [Path(path) for _, path in change]
        everything = any(path.is_relative_to(PACKAGE) for path in saved)
        try:
            build([source for source in chosen if everything or source in saved], target)
        except RuntimeError as error:
            print(error)


def check(chosen: Sequence[Path]) -> list[Path]:
    """Return the notebooks of `chosen` that a build would write otherwise, and those without a source."""
    stale = []
    for source in chosen:
        path = NOTEBOOKS / f"{source.stem}.ipynb"
        text = written(source, outputs(path)) if path.is_file() else ""
        if not path.is_file() or path.read_bytes() != text.encode():
            stale.append(path)
    known = {source.stem for source in sources()}
    return stale + [path for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")) if path.stem not in known]


def outputs(path: Path) -> list[list[NotebookNode]]:
    """Return the outputs of each code cell that are stored in the notebook `path`."""
    return [cell.outputs for cell in code_cells(nbformat.read(path, as_version=4))]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="numbers or names of notebooks, such as 3 (default: all)")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--figures", action="store_true", help="draw the figures alone")
    way.add_argument("--watch", action="store_true", help="build whenever a source or the package is saved")
    way.add_argument("--check", action="store_true", help="compare the notebooks with what is stored")
    options = parser.parse_args(arguments)
    try:
        chosen = sources(options.names)
        if options.check:
            stale = check(chosen)
            print("\n".join(f"not as built: {path.relative_to(ROOT)}" for path in stale) or "up to date")
            return 1 if stale else 0
        if options.watch:
            print(f"waiting for a change of {', '.join(s.stem for s in chosen)}; Ctrl+C ends this")
            saves = watch(NOTEBOOKS / "source", PACKAGE, raise_interrupt=False)
            rebuild_when_saved(chosen, NOTEBOOKS, saves)
            return 0
        if options.figures or not options.names:
            write_figures(FIGURES)
        if not options.figures:
            build(chosen, NOTEBOOKS)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
