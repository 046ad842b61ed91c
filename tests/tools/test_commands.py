"""What prose and CI name exists; CI runs every command, and may do little else."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
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


MAKEFILE, CI, WORKFLOW = text("Makefile"), text(".ci/run"), text(".github/workflows/ci.yml")


def targets(makefile: str) -> list[str]:
    """Return the commands that .PHONY lists."""
    return re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[0].split()


def commands(prose: str) -> set[str]:
    """Return every x of the commands `make x` in a text: at a line's start or in code."""
    return set(re.findall(r"(?:^\s*|`|run: |timeout \d+ )make ([a-z-]+)", prose, re.MULTILINE))


def missing(prose: str) -> list[str]:
    """Return the files and folders that a text names in code and that are not there."""
    named = re.findall(r"`((?:attention_core|figures|notebooks|tests|tools)/[\w./-]*)`", prose)
    return [name for name in named if not (ROOT / name).exists() and name != "notebooks/mine/"]


def unpinned(workflow: str) -> list[str]:
    """Return the actions that are not pinned by a full commit hash with the version as a comment."""
    used = re.findall(r"uses: (.+)", workflow)
    return [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", line)]


def hosts_in(content: str) -> list[str]:
    return [host for host in HOSTS if host in content]


def project_files() -> list[Path]:
    """Return every text file of the project, without what tools leave behind."""
    folders = ["attention_core", "figures", "notebooks", "tests", "tools", ".ci", ".github"]
    paths = [*ROOT.glob("*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    return [path for path in paths if path.is_file() and path.suffix in TEXT]


def test_every_command_has_its_line_of_help() -> None:
    assert re.findall(r"^([a-z-]+):.*## .+$", MAKEFILE, re.MULTILINE) == targets(MAKEFILE)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "notebooks/source/00_start_here.md", ".ci/run"]
)
def test_commands_in_prose_and_scripts_exist(name: str) -> None:
    assert commands(text(name)) and commands(text(name)) <= {*targets(MAKEFILE)}


def test_ci_runs_every_command() -> None:
    assert commands(WORKFLOW) == {*targets(MAKEFILE)}


def test_both_cis_run_what_everyone_runs() -> None:
    assert "test" in commands(CI) and "test" in commands(WORKFLOW)


def test_commands_are_found() -> None:
    prose = "Run `make tests`, or\nmake lab NAMES=1\n      - run: make check\n# make help, and make do\n"
    assert commands(prose) == {"tests", "lab", "check"}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_what_prose_names_is_there(name: str) -> None:
    assert missing(text(name)) == []


def test_a_name_that_leads_nowhere_is_found() -> None:
    prose = "In `tools/build.py`, `tools/constraints.py`, `figures/` or `attention_core/worked/<id>.toml`."
    assert missing(prose) == ["tools/constraints.py"]


def test_actions_are_pinned() -> None:
    assert "uses:" in WORKFLOW and unpinned(WORKFLOW) == []


@pytest.mark.parametrize("action", ["actions/checkout@v7", f"actions/checkout@{'0' * 40}"])
def test_an_action_that_is_not_pinned_is_found(action: str) -> None:
    assert unpinned(f"- uses: {action}\n") == [action]


def test_the_workflow_may_only_read() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {"contents": "read"}


def test_no_file_names_a_host_of_packages() -> None:
    """Which registry packages come from is everyone's own setting."""
    files = project_files()
    assert ROOT / "Makefile" in files
    assert [path for path in files if hosts_in(path.read_text(encoding="utf-8"))] == []


def test_a_host_is_found() -> None:
    assert hosts_in(f"pip install --index-url https://{HOSTS[2]}/whl/cpu torch") == [HOSTS[2]]
