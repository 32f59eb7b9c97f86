"""The layout: imports go one way, hot loops release the lock, files stay short."""

import ast
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import spnmkl

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts"))
import processors  # noqa: E402
from modules import ORDER, PACKAGE, PICTURE, RANK, UPWARDS, files, imported, name_of, own_imports, picture, room_of  # noqa: E402

FILES = files()
MOST_LINES = 400


def top(file: Path) -> str:
    """The module or sub-package directly below spnmkl that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_one_way(file: Path) -> None:
    own = room_of(name_of(file))
    assert own is not None, f"{name_of(file)} has no place in the order of the rooms; give it one in scripts/modules.py"
    for module, line in own_imports(file):
        room = room_of(module)
        # What is no module is a name of the package itself, which stands last.
        later = RANK[room or "__init__"] > RANK[own]
        assert not later or (own, room) in UPWARDS, f"{file.name}:{line} imports {module}, which comes later"


def test_every_room_is_there() -> None:
    assert {room_of(name_of(file)) for file in FILES} == set(ORDER)


def test_no_two_modules_need_each_other() -> None:
    graph = nx.DiGraph()
    for file in FILES:
        own = name_of(file)
        for module, _ in own_imports(file):
            if (room_of(own), room_of(module)) not in UPWARDS and module != own:
                graph.add_edge(own, module)
    assert not [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def test_a_page_imports_no_other_page() -> None:
    pages = {file: name.split(".")[2] for file in FILES if (name := name_of(file)).startswith("ui.pages.")}
    assert len(set(pages.values())) == len(list((ROOT / "pages").glob("*.py")))
    for file, page in pages.items():
        others = {m.split(".")[2] for m, _ in own_imports(file) if m.startswith("ui.pages.")} - {page}
        assert not others, f"{file.name} of the page {page} imports {others}"


def test_what_holds_state_imports_no_streamlit() -> None:
    for file in FILES:
        if name_of(file).startswith("ui.state"):
            assert "streamlit" not in {module.split(".")[0] for module, _ in imported(file)}, file.name


def test_the_picture_shows_the_real_graph() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run: python scripts/modules.py"


@pytest.mark.parametrize(
    ("part", "foreign"),
    [
        ("structure", {"numpy", "scipy", "sklearn", "pandas", "numba"}),
        ("circuit", {"sklearn", "pandas"}),
        ("problem", {"sklearn", "pandas"}),
        ("certificate", {"sklearn", "pandas", "numba"}),
        ("rounding", {"sklearn", "pandas", "numba"}),
        ("solvers", {"sklearn", "pandas", "cvxpy"}),
    ],
)
def test_what_a_part_does_without(part: str, foreign: set[str]) -> None:
    for file in FILES:
        if top(file) == part:
            assert not {module.split(".")[0] for module, _ in imported(file)} & foreign, file.name


def test_the_certificate_trusts_no_solver() -> None:
    for name in ("certificate", "rounding", "solution"):
        assert "solvers" not in {module.split(".")[0] for module, _ in own_imports(PACKAGE / f"{name}.py")}


def test_streamlit_is_imported_by_the_app_alone() -> None:
    users = {top(file) for file in FILES for module, _ in imported(file) if module.split(".")[0] == "streamlit"}
    assert users <= {"ui"}


def test_cvxpy_is_an_oracle_only() -> None:
    assert not [file for file in FILES for module, _ in imported(file) if module.split(".")[0] in {"cvxpy", "clarabel"}]


def test_jitted_functions_release_the_lock_and_are_cached() -> None:
    found = 0
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for decorator in node.decorator_list:
                name = ast.unparse(decorator)
                if name.split("(")[0].split(".")[-1] not in {"njit", "jit", "vectorize", "guvectorize"}:
                    continue
                found += 1
                assert isinstance(decorator, ast.Call), f"{node.name} is jitted without nogil and cache"
                options = {keyword.arg: ast.unparse(keyword.value) for keyword in decorator.keywords}
                assert options.get("nogil") == "True", node.name
                assert options.get("cache") == "True", node.name
                # The workqueue threading layer aborts the process when two threads use it at once.
                assert "parallel" not in options, node.name
    assert found >= 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_files_stay_short(file: Path) -> None:
    """But for docstrings, which are as long as their reader needs them."""
    text = file.read_text(encoding="utf-8")
    told = (
        node.body[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False)
    )
    assert len(text.splitlines()) - sum(s.end_lineno - s.lineno for s in told) <= MOST_LINES


def names_used(file: Path) -> Iterator[str]:
    """What a file imports, with its module, and those attributes of it that begin with an underscore."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    yield from known.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            first, _, rest = ast.unparse(node).partition(".")
            if first in known:
                yield f"{known[first]}.{rest}"


# File and name → why there is no public way.
PRIVATE_ALLOWED: dict[tuple[str, str], str] = {}


def test_no_private_name_of_another_package_is_used() -> None:
    root, private = PACKAGE.parent, re.compile(r"\._(?!_)")
    used = {
        (str(file.relative_to(root)), name)
        for part in ("spnmkl", "pages", "examples", "benchmarks", "scripts", "tests")
        for file in (root / part).rglob("*.py")
        for name in names_used(file)
        if name.split(".")[0] not in {"spnmkl", *sys.stdlib_module_names} and private.search(name)
    }
    # Own modules of the benchmarks and tests are packages to this test too: theirs may be private to them.
    own = {file.stem for part in ("benchmarks", "scripts", "tests") for file in (root / part).rglob("*.py")}
    assert {(file, name) for file, name in used if name.split(".")[0] not in own} == set(PRIVATE_ALLOWED)


@pytest.mark.parametrize("part", ["pages", "examples", "benchmarks", "scripts"])
def test_what_stands_beside_the_package_imports_what_it_has(part: str) -> None:
    """No test runs all of these, and mypy reads the package alone."""
    used = {name for file in (ROOT / part).rglob("*.py") for name in names_used(file) if name.startswith("spnmkl.")}
    assert used
    for name in used:
        assert pkgutil.resolve_name(name) is not None, name


def test_the_classifier_uses_no_private_name_that_it_inherits() -> None:
    inherited = {name for base in (BaseEstimator, ClassifierMixin) for name in dir(base)}
    # What ends in an underscore belongs to a protocol, as _repr_html_ does to that of notebooks.
    private = {name for name in inherited if re.fullmatch(r"_[a-z].*[^_]", name)}
    assert {"_validate_params", "_get_tags", "_get_param_names"} & private
    for file in ("estimator.py", "model_file.py", "notebook.py"):
        words = set(re.findall(r"\w+", (PACKAGE / file).read_text(encoding="utf-8")))
        assert not words & (private | {"_parameter_constraints"}), file


def test_all_public_names_exist() -> None:
    assert sorted(spnmkl.__all__) == sorted(set(spnmkl.__all__))
    assert all(hasattr(spnmkl, name) for name in spnmkl.__all__)


@pytest.mark.parametrize("place", [*processors.NUMERIC, *processors.QUICK])
def test_what_is_run_for_other_processors_is_there(place: str) -> None:
    assert (ROOT / place).exists()
