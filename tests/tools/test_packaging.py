"""The project's frame: versions, the wheel, environment.yml. Each check is shown to fail once."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
# What Colab has (its public lists of 2026-07 and 2026-08): the project must run beside these.
COLAB = {
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "matplotlib": "3.10.0",
    "numpy": "2.0.2",
    "safetensors": "0.8.0",
    "tokenizers": "0.22.2",
    "torch": "2.11.0",
    "tqdm": "4.67.3",
}
CONDA_NAMES = {"matplotlib-base": "matplotlib", "pytorch-cpu": "torch"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def asked_for(*extras: str) -> dict[str, SpecifierSet]:
    """Return the versions that pyproject.toml allows for its dependencies and those of `extras`."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    more = [line for extra in extras for line in project["optional-dependencies"][extra]]
    lines = map(Requirement, [*project["dependencies"], *more])
    return {canonicalize_name(line.name): line.specifier for line in lines}


# --- versions --------------------------------------------------------------------------------------


def refused(versions: Mapping[str, str], wanted: Mapping[str, SpecifierSet]) -> list[str]:
    """Return the packages of `wanted` that have no version in `versions`, or one that is not allowed."""
    return [name for name, allowed in wanted.items() if not allowed.contains(versions.get(name, "0"))]


def test_constraints_pin_every_dependency() -> None:
    """`uv pip compile` writes them; who changes pyproject.toml has to run it."""
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", text("constraints.txt"), re.MULTILINE))
    assert refused(pins, asked_for("lab", "torch", "minilm", "test")) == []


def test_colab_has_what_is_needed() -> None:
    """It has no array-api-compat, which installs there without touching anything else."""
    assert refused(COLAB, asked_for("lab", "torch", "minilm")) == ["array-api-compat", "jupyterlab"]


def test_a_missing_or_wrong_version_is_found() -> None:
    wanted = {"numpy": SpecifierSet(">=2.0"), "torch": SpecifierSet(">=2.4"), "tqdm": SpecifierSet(">=4")}
    assert refused({"numpy": "1.26.4", "tqdm": "4.70.1"}, wanted) == ["numpy", "torch"]


def test_the_package_itself_needs_numpy_and_array_api_compat_only() -> None:
    assert set(asked_for()) == {"numpy", "array-api-compat"}


# --- what a wheel holds ----------------------------------------------------------------------------


def test_a_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    """check-wheel-contents compares; a module outside a package and left-out data are shown to be seen."""
    folder = tmp_path / "copy"
    shutil.copytree(ROOT / "attention_core", folder / "attention_core")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    wheel = ["wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", "dist"]
    subprocess.run([sys.executable, "-m", "pip", *wheel], cwd=folder, check=True)
    command = [sys.executable, "-m", "check_wheel_contents", "dist"]
    assert subprocess.run(command, cwd=folder).returncode == 0
    for name in ("new/module.py", "new.npz"):
        path = folder / "attention_core" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 1 and f"attention_core/{name}" in done.stdout
        path.unlink()


# --- environment.yml -------------------------------------------------------------------------------


def conda_versions(environment: str) -> dict[str, SpecifierSet]:
    """Return the versions that the text of environment.yml asks for, under their names in pip."""
    lines = [line for line in yaml.safe_load(environment)["dependencies"] if isinstance(line, str)]
    requirements = [Requirement(line) for line in lines if line != "pip"]
    return {CONDA_NAMES.get(r.name, r.name): r.specifier for r in requirements}


def test_environment_yml_asks_for_the_same_as_pyproject() -> None:
    python = SpecifierSet(tomllib.loads(text("pyproject.toml"))["project"]["requires-python"])
    assert conda_versions(text("environment.yml")) == {"python": python, **asked_for("lab", "torch")}


@pytest.mark.parametrize(("old", "new"), [("numpy >=2.0", "numpy >=1.26"), ("  - ipython >=7.34\n", "")])
def test_an_environment_yml_that_drifts_is_found(old: str, new: str) -> None:
    environment = text("environment.yml")
    assert conda_versions(environment.replace(old, new)) != conda_versions(environment)


def test_environment_yml_installs_the_project_itself() -> None:
    assert {"pip": ["-e ."]} in yaml.safe_load(text("environment.yml"))["dependencies"]
