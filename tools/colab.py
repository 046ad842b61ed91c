"""The repository's address: read from pyproject.toml, kept there from `git remote`.

    python -m tools.colab           write the address of the remote "origin" into pyproject.toml
    python -m tools.colab --check   tell whether pyproject.toml has that address

From this one place the build makes Colab badges and the first cell of every notebook. While no
address is set there are no badges, and the cell says what to do.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
OPEN = "https://colab.research.google.com/github"
GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
URL_LINE = re.compile(r'^Repository = ".*"\n', re.MULTILINE)


def repository(pyproject: str) -> str | None:
    """Return "owner/name" from the text of pyproject.toml; None while it names no repository."""
    url = tomllib.loads(pyproject)["project"].get("urls", {}).get("Repository")
    return None if url is None else _owner_and_name(url)


def of_remote(folder: Path) -> str | None:
    """Return "owner/name" of the remote "origin"; None without one, or one that is not on GitHub."""
    asked = subprocess.run(["git", "remote", "get-url", "origin"], cwd=folder, capture_output=True, text=True)
    match = GITHUB.fullmatch(asked.stdout.strip())
    return match[1] if match else None


def with_repository(pyproject: str, name: str | None) -> str:
    """Return the text of pyproject.toml with the address of `name`, or without one."""
    line = f'Repository = "https://github.com/{name}"\n' if name else ""
    if URL_LINE.search(pyproject):
        return URL_LINE.sub(line, pyproject)
    return pyproject.replace("[project.urls]\n", f"[project.urls]\n{line}")


def badge(name: str | None, notebook: str) -> str:
    """Return a link that opens `notebook` (a path in the repository) in Colab; "" without an address."""
    return f"[![Open in Colab]({BADGE})]({OPEN}/{name}/blob/main/{notebook})" if name else ""


def first_cell(name: str | None) -> str:
    """Return the code which, in Colab only, fetches this package and moves nothing that is there."""
    if name is None:
        inside = 'print("This copy does not know its address. Put it in place of OWNER/NAME and run:")\n'
        inside += '    print("%pip install -q --no-deps array-api-compat git+https://github.com/OWNER/NAME")'
    else:
        inside = f"%pip install -q --no-deps array-api-compat git+https://github.com/{name}"
    return (
        "import sys\n\n"
        'if "google.colab" in sys.modules:  # opened in Colab: fetch this course\'s small package\n'
        f"    {inside}"
    )


def _owner_and_name(url: str) -> str:
    match = GITHUB.fullmatch(url)
    if match is None:
        raise ValueError(f"Repository must be a GitHub address such as https://github.com/a/b, got {url}")
    return match[1]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="only tell whether the address is right")
    options = parser.parse_args(arguments)
    text, name = PYPROJECT.read_text(encoding="utf-8"), of_remote(ROOT)
    if name is None:
        print('there is no remote "origin" on GitHub; pyproject.toml stays as it is')
        return 0
    if options.check:
        print(f"git says {name}, pyproject.toml says {repository(text)}")
        return 0 if repository(text) == name else 1
    PYPROJECT.write_text(with_repository(text, name), encoding="utf-8", newline="\n")
    print(f"pyproject.toml now names {name}; run `make notebooks` to put it into the notebooks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
