"""What a stored notebook keeps of an output that is live where the notebook runs."""

from collections.abc import MutableMapping
from typing import Any

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def keep_stills(data: MutableMapping[str, Any]) -> None:
    """Take away, from one output's `data`, what lives only while the notebook runs.

    A widget's view goes, and the SVG that stands beside its own PNG: GitHub would show its letters only.
    """
    data.pop(WIDGET_VIEW, None)
    if "image/png" in data:
        data.pop("text/html", None)
