"""The layout: imports go one way, hot loops release the lock, files stay short."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import spnmkl

PACKAGE = Path(spnmkl.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# A module may import those of its own line and of the lines above. Of a package, modules that stand earlier than the
# others have lines of their own: the classifier stands in the middle of the training, which ends with one.
ORDER = [
    {"compilation", "errors", "installation", "memory", "notebook", "threads", "writing"},
    {"structure"},
    {"templates"},
    {"parameters"},
    {"circuit"},
    {"kernels"},
    {"problem"},
    {"certificate"},
    {"solution"},
    {"solvers"},
    {"selection", "fixed_weights", "calibration"},
    {"training.settings"},
    {"training.learn"},
    {"estimator", "history", "model_file", "inspection", "precompile", "report", "terminal"},
    {"baselines"},
    {"data"},
    {"export"},
    {"training"},
    {"charts"},
    {"runs"},
    {"ui"},
    {"arguments", "cli", "launch", "quickstart", "__main__", "__init__"},
]
RANK = {module: rank for rank, line in enumerate(ORDER) for module in line}
MOST_LINES = 450
# A notebook asks the object itself for its picture: here alone what comes later is called, when it is asked for.
UPWARDS = {("notebook", "export"), ("notebook", "report")}


def top(file: Path) -> str:
    """The module or subpackage directly below spnmkl that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def line_of(module: str) -> str:
    """The name under which a module, such as "data.table", stands in the order: its own, or that of its package."""
    own = ".".join(module.split(".")[:2])
    return own if own in RANK else module.split(".")[0]


def imported(file: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, wherever in it, with the line; those for annotations only are left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno} imports relatively"
            assert node.module
            if node.module == "spnmkl":
                yield from ((f"spnmkl.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


def own_imports(file: Path) -> Iterator[tuple[str, int]]:
    for module, line in imported(file):
        first, _, rest = module.partition(".")
        if first == "spnmkl":
            yield line_of(rest) or "__init__", line


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_one_way(file: Path) -> None:
    own = line_of(".".join(file.relative_to(PACKAGE).with_suffix("").parts))
    assert own in RANK, f"{own} has no place in the order of the modules; give it one in this test"
    for module, line in own_imports(file):
        # What is no module is a name of the package itself, which stands last.
        later = RANK.get(module, RANK["__init__"]) > RANK[own]
        assert not later or module == "__version__" or (own, module) in UPWARDS, (
            f"{file.name}:{line} imports {module}, which comes later"
        )


@pytest.mark.parametrize(
    ("part", "foreign"),
    [
        ("structure", {"numpy", "scipy", "sklearn", "pandas", "numba"}),
        ("circuit", {"sklearn", "pandas"}),
        ("problem", {"sklearn", "pandas"}),
        ("certificate", {"sklearn", "pandas", "numba"}),
        ("solvers", {"sklearn", "pandas", "cvxpy"}),
    ],
)
def test_what_a_part_does_without(part: str, foreign: set[str]) -> None:
    for file in FILES:
        if top(file) == part:
            assert not {module.split(".")[0] for module, _ in imported(file)} & foreign, file.name


def test_the_certificate_trusts_no_solver() -> None:
    for name in ("certificate", "solution"):
        assert "solvers" not in {module for module, _ in own_imports(PACKAGE / f"{name}.py")}


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
