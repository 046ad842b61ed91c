"""What every notebook needs: one number format, figures with words, source code, predictions, checks.

An answer that is still `...` is "not answered yet": the cell says so and the notebook runs on.
"""

import ast
import html
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from types import EllipsisType
from typing import Any
from urllib.parse import quote

import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import display
from tqdm import tqdm

from attention_core._numbers import DIGITS, in_line, printed, rounded
from attention_core.figures import bundle, draw, fold, is_chart, note, words_below
from attention_core.figures.svg import Picture, still
from attention_core.questions import NOT_YET, find, judge_exercise, judge_prediction, wanted
from attention_core.worked import Example, Row, Section, compare, computed, load

_here = ""  # the number of the notebook that runs, as `start` was told


def start(notebook: str, digits: int = DIGITS) -> None:
    """Say which notebook this is, such as "03", and set the number format of the book.

    Call it once, in a notebook's first cell, after the imports. Numbers get as many decimals as they
    have, at most `digits`, and no `np.float64(...)`. Where torch is imported it computes with one
    thread: small models gain nothing from more, and the sums are the same on every machine that has
    as many.
    """
    global _here
    _here = notebook
    np.set_printoptions(precision=digits, suppress=True, floatmode="maxprec_equal", linewidth=100)
    if "torch" in sys.modules:
        sys.modules["torch"].set_printoptions(precision=digits, sci_mode=False, linewidth=100)
        sys.modules["torch"].set_num_threads(1)
    shell: Any = get_ipython()
    if shell is not None:
        printer = shell.display_formatter.formatters["text/plain"]
        for real in (float, np.float16, np.float32, np.float64):
            printer.for_type(real, lambda x, p, cycle: p.text(printed(float(x), digits)))
        for whole in (np.bool_, np.int32, np.int64):
            printer.for_type(whole, lambda x, p, cycle: p.text(str(x)))
        printer.for_type(np.ndarray, _print_array)


def _print_array(x: Any, p: Any, cycle: bool) -> None:
    """Let IPython write an array as numpy does, without what only rounding has left."""
    with p.group():
        for number, line in enumerate(repr(rounded(x)).splitlines()):
            if number:
                p.break_()
            p.text(line)


def progress(n_steps: int, about: str) -> Iterator[int]:
    """Count from 0 to n_steps - 1, with a progress bar in the cell's output while the loop runs.

    In the end a fixed line stays, so that a stored notebook is the same after every run.
    """
    line = _Line(f"{about}: {n_steps} steps")
    yield from tqdm(range(n_steps), desc=about, file=line, leave=False, mininterval=0.3, ncols=80)
    line.write(line.text)


class _Line:
    """One output of a cell, for tqdm to write to: each writing replaces the last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.handle = display({"text/plain": text}, raw=True, display_id=True)

    def write(self, text: str) -> None:
        if self.handle is not None and text.strip():  # there is no handle outside a notebook
            self.handle.update({"text/plain": text.strip()}, raw=True)

    def flush(self) -> None:
        """Do nothing: each writing is shown at once."""


def show(figure: Callable[..., str | Picture], *args: Any, trained: bool = False, **kwargs: Any) -> None:
    """Draw `figure` below the cell, with the same facts in words.

    A chart is drawn on axes that it gets first, `figure(ax, *args, **kwargs)`; the canvas returns its
    picture, which answers to mouse and keyboard where the notebook runs, and is a PNG where it is stored.
    The words are the picture's alt text and, folded below it, open to every reader; they are made
    from the arrays, so a check of the stored text is a check of the numbers drawn. `trained` marks
    a picture of what a model has learned: its pixels may differ from one processor to another.
    """
    if is_chart(figure):
        drawn, words = draw(figure, *args, **kwargs)
        data, metadata = bundle(drawn, words)
    else:
        picture: Any = figure(*args, **kwargs)
        data, metadata = still(picture)
        data, words = data | {"text/html": picture.svg}, picture.words
    if trained:
        metadata["image/png"]["trained"] = True  # so no check compares them
    display(data, metadata=metadata, raw=True)
    display({"text/html": words_below(words), "text/plain": "(the same in words)"}, raw=True)


def show_source(thing: Callable[..., Any]) -> None:
    """Show the source of a function or class without its docstrings."""
    source = textwrap.dedent(inspect.getsource(thing))
    lines = source.splitlines()
    for node in reversed(list(ast.walk(ast.parse(source)))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            del lines[docstring.lineno - 1 : docstring.end_lineno]
    code = "\n".join(lines)
    # nbconvert's pages use the code font only inside an element of this class
    shown = f'<div class="jp-RenderedText">\n\n```python\n{code}\n```\n\n</div>'
    display({"text/markdown": shown, "text/plain": code}, raw=True)


def show_rows(rows: Sequence[Row]) -> None:
    """Show rows of `compare` as a table: quantity, printed, computed, verdict.

    Rows of several examples get a line with the example's name before each of them.
    """
    table: list[Sequence[str]] = []
    for id, group in groupby(rows, key=lambda row: row.example_id):
        if len({row.example_id for row in rows}) > 1:
            table.append((f"**{id}**", "", "", ""))
        for row in group:
            verdict = f"✓ reproduced{f': {row.note}' if row.note else ''}"
            if row.erratum:
                verdict = f"✗ **erratum**: {row.erratum}"
            table.append((f"{row.source}: {_words(row.quantity)}", row.printed, row.computed, verdict))
    show_table(("quantity", "printed", "computed", "verdict"), table)


def show_statements(*examples: Example, source: str = "") -> None:
    """Show what the sources say in words, where it is tested, the verdicts and the numbers behind them.

    `source` picks the claims that this source makes, or makes first: "S2" picks "S2" and "S2, S4".
    """
    table = []
    for example in examples:
        values = computed(example)
        for claim in example.statements:
            if claim.source.startswith(source):
                facts = " · ".join(f"{_words(name)} = {in_line(values[name])}" for name in claim.shows)
                verdict = f"**{claim.verdict}**: {claim.why}{f'<br>{facts}' if facts else ''}"
                places = "<br>".join(map(_link, claim.tested))
                table.append((f"{claim.source}: {claim.says}", places, verdict))
    show_table(("the source says", "tested in", "verdict, and the numbers that decide it"), table)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Show `rows` under the names in `columns`; cells may hold Markdown."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in (columns, *rows)]
    lines.insert(1, ["---"] * len(columns))
    shown = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    plain = "\n".join(" | ".join(str(cell).replace("<br>", ", ") for cell in row) for row in (columns, *rows))
    display({"text/markdown": shown, "text/plain": plain}, raw=True)


def predict(name: str, guess: Any) -> None:
    """Ask for a prediction and keep the answer folded until the reader opens it.

    `guess` is `...` until the reader replaces it. The words, the answer and what a wrong guess is told
    stand in `attention_core/questions`, under this `name`.
    """
    question = find(_here, name)
    answer = question.answered(_names())
    if isinstance(guess, EllipsisType):
        verdict = f"Your guess? Write it in place of ... and run the cell again: {wanted(answer)}."
    else:
        thought = judge_prediction(guess, answer)
        verdict = f"You guessed {printed(guess)}: {f'not so. {thought}' if thought else 'right.'}"
    truth = printed(answer.right)
    folded = fold("Show the answer", f"<pre>{html.escape(truth)}</pre>")
    _say(
        f"<b>{_marked(question.words)}</b><br>{_marked(verdict)}{folded}",
        f"{question.words}\n{verdict}\nAnswer: {truth}",
    )


def check(name: str, mine: Any) -> None:
    """Say whether an exercise's answer `mine` is right, and help where it is not.

    What is expected stands in `attention_core/questions`, under this `name`. Rounding to three decimals
    is accepted.
    """
    problem = judge_exercise(mine, find(_here, name).answered(_names()))
    verdict = problem if problem == NOT_YET else f"Not yet. {problem}" if problem else "Correct."
    _say(_marked(verdict), verdict)


def in_print(id: str, *quantities: str) -> None:
    """Show, folded, what the source of an example prints beside what its inputs give."""
    rows = compare(load(id))
    known = [row.quantity for row in rows]
    if not set(quantities) <= set(known):
        raise ValueError(f"expected published quantities of {id} ({known}), got {quantities}")
    columns = ("quantity", "printed", "computed")
    cells = [
        (_words(row.quantity), row.printed, row.computed)
        for row in rows
        if not quantities or row.quantity in quantities
    ]
    lines = "".join(
        f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in line)}</tr>"
        for tag, line in (("th", columns), *(("td", line) for line in cells))
    )
    plain = "\n".join(" | ".join(line) for line in (("In print",), columns, *cells))
    _say(fold("In print", f"<table>{lines}</table>"), plain)


def _names() -> dict[str, Any]:
    """Return the names of the notebook whose cell called this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return {} if frame is None else frame.f_globals


def _marked(text: str) -> str:
    """Return words as HTML, with *this* in italics and `this` as code."""
    escaped = html.escape(text)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", re.sub(r"\*(\w.*?)\*", r"<i>\1</i>", escaped))


def _words(name: str) -> str:
    """Return a quantity's name with spaces; d_k and d_model stay.

    >>> _words("weights_sum"), _words("sqrt_d_k")
    ('weights sum', 'sqrt d_k')
    """
    return re.sub("(?<!_d)(?<!^d)_", " ", name)


def _link(section: Section) -> str:
    """Return a link that opens a notebook at a heading.

    JupyterLab compares the address with the heading as it stands: a browser encodes what is not ASCII,
    and such a heading opens its notebook at the top.

    >>> _link(Section("03_softmax", "Adding changes *nothing*, or?"))
    '[03 Adding changes *nothing*, or?](03_softmax.ipynb#Adding-changes-nothing,-or?)'
    """
    address = quote(re.sub(r"[*`]", "", section.heading).replace(" ", "-"), safe="!$&'()+,/:;?@~")
    return f"[{section.notebook[:2]} {section.heading}]({section.notebook}.ipynb#{address})"


def _say(shown: str, plain: str) -> None:
    """Display a note as HTML and as plain text."""
    display({"text/html": note(shown), "text/plain": plain}, raw=True)
