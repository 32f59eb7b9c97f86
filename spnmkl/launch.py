"""Starts the app from a checkout or from an installed wheel, in any folder."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from spnmkl.errors import SPNMKLError

PACKAGE = Path(__file__).parent


def carried(name: str) -> Path:
    """A file or folder that stands beside the package in a checkout, and inside of it in a wheel."""
    for place in (PACKAGE / "_app" / name, PACKAGE.parent / name):
        if place.exists():
            return place
    raise SPNMKLError(f"{name} is missing from this installation; install spnmkl again.")


def run_app(options: Sequence[str] = ()) -> int:
    """The server of the carried app, with Streamlit's own options passed on; returns its exit code."""
    if importlib.util.find_spec("streamlit") is None:
        raise SPNMKLError("The app needs Streamlit, which is not installed; run: pip install 'spnmkl[app]'.")
    app = carried("app.py")
    command = [sys.executable, "-m", "spnmkl.ui.serve", str(app), *options]
    os.chdir(app.parent)  # where Streamlit reads .streamlit/config.toml
    if os.name == "posix":
        os.execv(sys.executable, command)  # one process: whoever ends it ends the server
    return subprocess.run(command, check=False).returncode
