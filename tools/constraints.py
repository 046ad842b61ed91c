"""Write constraints.txt, or tell whether this environment is the one it describes.

    python -m tools.constraints           write the versions that are installed here
    python -m tools.constraints --check   compare this environment with the file

The file holds the exact version of every package that pyproject.toml and its extras reach. Stored
outputs and figures are the same, byte for byte, only in that environment.
"""

import argparse
import platform
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.install import CONSTRAINTS, PYPROJECT

HEADER = "# The versions that the stored outputs were made with, written by `python -m tools.constraints`."


def requirements(pyproject: str) -> list[Requirement]:
    """Return what the text of pyproject.toml asks for: its dependencies and those of every extra."""
    project = tomllib.loads(pyproject)["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(line) for lines in lists for line in lines]


def wanted_here(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Tell whether `requirement`, of a package installed with `extras`, is for this platform."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def installed(wanted: Iterable[Requirement]) -> dict[str, str]:
    """Return the installed version of every package that `wanted` reaches, directly or not.

    Raises LookupError naming a package that is not installed.
    """
    versions: dict[str, str] = {}
    todo = list(wanted)
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        requirement = todo.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise LookupError(f"{name} is not installed; run `make test` first") from None
        versions[name] = Version(found.version).public  # without "+cpu", so that it fits any build
        needs = (Requirement(line) for line in found.requires or ())
        todo += [need for need in needs if wanted_here(need, extras)]
    return versions


def this_platform() -> str:
    """Return the platform whose outputs are comparable byte for byte."""
    version = ".".join(platform.python_version_tuple()[:2])
    return f"# Python {version} on {platform.system()} {platform.machine()}"


def render(platform_line: str, versions: Mapping[str, str]) -> str:
    """Return the text of constraints.txt."""
    pins = (f"{name}=={version}" for name, version in sorted(versions.items()))
    return "\n".join([HEADER, platform_line, *pins]) + "\n"


def differences(pinned: str, here: str) -> list[str]:
    """Return the lines that only one of the two texts has, as "pinned: …" or "here: …"."""
    left, right = pinned.splitlines(), here.splitlines()
    return [f"pinned: {line}" for line in left if line not in right] + [
        f"here:   {line}" for line in right if line not in left
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write constraints.txt from this environment.")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    here = render(this_platform(), installed(requirements(PYPROJECT.read_text("utf-8"))))
    if not options.check:
        CONSTRAINTS.write_text(here, encoding="utf-8", newline="\n")
        print(f"{CONSTRAINTS.name} written")
        return 0
    found = differences(CONSTRAINTS.read_text("utf-8"), here)
    print("\n".join(found) or "this is the pinned environment")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
