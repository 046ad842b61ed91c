"""Live views: controls wired to one kernel and one drawing function each.

view = AttentionView()
show_live(view)
view.q = [[1.0, 0.0, 0.5, 0.9]]  # moves the picture; a slider changes what view.q reads
view.weights
"""

from typing import Any

from IPython.display import display

from attention_core import figures
from attention_core.live.kernel_view import KernelView
from attention_core.live.ledger_view import LedgerView
from attention_core.live.mask_view import MaskView
from attention_core.live.token_views import HeadsView, ItAnimalView
from attention_core.live.view import View
from attention_core.live.views import AttentionView, DotProductView, ScalingView, SoftmaxView, ValuesView

__all__ = [
    "AttentionView",
    "DotProductView",
    "HeadsView",
    "ItAnimalView",
    "KernelView",
    "LedgerView",
    "MaskView",
    "ScalingView",
    "SoftmaxView",
    "ValuesView",
    "bundle",
    "show_live",
]


def show_live(view: View) -> None:
    """Display `view`: live where a kernel runs, otherwise a picture and its numbers in words."""
    data, metadata = bundle(view)
    display(data, metadata=metadata, raw=True)


def bundle(view: View) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the one bundle that shows `view` everywhere, and its metadata."""
    figure, _ = figures.draw(*view._figure())
    data, metadata = figures.bundle(figure, view.words)
    live = {"version_major": 2, "version_minor": 0, "model_id": view.box.model_id}
    return data | {"application/vnd.jupyter.widget-view+json": live}, metadata
