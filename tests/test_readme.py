"""The README's first model prints what the README says, letter by letter; where things are is told as it is."""

import re
from pathlib import Path

import numpy as np
import pytest

from spnmkl.kernels import fit_kernels
from spnmkl.structure import SPN, Kernel, Product

ROOT = Path(__file__).parents[1]
README, TESTS = ROOT / "README.md", ROOT / "tests"


def test_the_first_model(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    said = re.search(r"which prints\n\n```text\n(.*?)```", text, re.DOTALL)
    assert code and said
    exec(compile(code.group(1), str(README), "exec"), {})
    assert capsys.readouterr().out == said.group(1)


def test_a_linear_kernel_is_the_cosine_unless_it_is_kept() -> None:
    assert '`Kernel("linear", normalize="none")` keeps it' in README.read_text(encoding="utf-8")
    X = np.random.default_rng(0).normal(size=(6, 3))
    linear, cosine, kept = (
        next(iter(fit_kernels(SPN(Product(kernel)), X)[0].values()))
        for kernel in (Kernel("linear"), Kernel("cosine"), Kernel("linear", normalize="none"))
    )
    np.testing.assert_allclose(linear, cosine, atol=1e-12)
    np.testing.assert_allclose(kept, X @ X.T, atol=1e-12)


def test_the_tables_of_where_things_are_name_what_there_is() -> None:
    told = README.read_text(encoding="utf-8").split("## Finding your way in the code")[1]
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", told.split("|---|---|\n")[1].split("\n\n")[0])
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "spnmkl" / name).exists()] == []


def test_every_test_has_its_place_in_the_table_of_tests() -> None:
    told = (TESTS / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", told))
    files = {file.relative_to(TESTS).as_posix() for file in TESTS.rglob("test_*.py")}
    assert {file for file in files if file not in named and f"{Path(file).parent}/" not in named} == set()
    assert {name for name in named if "test_" in name and not (TESTS / name).exists()} == set()


def test_the_lines_of_the_text_are_wrapped_evenly() -> None:
    """A line of a paragraph is as long as it can be, and no longer than 125 letters."""
    for paragraph in paragraphs(README.read_text(encoding="utf-8")):
        assert max(map(len, paragraph)) <= 125, paragraph
        assert all(len(line) >= 90 for line in paragraph[:-1]), paragraph


def paragraphs(text: str) -> list[list[str]]:
    """Of plain text: no code, tables, headings, lists or pictures."""
    blocks = re.sub(r"```.*?```", "", text, flags=re.DOTALL).split("\n\n")
    return [lines for block in blocks if (lines := block.strip("\n").split("\n")) and lines[0][:1].isalnum()]
