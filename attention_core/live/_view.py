"""What every live view shares: controls above or beside one picture, presets, a message, a Python face."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np
from ipywidgets import HTML, Button, Dropdown, HBox, Layout, VBox
from traitlets import HasTraits, Unicode, dlink, link, validate

from attention_core.figures.svg import Picture, still
from attention_core.live._inputs import Input, Refused

MY_EDIT = "my edit"
BAD = "attention-bad"  # CSS class of a box that holds something impossible
QUIET = "attention-quiet"  # CSS class of a box whose label only a screen reader needs
WHOLE = "attention-whole"  # CSS class of a row that stays in one line, also on a narrow page
HEIGHT = "28px"  # of a control
SIDE = Layout(margin="0 12px 0 0", flex="0 1 auto")  # of a block with another one to its right

# A slider's handle has no accessible name. noUiSlider, which ipywidgets 8 shows, takes one in its option
# handleAttributes (github.com/leongersen/noUiSlider/issues/1223), which ipywidgets does not offer. So an
# image that cannot be loaded gives each handle the name of the label beside it; for five seconds, as
# sliders may be drawn later. The buttons of a Play have no names either: they get the text beside them.
_NAME_CONTROLS = (
    "const go = left => { const view = this.closest('.attention-view');"
    " for (const handle of view ? view.querySelectorAll('.noUi-handle') : [])"
    " handle.setAttribute('aria-label', handle.closest('.widget-slider').querySelector('label').textContent);"
    " for (const button of view ? view.querySelectorAll('.widget-play button') : [])"
    " button.setAttribute('aria-label', button.closest('.widget-hbox').textContent.trim());"
    " if (left) setTimeout(go, 250, left - 1); }; go(20)"
)
_STYLE = f"""
<style>
.attention-view, .attention-view .widget-box, .attention-view .widget-html,
.attention-view .widget-html-content {{ overflow: visible; }}
.attention-view .widget-hbox {{ flex-wrap: wrap; }}
.attention-view .{WHOLE} {{ flex-wrap: nowrap; }}
.attention-view > *, .attention-view .widget-box > * {{ min-width: 0; max-width: calc(100% - 4px); }}
.attention-view .widget-dropdown > select {{ flex: 1 1 auto; width: auto; }}
.attention-view .{QUIET} > .widget-label,
.attention-view .{QUIET} > .widget-label-basic > span {{
  position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }}
.attention-view .{QUIET} input {{ padding: 2px 4px; text-align: right; }}
.attention-view .{QUIET} > .widget-label-basic {{
  width: 100%; height: 100%; display: grid; place-items: center; }}
.attention-view .{BAD}.{BAD} input {{ border: 2px dashed #D55E00; }}
.attention-view.attention-view.attention-view.attention-view :focus-visible {{
  outline: 2px solid currentColor !important; outline-offset: 1px; }}
.attention-view .widget-play {{ width: auto; flex: 0 0 auto; }}
.attention-view .widget-play button:is(:has(.fa-stop), :has(.fa-retweet)) {{ display: none; }}
.attention-view svg {{ display: block; }}
.attention-view svg g:hover > rect {{ stroke-width: 2.5; }}
.attention-message {{ border-left: 6px solid #D55E00; padding: 0 8px; line-height: 17px;
  white-space: normal; min-height: 36px; display: flex; align-items: center; }}
</style>
<img alt="" src="data:," onerror="{escape(_NAME_CONTROLS)}">
"""


class View(HasTraits):
    """A picture that follows its inputs, which are traits (`_inputs`).

    A subclass says what can be set, with which controls, and how it is drawn. What the learner types and
    what a notebook sets go the same way: into a trait, then `_draw`. What cannot be drawn is refused: the
    inputs and the picture stay, and a message in the view, or a ValueError in the notebook, says why.

    `observe` works on every trait; `hold_trait_notifications` draws once, after all that is set within.
    """

    svg = Unicode(read_only=True, help="The picture, as SVG text.")
    words = Unicode(read_only=True, help="The same facts in words.")
    message = Unicode(read_only=True, help='What the view says is wrong, or "".')
    preset = Unicode(help='The name of the preset that is shown, or "my edit".')
    picture: Picture
    presets: Mapping[str, Mapping[str, Any]]  # what a subclass sets before it calls __init__

    def __init__(self) -> None:
        self.lock = threading.RLock()  # what a browser sends may be worked on in another thread than a cell
        self.controls: list[Any] = []  # those that must be told what to show, in the order of the page
        self._problems: dict[Any, str] = {}
        self._held = False
        self._anew: set[str] = set()  # inputs that were set from outside, not on the page
        super().__init__()
        self.inputs: dict[str, Any] = {
            n: trait for n, trait in self.traits().items() if isinstance(trait, Input)
        }
        self._chosen = next(iter(self.presets))
        self._edit = self.presets[self._chosen]
        picture = HTML(layout=Layout(margin="0"))
        rows = self._arrange(picture)
        self.reset()
        self.observe(self._choose, "preset")
        dlink((self, "svg"), (picture, "value"))
        self.box = VBox([self._head(), *rows], layout=Layout(width="100%"))
        self.box.add_class("attention-view")

    # --- what a subclass gives --------------------------------------------------------------------

    def _arrange(self, picture: HTML) -> Sequence[Any]:
        """Return the rows of the view: its controls and the picture."""
        raise NotImplementedError

    def _draw(self) -> Picture:
        """Draw the inputs; a ValueError refuses them, in words."""
        raise NotImplementedError

    # --- what happens -----------------------------------------------------------------------------

    def set(self, inputs: Mapping[str, Any]) -> None:
        """Set several inputs at once, by name, and draw once: all of them, or with a ValueError none."""
        with self.hold_trait_notifications():
            self.put(inputs)
            self._anew |= set(inputs)

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Set inputs as `set` does, but leave the page alone where someone is typing them."""
        with self.hold_trait_notifications():
            for name, value in inputs.items():
                if name not in self.inputs:
                    raise Refused(f"the inputs are {', '.join(self.inputs)}, got {name!r}")
                self.set_trait(name, value)

    def reset(self) -> None:
        """Return to the preset chosen last; the edits stay under "my edit"."""
        self.set(self.presets[self._chosen])

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the one bundle that shows the view everywhere, and its metadata."""
        data, metadata = still(self.picture)
        return data | live(self.box), metadata

    @contextmanager
    def hold_trait_notifications(self) -> Iterator[None]:
        """Draw once, after all that is set within; where that is refused, everything is as before."""
        with self.lock:
            if self._held:
                yield
                return
            self._held, self._anew = True, set()
            try:
                with super().hold_trait_notifications():
                    yield
                    self._redraw()
                    anew, self._held = self._anew, False  # who is told of it may set something else
                for control in self.controls:
                    control.show(anew=control.name in anew)
            finally:
                self._held = False

    def complain(self, about: Any, problem: str) -> None:
        """Say what is wrong with a control, or with "" that nothing is."""
        self._problems.pop(about, None)
        if problem:
            self._problems[about] = problem
        self.set_trait("message", next(iter(self._problems.values()), ""))

    def _redraw(self) -> None:
        try:
            with np.errstate(all="ignore"):
                picture = self._draw()
        except ValueError as error:
            raise Refused(str(error)) from error
        self.picture = picture
        self.set_trait("svg", picture.svg)
        self.set_trait("words", picture.words)
        is_preset = self._shows(self.presets[self._chosen])
        if not is_preset:
            self._edit = {name: getattr(self, name) for name in self.presets[self._chosen]}
        self.set_trait("preset", self._chosen if is_preset else MY_EDIT)

    def _shows(self, inputs: Mapping[str, Any]) -> bool:
        return all(np.array_equal(getattr(self, name), value) for name, value in inputs.items())

    @validate("preset")
    def _known(self, proposal: Any) -> str:
        if proposal.value not in (names := [*self.presets, MY_EDIT]):
            raise Refused(f"preset must be one of {names}, got {proposal.value!r}")
        return str(proposal.value)

    def _choose(self, _: Any) -> None:
        wanted = self._edit if self.preset == MY_EDIT else self.presets[self.preset]
        if self.preset != MY_EDIT:
            self._chosen = self.preset
        if not self._shows(wanted):
            self.set(wanted)

    def _head(self) -> VBox:
        """Return the row that every view begins with: presets, reset, message."""
        presets = Dropdown(
            options=[*self.presets, MY_EDIT], description="Preset", style={"description_width": "46px"},
            layout=Layout(width="max-content", height=HEIGHT),
        )  # fmt: skip
        link((self, "preset"), (presets, "value"))
        reset = Button(description="Reset", layout=Layout(width="80px", height=HEIGHT))
        reset.on_click(lambda _: self.reset())
        message = HTML(layout=Layout(margin="0 0 0 12px", flex="1 1 220px", min_height="36px"))
        dlink((self, "message"), (message, "value"), _alert)
        row = HBox([presets, reset, message], layout=Layout(align_items="center"))
        return VBox([HTML(_STYLE, layout=Layout(display="none")), row])


def live(widget: Any) -> dict[str, Any]:
    """Return what displays a widget, where a kernel runs."""
    model = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": model}


def _alert(problem: str) -> str:
    return problem and f'<div class="attention-message" role="alert">{escape(problem)}</div>'
