"""What is installed: pyproject.toml alone says it, and every promise of a version is one that is tried."""

import re
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import spnmkl
from spnmkl import installation
from spnmkl.errors import SPNMKLError

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import versions

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
CARRIED: dict[str, str] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
LISTS = ["requirements", "docs/requirements", "scripts/dist_requirements", "benchmarks/peers_requirements"]


def pinned(file: str) -> dict[str, str]:
    """Package → version; every line is of that form, so that no address or path stands in a list."""
    lines = [line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9a-z.]+", line) for line in lines)
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def test_one_file_says_what_a_wheel_carries() -> None:
    assert not [name for name in ("setup.py", "setup.cfg", "MANIFEST.in") if (ROOT / name).exists()]
    assert set(CARRIED) == {"app.py", "server.py", "pages", "sample_data", ".streamlit"}
    for name, place in CARRIED.items():
        assert place == f"spnmkl/_app/{name}"
        assert installation.installed(name) == ROOT / name


def test_a_wheel_goes_before_what_stands_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_PACKAGE", tmp_path / "spnmkl")
    with pytest.raises(SPNMKLError, match=r"^app\.py is missing from this installation; install spnmkl again\.$"):
        installation.installed("app.py")
    for folder in (tmp_path, tmp_path / "spnmkl" / "_app"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "app.py").touch()
        assert installation.installed("app.py") == folder / "app.py"


def test_a_wheel_holds_the_app_and_every_file_of_the_package(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    files = {
        path.relative_to(ROOT).as_posix()
        for name in ("spnmkl", *CARRIED)
        for path in (ROOT / name, *(ROOT / name).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    told = {file if file.startswith("spnmkl/") else f"spnmkl/_app/{file}" for file in files}
    assert {name for name in held if ".dist-info/" not in name} == told
    assert {f"spnmkl-{spnmkl.__version__}.dist-info/{name}" for name in ("METADATA", "licenses/LICENSE")} <= held


def test_the_version_is_one() -> None:
    assert PROJECT["version"] == spnmkl.__version__
    assert f"\nversion: {spnmkl.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None and newest[1] == spnmkl.__version__
    if newest[2] != "unreleased":
        assert f"\ndate-released: {newest[2]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_lowest_versions_are_the_bounds() -> None:
    lowest, newest = versions.pins("lowest"), versions.pins("newest")
    promised = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["app"]]
    assert [line.replace("==", ">=") for line in lowest] == newest
    exact = [line for line in lowest if "==" in line]
    assert exact[: len(promised)] == [line.replace(">=", "==") for line in promised]
    assert {line.split("==")[0] for line in exact[len(promised) :]} == versions.BROUGHT
    assert newest[: len(promised)] == promised
    tools = {Requirement(line).name for line in newest[len(promised) :]}
    assert "pytest" in tools and not tools & versions.NOT_FOR_THESE
    assert all((ROOT / test).exists() for test in versions.TESTS)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy>=2; python_version > '3'"])
def test_a_promise_without_a_lower_bound_alone_is_refused(requirement: str) -> None:
    with pytest.raises(SystemExit, match="must be of the form name>=version"):
        versions.bounds([requirement])


@pytest.mark.parametrize("file", LISTS)
def test_what_make_installs_keeps_the_promises(file: str) -> None:
    have = pinned(f"{file}.txt")
    asked = [PROJECT["dependencies"], PYPROJECT["build-system"]["requires"], *PROJECT["optional-dependencies"].values()]
    for requirement in map(Requirement, chain(*asked)):
        version = have.get(canonicalize_name(requirement.name))
        assert version is None or requirement.specifier.contains(version), (requirement, version)
    assert "hatchling" in have


def test_all_of_the_library_the_app_and_the_tests_is_listed() -> None:
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["app"], *extras["test"], *PYPROJECT["build-system"]["requires"]]
    assert {canonicalize_name(Requirement(line).name) for line in asked} <= set(pinned("requirements.txt"))
