"""Live views: a picture that follows its controls, and is set from Python too.

view = AttentionView()
show_live(view)
view.q = [[1.0, 0.0, 0.5, 0.9]]  # moves the picture; a slider changes what view.q reads
view.weights
"""

from IPython.display import display
from ipywidgets import HTML, Layout

from attention_core import figures
from attention_core.live._view import View, live
from attention_core.live.attention import AttentionView
from attention_core.live.dot_product import DotProductView
from attention_core.live.heads import HeadsView
from attention_core.live.it_animal import ItAnimalView
from attention_core.live.ledger import LedgerView
from attention_core.live.mask import MaskView
from attention_core.live.regression import RegressionView
from attention_core.live.scaling import ScalingView
from attention_core.live.softmax import SoftmaxView
from attention_core.live.values import ValuesView

__all__ = [
    "AttentionView",
    "DotProductView",
    "HeadsView",
    "ItAnimalView",
    "LedgerView",
    "MaskView",
    "RegressionView",
    "ScalingView",
    "SoftmaxView",
    "ValuesView",
    "View",
    "show_live",
]

MOVES = "This picture moves in JupyterLab and in Colab, where its numbers can be changed."


def show_live(view: View) -> None:
    """Display `view`: live where a kernel runs, otherwise a picture with its words folded below it.

    Stored notebooks and exported pages carry the picture as PNG, drawn from the view as it is now, with
    its words as alt text and, folded below it, open to every reader; no controls, no JavaScript. Where
    the notebook runs, the view takes the place of both.
    """
    data, metadata = view.bundle()
    display(data, metadata=metadata, raw=True)
    nothing = HTML(layout=Layout(display="none"))
    below = {"text/html": f"<p>{MOVES}</p>{figures.words_below(view.words)}", "text/plain": MOVES}
    display(below | live(nothing), raw=True)
