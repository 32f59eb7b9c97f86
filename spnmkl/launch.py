"""Starts the app from a checkout or from an installed wheel, in any folder."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from spnmkl.cluster.connecting import VARIABLE, check_asked
from spnmkl.errors import SPNMKLError
from spnmkl.installation import installed


def run_app(
    options: Sequence[str] = (),
    workspace: str | None = None,
    settings: Mapping[str, str] | None = None,
    cluster: str | None = None,
) -> int:
    """The server of the app, with Streamlit's own options passed on; returns its exit code.

    `settings` are those of a server for others, by the names that they have in the environment.
    """
    os.environ.update(settings or {})
    if workspace is not None:
        os.environ["SPNMKL_WORKSPACE"] = os.path.abspath(workspace)
    if importlib.util.find_spec("streamlit") is None:
        raise SPNMKLError("The app needs Streamlit, which is not installed; run: pip install 'spnmkl[app]'.")
    if cluster is not None:
        check_asked(cluster)
        os.environ[VARIABLE] = cluster
    app = installed("server.py")
    command = [sys.executable, "-m", "spnmkl.ui.serve", str(app), *options]
    os.chdir(app.parent)  # where Streamlit reads .streamlit/config.toml
    if os.name == "posix":
        os.execv(sys.executable, command)  # one process: whoever ends it ends the server
    return subprocess.run(command, check=False).returncode
