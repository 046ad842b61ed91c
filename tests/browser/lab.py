"""A real JupyterLab on a free port, and a real browser that runs notebooks in it.

For the browser tests and for `make bench-live`. The browser is the user's own: none is downloaded.
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
FLAGS = [
    "--no-sandbox",  # Chromium refuses to run as root with one, and all pages are our own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = (
    "no Chromium, Chrome or Edge was found, so the live views are NOT tested in a browser. "
    "Install one, or set CHROMIUM to its path"
)
SECONDS = 90  # until a server or a page is ready
LIVE = ".jp-OutputArea-output .attention-view svg"


def find_chromium() -> str | None:
    """Return the path of a Chromium, Chrome or Edge; CHROMIUM in the environment names another one."""
    if "CHROMIUM" in os.environ:
        return shutil.which(os.environ["CHROMIUM"])
    return next(filter(None, map(shutil.which, (*NAMES, *PLACES))), None)


def needed_chromium() -> str:
    """Return the path of a browser; without one skip the test, or under CI fail it."""
    path = find_chromium()
    if path is None and os.environ.get("CI"):
        pytest.fail(f"under CI a browser must be there: {MISSING}")
    if path is None:
        pytest.skip(MISSING)
    return path


@contextlib.contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """Start the browser at `path` without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Lab:
    """A running JupyterLab: `open` a notebook made of code cells, in a light or a dark page."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url, self._token, self._folder = url, token, folder
        self._made = 0

    def open(self, browser: Browser, cells: Sequence[str], *, dark: bool = False, width: int = 1000) -> Page:
        """Run `cells` in a new notebook, and return its page when the last cell has finished."""
        self._made += 1
        name = f"page{self._made}.ipynb"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        }
        (self._folder / "notebooks" / name).write_text(nbformat.writes(notebook), encoding="utf-8")
        theme = {"theme": f"JupyterLab {'Dark' if dark else 'Light'}"}
        _setting(self._folder, "apputils-extension/themes", theme)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(1000 * SECONDS)
        page.goto(f"{self.url}/doc/tree/{name}?token={self._token}&reset")
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        )
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait_for_function(
            """n => { const cells = window.jupyterapp.shell.currentWidget.content.widgets;
                      return cells.length === n && cells.every(cell => cell.model.executionCount > 0) }""",
            arg=len(cells),
        )
        return page


def python(page: Page, code: str) -> str:
    """Run `code` in the page's kernel and return what it prints; raise RuntimeError where it fails."""
    said, error = page.evaluate(
        """async code => {
            const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
            const future = kernel.requestExecute({ code, store_history: false });
            let said = '', error = '';
            future.onIOPub = ({ header, content }) => {
                if (header.msg_type === 'stream') said += content.text;
                if (header.msg_type === 'error') error += content.traceback.join('\\n');
            };
            await future.done;
            return [said, error];
        }""",
        code,
    )
    if error:
        raise RuntimeError(error)
    return str(said).strip()


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab in `folder`, away from the user's own settings, and stop it in the end."""
    (folder / "notebooks").mkdir()
    _setting(folder, "apputils-extension/notification", {"fetchNews": "false", "checkForUpdates": False})
    _setting(folder, "notebook-extension/tracker", {"windowingMode": "none"})  # keeps all outputs on the page
    port, token = _free_port(), secrets.token_hex(16)
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    options = {
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder / "notebooks",
        "IdentityProvider.token": token,
    }
    with (folder / "jupyterlab.log").open("w") as log:
        server = subprocess.Popen(
            [*command, *(f"--{name}={value}" for name, value in options.items())],
            stdout=log, stderr=log, env=environment, cwd=folder,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/api?token={token}", server, folder / "jupyterlab.log")
            yield Lab(url, token, folder)
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(15)
            server.kill()


def _setting(folder: Path, name: str, values: dict[str, Any]) -> None:
    path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
