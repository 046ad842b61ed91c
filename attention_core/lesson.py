"""What every notebook needs: one number format, figures with words, source code, predictions, checks.

An answer that is still `...` is "not answered yet": the cell says so and the notebook runs on.
"""

import ast
import html
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import EllipsisType
from typing import Any
from urllib.parse import quote

import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import display
from tqdm import tqdm

from attention_core._numbers import DIGITS, in_line, printed
from attention_core.attention import Attention, attend, softmax
from attention_core.figures import bundle, draw, fold, is_chart, note, words_below
from attention_core.figures.svg import Picture, still
from attention_core.worked import Example, Row, Section, compare, computed

TOLERANCE = 5e-4  # an answer rounded to three decimals counts as right


def start() -> None:
    """Set the number format of the book: four decimals, no `np.float64(...)`.

    Call it once, in a notebook's first cell, after the imports. Where torch is imported it computes
    with one thread: small models gain nothing from more, and the sums are the same on every machine
    that has as many.
    """
    np.set_printoptions(precision=DIGITS, suppress=True, floatmode="fixed", linewidth=100)
    if "torch" in sys.modules:
        sys.modules["torch"].set_printoptions(precision=DIGITS, sci_mode=False, linewidth=100)
        sys.modules["torch"].set_num_threads(1)
    shell: Any = get_ipython()
    if shell is not None:
        printer = shell.display_formatter.formatters["text/plain"]
        for real in (float, np.float16, np.float32, np.float64):
            printer.for_type(real, lambda x, p, cycle: p.text(printed(float(x))))
        for whole in (np.bool_, np.int32, np.int64):
            printer.for_type(whole, lambda x, p, cycle: p.text(str(x)))


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


def show_published(example: Example, *quantities: str) -> None:
    """Show what the source printed beside what its inputs give; all of it, or these `quantities`."""
    rows = compare(example)
    known = [row.quantity for row in rows]
    if not set(quantities) <= set(known):
        raise ValueError(f"expected published quantities of {example.id} ({known}), got {quantities}")
    show_rows([row for row in rows if not quantities or row.quantity in quantities])


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


def predict(question: str, guess: Any, answer: Any, hints: Mapping[Any, str] | None = None) -> None:
    """Ask for a prediction and keep the answer folded until the reader opens it.

    `guess` is `...` until the reader replaces it. Two decimals are enough, and True or False may
    stand for "yes" or "no". `hints` maps a typical wrong guess to the thought that leads out of it.
    """
    truth = printed(answer)
    if isinstance(guess, EllipsisType):
        verdict = 'Your prediction? Write it in place of ... (a word in "quotes") and run the cell again.'
    elif _near(guess, answer):
        verdict = f"You predicted {printed(guess)}: right."
    else:
        hint = next((text for wrong, text in (hints or {}).items() if _near(guess, wrong)), "")
        verdict = f"You predicted {printed(guess)}: not so. {hint or 'Compare it with the answer.'}"
    asked = f"<b>{html.escape(question)}</b><br>{html.escape(verdict)}"
    folded = fold("Show the answer", f"<pre>{html.escape(truth)}</pre>")
    _say(f"{asked}{folded}", f"{question}\n{verdict}\nAnswer: {truth}")


def check(answer: Any, expected: Any, hints: Mapping[str, Any] | None = None) -> None:
    """Compare an exercise's `answer` with the `expected` array, and help where it differs.

    `hints` maps the help for a typical mistake to the value which that mistake gives
    (see `attention_hints`). Rounding to three decimals is accepted.
    """
    if isinstance(answer, EllipsisType):
        verdict = "Not answered yet: write your code in place of ... and run the cell again."
    elif (problem := _not_numbers(answer)) is not None:
        verdict = f"Not yet. {problem}"
    elif _same(answer, expected):
        verdict = "Correct."
    else:
        hint = next((text for text, wrong in (hints or {}).items() if _same(answer, wrong)), None)
        verdict = f"Not yet. {hint or _difference(answer, expected)}"
    _say(html.escape(verdict), verdict)


def attention_hints(
    step: str, q: Any, k: Any, v: Any, *, mask: Any = None, scale: float | None = None
) -> dict[str, Any]:
    """Return what the typical mistakes give for `step` ("scores", "weights" or "output").

    The keys are hints for the learner, the values the wrong arrays that `check` looks for.
    """
    if step not in ("scores", "weights", "output"):
        raise ValueError(f'step must be "scores", "weights" or "output", got {step!r}')
    d_k = q.shape[-1]
    right = attend(q, k, v, mask=mask, scale=scale)
    hints = {}
    if scale is None:
        hints["The division by √d_k is missing."] = attend(q, k, v, mask=mask, scale=1.0)
        hints["Divide by √d_k, not by d_k."] = attend(q, k, v, mask=mask, scale=1 / d_k)
    else:
        hints["Here the scores are not divided by √d_k."] = attend(q, k, v, mask=mask)
    if mask is not None:
        hints["The mask is missing."] = attend(q, k, v, scale=scale)
        hints["The mask is the wrong way round: True means may attend."] = attend(
            q, k, v, mask=~mask, scale=scale
        )
    wrong = {hint: getattr(steps, step) for hint, steps in hints.items()}
    if step == "scores":
        wrong["Transposed: one row for each query, one column for each key."] = right.scores.T
    else:
        columns = softmax(right.masked_scores, axis=-2)
        values = {"weights": columns, "output": columns @ v}
        wrong["The softmax ran over the wrong axis: each row must sum to 1."] = values[step]
    return wrong


def _not_numbers(answer: Any) -> str | None:
    """Say what is wrong with an answer that cannot be read as an array of numbers."""
    if isinstance(answer, Attention):
        return "This holds all steps: take one of them, such as .output."
    try:
        kind = _array(answer).dtype.kind
    except (TypeError, ValueError) as error:
        return f"An array of numbers is expected: {error}."
    return None if kind in "biuf" else f"An array of numbers is expected, got {type(answer).__name__}."


def _array(x: Any) -> np.ndarray:
    """Return `x` as a numpy array, tensors too: without their gradients, bfloat16 as float32."""
    if isinstance(x, list | tuple):
        return np.asarray([_array(entry) for entry in x])
    if "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        x = x.detach().cpu()
        x = x.float() if x.is_floating_point() and x.element_size() < 4 else x
    return np.asarray(x)


def _same(a: Any, b: Any) -> bool:
    """Are both arrays of one shape that agree to three decimals?"""
    a, b = _array(a), _array(b)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=TOLERANCE, equal_nan=True))


def _near(guess: Any, answer: Any) -> bool:
    """Does a guess say what the answer says: the same word, or the same numbers to two decimals?"""
    guess, answer = _yes_or_no(guess), _yes_or_no(answer)
    if isinstance(answer, str):
        return str(guess).strip().lower() == answer.lower()
    try:
        a, b = (_array(x).astype(float).squeeze() for x in (guess, answer))
    except (TypeError, ValueError):
        return False
    size = 1 if np.array_equal(b, np.round(b)) else np.maximum(1, np.abs(b))  # whole numbers: exactly
    return a.shape == b.shape and bool(np.all(np.isclose(a, b, rtol=0, atol=0.005 * size)))


def _yes_or_no(x: Any) -> Any:
    """Return the word for one truth value of any library, and everything else as it is."""
    try:
        truth = _array(x)
    except (TypeError, ValueError):
        return x
    return ("no", "yes")[int(truth.item())] if truth.dtype == bool and truth.size == 1 else x


def _difference(answer: Any, expected: Any) -> str:
    """Say how `answer` differs from `expected`: in shape, or where most in value."""
    a, b = _array(answer).astype(float), _array(expected).astype(float)
    if a.shape != b.shape:
        right = "The numbers are right. " if a.size == b.size and _same(a.ravel(), b.ravel()) else ""
        return f"{right}The shape should be {b.shape}, and yours is {a.shape}."
    differs = ~np.isclose(a, b, rtol=0, atol=0, equal_nan=True)  # −∞ in both is no difference
    gap = np.abs(np.subtract(a, b, out=np.zeros_like(a), where=differs))
    at = tuple(int(i) for i in np.unravel_index(np.argmax(gap), gap.shape))
    place = f" at index {list(at)}" if at else ""
    return f"The largest difference is {printed(gap[at])}{place}: yours is {printed(a[at])}."


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
