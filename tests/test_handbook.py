"""The handbook agrees with the code: cited equations exist, all are cited, every constant stands in its table."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spnmkl

PACKAGE = Path(spnmkl.__file__).parent
DOCS = PACKAGE.parent / "docs"
EQUATION = re.compile(r"^ {4}.*\((\d+)\)$", re.MULTILINE)  # a displayed one, with its number at the end of the line
CITED = re.compile(r"\b[Ee]q\. (\d+)")
PARTS = (
    "solvers",
    "circuit",
    "certificate.py",
    "rounding.py",
    "solution.py",
    "problem.py",
    "structure/derivations.py",
    "structure/terms.py",
)
FILES = sorted(
    file for part in PARTS for file in ([PACKAGE / part] if part[-3:] == ".py" else PACKAGE.glob(f"{part}/*.py"))
)


def equations() -> list[int]:
    return [int(k) for k in EQUATION.findall((DOCS / "formulation.md").read_text(encoding="utf-8"))]


def citations() -> dict[int, list[str]]:
    """By equation, the files that cite it."""
    found: dict[int, list[str]] = {}
    for file in [*PACKAGE.rglob("*.py"), DOCS / "handbook.md"]:
        for k in CITED.findall(file.read_text(encoding="utf-8")):
            found.setdefault(int(k), []).append(file.name)
    return found


def test_equations_are_numbered_in_order() -> None:
    assert equations() == list(range(1, len(equations()) + 1))


def test_every_displayed_equation_has_a_number() -> None:
    text = (DOCS / "formulation.md").read_text(encoding="utf-8")
    blocks = [block for block in text.split("\n\n") if block.startswith("    ")]
    assert len(blocks) > 20
    assert not [block for block in blocks if not EQUATION.search(block)]


def test_every_cited_equation_exists() -> None:
    assert {k: files for k, files in citations().items() if k not in equations()} == {}


def test_every_equation_is_cited_where_it_is_computed() -> None:
    by_code = {k for k, files in citations().items() if set(files) != {"handbook.md"}}
    assert set(equations()) - by_code == set()


def numbers(file: Path) -> Iterator[tuple[str, str]]:
    """Names and values, as they are written, of the numbers that a module keeps."""
    text = file.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and _is_number(node.value):
            yield ast.unparse(node.targets[0]).strip("()"), ast.get_source_segment(text, node.value) or ""


def _is_number(value: ast.expr) -> bool:
    """Made of numbers, or of other constants and numbers, alone."""
    parts = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name | ast.Call)]
    told = [node.value for node in parts if isinstance(node, ast.Constant) and not isinstance(node.value, str)]
    called = any(isinstance(node, ast.Call) for node in parts)
    return bool(told) and not called and all(isinstance(k, int | float) for k in told)


def rows(name: str) -> dict[str, str]:
    """Of a file's table in the handbook: names, and values."""
    text = (DOCS / "handbook.md").read_text(encoding="utf-8")
    part = re.search(rf"^### `{re.escape(name)}`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    return (
        dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| [^|]+ \| [^|]+ \|$", part.group(1), re.MULTILINE))
        if part
        else {}
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_every_constant_stands_in_the_handbook(file: Path) -> None:
    assert rows(file.relative_to(PACKAGE).as_posix()) == dict(numbers(file))


def test_the_handbook_names_every_file_of_the_solvers() -> None:
    told = (DOCS / "handbook.md").read_text(encoding="utf-8").split("## Which method runs")[0]
    assert [f.name for f in PACKAGE.glob("solvers/[a-z]*.py") if f"`{f.name}`" not in told] == []
