"""What nbval compares of an output: what a build stores of it. A plugin of pytest.

    python -m pytest -p tests.notebooks.stills --nbval --nbval-current-env notebooks

nbval skips the view of a widget by itself; it cannot be told of an SVG that stands beside its PNG.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell

from tools.stored import keep_stills


def compare_stills(
    self: IPyNbCell, test: Sequence[NotebookNode], ref: Sequence[NotebookNode], skip_compare: Any = None
) -> bool:
    """Compare as nbval does, once the fresh outputs `test` are as a build stores them."""
    fresh = deepcopy(list(test))
    for output in fresh:
        keep_stills(output.get("data", {}))
    return bool(_COMPARE(self, fresh, ref, skip_compare))


_COMPARE = IPyNbCell.compare_outputs


def pytest_configure(config: pytest.Config) -> None:
    """Put `compare_stills` in the place of nbval's own."""
    config.add_cleanup(lambda: setattr(IPyNbCell, "compare_outputs", _COMPARE))
    IPyNbCell.compare_outputs = compare_stills
