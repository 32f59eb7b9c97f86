"""The versions that pyproject.toml promises: `python scripts/versions.py lowest|newest` prints a list for pip.

Lowest: the library and the app at their lower bounds, and polars, whose frames the classifier takes. Newest: whatever
is the newest. The tests' own tools are not promised and are the newest in both. `python scripts/versions.py test` runs
the library's tests with the Python that runs it, and says with which versions.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = [
    *("tests/structure", "tests/circuit", "tests/kernels", "tests/oracle", "tests/solver", "tests/estimator"),
    *("tests/data", "tests/training", "tests/cli", "tests/export", "tests/charts", "tests/reporting"),
    *("tests/study", "tests/project", "tests/workspace"),
    *("tests/test_selection.py", "tests/test_inspection.py", "tests/test_baselines.py", "tests/test_lemmas.py"),
    *("tests/test_bad_input.py", "tests/test_threads.py", "tests/test_imports.py"),
]
NOT_FOR_THESE = {"playwright", "ruff", "mypy"}
BROUGHT = {"polars"}  # by users, not by the tests alone
_REQUIREMENT = re.compile(r"([A-Za-z0-9-]+)>=([0-9.]+)")


def bounds(requirements: list[str]) -> dict[str, str]:
    """Package → the lowest version that is allowed; every requirement must say it, and nothing else."""
    found = {}
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} must be of the form name>=version.")
        found[match[1]] = match[2]
    return found


def promised() -> tuple[dict[str, str], dict[str, str]]:
    """The bounds of the library with the app, and those of the tests' tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tools = {name: bound for name, bound in bounds(extras["test"]).items() if name not in NOT_FOR_THESE}
    return bounds([*project["dependencies"], *extras["app"]]), tools


def pins(which: str) -> list[str]:
    """One line of pip's for each package; ``==2.0`` is 2.0.0 and not 2.0.1."""
    library, tools = promised()
    exact = {*library, *BROUGHT} if which == "lowest" else set()
    return [f"{name}{'==' if name in exact else '>='}{bound}" for name, bound in (library | tools).items()]


def test() -> int:
    """Run the library's tests; the versions come last, beside the counts."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
    old = ["-W", "ignore:Passing a non-Collection iterable"]  # which scikit-learn 1.8 does, and pytest 9 deprecates
    done = subprocess.run([*command, *old, *TESTS], cwd=ROOT)
    print(f"Python {sys.version.split()[0]},", ", ".join(f"{name} {version(name)}" for name in promised()[0]))
    return done.returncode


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["lowest" | "newest" as which]:
            print("\n".join(pins(which)))
        case ["test"]:
            sys.exit(test())
        case _:
            sys.exit(__doc__)
