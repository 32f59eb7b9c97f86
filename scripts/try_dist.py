"""Try the wheel as a stranger would: `python scripts/try_dist.py dist`, which `make dist` does after building it.

In an empty environment of a temporary folder: first the library and the command line, then the app. The wheel was built
from the source distribution, so that both are tried. Versions are those of requirements.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import serving

ROOT = Path(__file__).parent.parent
CLASSIFIER = """
from sklearn.datasets import load_wine
from spnmkl import SPNMKLClassifier
import spnmkl
assert "site-packages" in spnmkl.__file__, spnmkl.__file__
X, y = load_wine(return_X_y=True)
model = SPNMKLClassifier().fit(X / X.std(axis=0), y)
print(model.status_, round(model.score(X / X.std(axis=0), y), 3))
"""
EVERY_PAGE = """
import logging
from streamlit.testing.v1 import AppTest
from spnmkl.installation import installed
logging.disable(logging.WARNING)  # that there is no browser
for page in ["design", "data", "train", "inspect", "compare", "predict", "runs"]:
    app = AppTest.from_file(str(installed("app.py")), default_timeout=120).run().switch_page(f"pages/{page}.py").run()
    assert not app.exception, (page, app.exception)
"""


@contextmanager
def told(what: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - begin:.1f} s", flush=True)


class Stranger:
    """An empty environment in a folder of its own, which sees nothing of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.environment = folder, folder / "environment"
        venv.create(self.environment, with_pip=True)
        self.bin = self.environment / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(self.bin / "python")

    def run(self, *command: str) -> str:
        """What a command of the environment prints; where it fails, so does the trial."""
        program = [str(self.bin / command[0]), *command[1:]]
        done = subprocess.run(program, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed with code {done.returncode}:\n{done.stdout}")
        return done.stdout

    def install(self, wheel: Path, extra: str = "") -> None:
        options = ["--quiet", "--disable-pip-version-check", "-c", str(ROOT / "requirements.txt")]
        self.run("python", "-m", "pip", "install", *options, f"{wheel}{extra}")


def try_library(stranger: Stranger, version: str) -> None:
    assert stranger.run("spnmkl", "--version").split()[-1] == version
    assert "usage: spnmkl" in stranger.run("spnmkl", "--help")
    table = (ROOT / "sample_data" / "known.csv").read_text(encoding="utf-8")
    (stranger.folder / "known.csv").write_text(table, encoding="utf-8")
    with told("spnmkl fit, compiling its loops"):
        stranger.run("spnmkl", "fit", "known.csv", "--structure=grouped", "--label=label", "--out=model.spnmkl")
    with told("spnmkl predict"):
        stranger.run("spnmkl", "predict", "model.spnmkl", "known.csv", "--out", "predictions.csv")
    answers = (stranger.folder / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert len(answers) == len(table.splitlines()), len(answers)
    with told("SPNMKLClassifier().fit"):
        print(stranger.run("python", "-c", CLASSIFIER).strip())


def try_app(stranger: Stranger) -> None:
    with told("the app's server started, asked and ended"), serving(stranger.folder, python=stranger.python) as address:
        assert urllib.request.urlopen(f"{address}/_stcore/health", timeout=10).read() == b"ok"
    with told("every page opened"):
        stranger.run("python", "-c", EVERY_PAGE)


def main(dist: Path) -> None:
    wheel, source = next(dist.glob("*.whl")).resolve(), next(dist.glob("*.tar.gz"))
    for file in (wheel, source):
        print(f"{file.name}: {file.stat().st_size / 1e3:,.0f} kB")
    with tempfile.TemporaryDirectory() as folder:
        stranger = Stranger(Path(folder))
        with told("pip install spnmkl"):
            stranger.install(wheel)
        try_library(stranger, version=wheel.name.split("-")[1])
        with told("pip install 'spnmkl[app]'"):
            stranger.install(wheel, "[app]")
        try_app(stranger)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main(Path(sys.argv[1]))
