"""Where Colab finds this course: badges, and the first cell of every notebook.

    python -m tools.colab     write the address of git's remote "origin" into pyproject.toml

The address and the version come from pyproject.toml alone. While no address is set there are no badges,
and the first cell says what to do.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
OPEN = "https://colab.research.google.com/github"
GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
URL_LINE = re.compile(r'^Repository = ".*"\n', re.MULTILINE)


class Home(NamedTuple):
    """The repository ("owner/name", None while unknown), and what in it belongs to these notebooks.

    That is the tag of their version, such as v0.2.0. A version that is still being made, such as
    0.2.0.dev0, has no tag yet: its notebooks go with the branch main.
    """

    repository: str | None
    ref: str


def home(pyproject: str) -> Home:
    """Read the text of pyproject.toml; raise ValueError for an address that is not on GitHub."""
    project = tomllib.loads(pyproject)["project"]
    version, url = project["version"], project.get("urls", {}).get("Repository")
    match = GITHUB.fullmatch(url or "")
    if url and match is None:
        raise ValueError(f"Repository must be a GitHub address such as https://github.com/a/b, got {url}")
    return Home(match and match[1], "main" if "dev" in version else f"v{version}")


def badge(home: Home, notebook: str) -> str:
    """Return a link that opens `notebook` (a path in the repository) in Colab; "" without an address."""
    if home.repository is None:
        return ""
    return f"[![Open in Colab]({BADGE})]({OPEN}/{home.repository}/blob/{home.ref}/{notebook})"


def first_cell(home: Home) -> str:
    """Return the code which, in Colab only, fetches this package and moves nothing that is there."""
    address = f"git+https://github.com/{home.repository or 'OWNER/NAME'}@{home.ref}"
    inside = f"%pip install -q --no-deps array-api-compat {address}"
    if home.repository is None:
        inside = (
            'print("This copy does not know its address. Put it in place of OWNER/NAME and run:")\n'
            f'    print("{inside}")'
        )
    return (
        "import sys\n\n"
        'if "google.colab" in sys.modules:  # opened in Colab: fetch this course\'s small package\n'
        f"    {inside}"
    )


def of_remote(folder: Path) -> str | None:
    """Return "owner/name" of the remote "origin"; None without one, or one that is not on GitHub."""
    asked = subprocess.run(["git", "remote", "get-url", "origin"], cwd=folder, capture_output=True, text=True)
    match = GITHUB.fullmatch(asked.stdout.strip())
    return match and match[1]


def with_repository(pyproject: str, name: str) -> str:
    """Return the text of pyproject.toml with the address of `name`."""
    line = f'Repository = "https://github.com/{name}"\n'
    return URL_LINE.sub("", pyproject).replace("[project.urls]\n", f"[project.urls]\n{line}")


def main() -> None:
    name = of_remote(ROOT)
    if name is None:
        sys.exit('there is no remote "origin" on GitHub; pyproject.toml stays as it is')
    text = PYPROJECT.read_text(encoding="utf-8")
    PYPROJECT.write_text(with_repository(text, name), encoding="utf-8", newline="\n")
    print(f"pyproject.toml now names {name}; run `make notebooks` to put it into the notebooks")


if __name__ == "__main__":
    main()
