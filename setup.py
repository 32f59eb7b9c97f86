"""Puts the app beside the package in a wheel: `spnmkl/_app` gets app.py, its pages, its settings and the samples."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
CARRIED = ["app.py", "pages", "sample_data", ".streamlit"]


class BuildWithApp(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "spnmkl" / "_app"
        for name in CARRIED:
            source, destination = HERE / name, target / name
            if source.is_dir():
                shutil.copytree(source, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, destination)


setup(cmdclass={"build_py": BuildWithApp})
