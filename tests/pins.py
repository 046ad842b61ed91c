"""Where the bytes of stored pictures can be compared."""

import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path

PINS = Path(__file__).resolve().parents[1] / "constraints.txt"


def why_pictures_may_differ() -> str | None:
    """Return why pictures drawn here may have other bytes than the stored ones, or None."""
    pinned = re.findall(r"^matplotlib==(\S+)$", PINS.read_text(encoding="utf-8"), re.MULTILINE)
    if [version("matplotlib")] != pinned:
        return f"pictures are stored by matplotlib {pinned[0]}, this is {version('matplotlib')}"
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"pictures are stored on Linux x86_64, this is {sys.platform} {platform.machine()}"
    return None
