"""What every live view shares: controls above or beside one picture, presets, a message, a Python face."""

import threading
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from ipywidgets import HTML, Dropdown, HBox, Layout, VBox

from attention_core.live._shapes import Drawing
from attention_core.live.number_controls import BAD, HEIGHT, QUIET, Control, Flag
from attention_core.live.other_controls import button

MY_EDIT = "my edit"
LIMIT = 10.0  # the largest entry of a matrix; exp() of the scores it gives can still be held
SIDE = Layout(margin="0 12px 0 0", flex="0 0 auto")  # of a block with another one to its right

# A slider's handle has no accessible name in ipywidgets 8 and no option for one, so this gives it the
# name of the label beside it. It looks for five seconds, because the sliders may be drawn later.
_NAME_SLIDERS = (
    "const go = left => { const view = this.closest('.attention-view');"
    " for (const handle of view ? view.querySelectorAll('.noUi-handle') : [])"
    " handle.setAttribute('aria-label', handle.closest('.widget-slider').querySelector('label').textContent);"
    " if (left) setTimeout(go, 250, left - 1); }; go(20)"
)
_STYLE = f"""
<style>
.attention-view {{ overflow-x: auto; }}
.attention-view .{QUIET} > label {{ position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }}
.attention-view .{QUIET} input {{ padding: 2px 4px; text-align: right; }}
.attention-view .{BAD} input {{ outline: 2px dashed currentColor; outline-offset: -2px; }}
.attention-view.attention-view.attention-view :focus-visible {{
  outline: 2px solid currentColor !important; outline-offset: 1px; }}
.attention-view .widget-html-content {{ overflow: visible; }}
.attention-view svg {{ display: block; }}
.attention-view svg g:hover > rect {{ stroke-width: 2.5; }}
.attention-message {{ border-left: 6px solid #D55E00; padding: 0 8px; line-height: 17px;
  white-space: normal; height: 36px; display: flex; align-items: center; }}
</style>
<img alt="" src="data:," onerror="{escape(_NAME_SLIDERS)}">
"""


class Input:
    """An attribute of a view that reads and sets the control of the same name."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, view: Any, owner: type) -> Any:
        return self if view is None else view.controls[self._name].value

    def __set__(self, view: Any, value: Any) -> None:
        view.controls[self._name].value = value


class View:
    """A picture that follows its controls.

    A subclass gives `controls`, `presets` and a layout, computes with one kernel and draws with one
    function. What the learner types and what a notebook sets go the same way: into a control, which
    tells the view, which computes and draws. While something cannot be read or computed, a message
    says what, and the last good picture stays.
    """

    def __init__(self, controls: Mapping[str, Control], examples: Mapping[str, Mapping[str, Any]]) -> None:
        self.controls: dict[str, Any] = dict(controls)
        self._examples = dict(examples)
        self._chosen = next(iter(examples))
        self._edit = dict(examples[self._chosen])
        self._pause = Flag()  # up while several inputs are set
        self._one_at_a_time = threading.RLock()
        self._picture = HTML(layout=Layout(margin="0"))
        self._message = HTML(layout=Layout(margin="0 0 0 12px", flex="1 1 0", min_width="0", height="36px"))
        self._example = Dropdown(
            options=[*examples, MY_EDIT], description="Example", style={"description_width": "60px"},
            layout=Layout(width="260px", height=HEIGHT, flex="0 0 auto"),
        )  # fmt: skip
        self._example.observe(self._example_chosen, "value")
        head = HBox(
            [self._example, button("Reset", self.reset), self._message],
            layout=Layout(height="38px", align_items="center"),
        )
        style = HTML(_STYLE, layout=Layout(display="none"))
        self.box = VBox([style, head, *self._arrange(self._picture)], layout=Layout(width="100%"))
        self.box.add_class("attention-view")
        self.words = ""
        for name, control in self.controls.items():
            if name in self._edit:
                control.listen(self._edited)
            control.listen(self._update)
        self._load(self._edit)

    # --- what a subclass gives --------------------------------------------------------------------

    def _arrange(self, picture: HTML) -> Sequence[Any]:
        """Return the rows of the view: its controls and the picture."""
        raise NotImplementedError

    def _draw(self) -> Drawing:
        """Compute with the kernel, keep the results, and draw them."""
        raise NotImplementedError

    def _figure(self) -> tuple[Any, ...]:
        """Return the function of `figures` that draws the static picture, and its arguments."""
        raise NotImplementedError

    # --- what happens -----------------------------------------------------------------------------

    @property
    def message(self) -> str:
        """What the view says is wrong, or ""."""
        return self._said

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        return str(self._picture.value)

    def set(self, inputs: Mapping[str, Any]) -> None:
        """Set several inputs at once, by name, and draw once."""
        self._edited()
        self._load(inputs)

    def _load(self, inputs: Mapping[str, Any]) -> None:
        with self._pause.raised():
            for name, value in inputs.items():
                self.controls[name].value = value
        self._update()

    def reset(self) -> None:
        """Return to the example chosen last; the edits stay under "my edit"."""
        self._example.value = self._chosen

    def _example_chosen(self, change: Any) -> None:
        if self._pause.up:
            return
        if change["old"] == MY_EDIT:
            self._edit = {name: self.controls[name].value for name in self._edit}
        if change["new"] == MY_EDIT:
            self._load(self._edit)
        else:
            self._chosen = change["new"]
            self._load(self._examples[self._chosen])

    def _edited(self) -> None:
        """Show that the inputs are no longer those of an example."""
        if not self._pause.up and self._example.value != MY_EDIT:
            with self._pause.raised():
                self._example.value = MY_EDIT

    def _update(self) -> None:
        if self._pause.up:
            return
        with self._one_at_a_time, np.errstate(all="ignore"):  # the last to come sees every input
            problem = next((control.problem for control in self.controls.values() if control.problem), "")
            try:
                drawn = self._draw()
            except ValueError as error:
                problem = problem or f"{error}."
            else:
                self.words = drawn.words
                if self._picture.value != drawn.svg:
                    self._picture.value = drawn.svg
            self._say(problem)

    def _say(self, problem: str) -> None:
        self._said = problem
        html = f'<div class="attention-message" role="alert">{escape(problem)}</div>' if problem else ""
        if self._message.value != html:
            self._message.value = html
