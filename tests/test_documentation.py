"""The documentation: its examples run and make a picture, its pages' code runs, its site is checked to work offline."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from spnmkl.kernels import registry

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text(encoding="utf-8")]

sys.path.append(str(ROOT / "scripts"))
from offline import loads_of, main  # noqa: E402


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_site_is_built_with_the_versions_that_are_tested() -> None:
    tested, shown = pins("requirements.txt"), pins("docs/requirements.txt")
    assert {name: shown[name] for name in shown if name in tested} == {n: tested[n] for n in shown if n in tested}
    assert {"Sphinx", "numpydoc", "spnmkl"} & set(shown) == {"Sphinx", "numpydoc"}


def test_there_are_examples_enough() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_make_a_picture(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))
    assert runpy.run_path(str(example))["picture"].startswith("<svg")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(page: Path) -> None:
    known: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), known)


@pytest.mark.parametrize(
    ("name", "text", "loaded"),
    [
        ("a.html", '<script src="https://a.example/x.js"></script>', ["https://a.example/x.js"]),
        ("a.html", '<link rel="stylesheet" href="//a.example/x.css">', ["//a.example/x.css"]),
        ("a.html", '<img srcset="b.png, https://a.example/b.png 2x">', ["https://a.example/b.png 2x"]),
        ("a.html", "<style>@import 'https://a.example/x.css';</style>", ["https://a.example/x.css"]),
        ("a.html", '<p style="background: url(https://a.example/b.png)">', ["https://a.example/b.png"]),
        ("a.css", "@font-face { src: url('https://a.example/f.woff2') }", ["https://a.example/f.woff2"]),
        ("a.js", 'import("https://a.example/m.js")', ["https://a.example/m.js"]),
        ("a.html", '<a href="https://a.example">read</a><link rel="canonical" href="https://a.example">', []),
        ("a.html", '<script src="_static/x.js"></script><img src="data:image/png;base64,//x,//y">', []),
    ],
)
def test_what_a_page_loads_from_outside_is_found(tmp_path: Path, name: str, text: str, loaded: list[str]) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert loads_of(file) == loaded
    assert main(tmp_path) == (1 if loaded else 0)


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    assert main(tmp_path) == 1
