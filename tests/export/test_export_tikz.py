import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl.export import scene, to_tikz
from spnmkl.export.tikz import latex
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.groups import find_groups

SPECIALS = r"50% of {x} & #1: $a_b^c~\end{tikzpicture}"


def named(*names: str) -> SPN:
    return SPN(Sum(*(Product(Kernel("rbf", label=name), label=name) for name in names), label=names[0]))


def test_specials_of_latex_are_escaped() -> None:
    assert latex(SPECIALS[:18]) == r"50\% of \{x\} \& \#1: \$"
    assert latex(r"\a_b^c~") == r"\textbackslash{}a\_b\textasciicircum{}c\textasciitilde{}"
    assert latex("β₁₂ = 0.3") == r"\ensuremath{\beta}\textsubscript{12} = 0.3"
    assert latex("β₉¹⁄² × é ß 日") == r"\ensuremath{\beta}\textsubscript{9}\textsuperscript{1}/\textsuperscript{2}" + (
        r" \ensuremath{\times} é ß ?"
    )
    picture = to_tikz(named(SPECIALS))
    assert picture.count(r"\end{tikzpicture}") == 1 and picture.endswith("\\end{tikzpicture}\n")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(max_size=20))
def test_no_text_leaves_its_braces_or_starts_a_comment(text: str) -> None:
    written = latex(text)
    bare = re.sub(r"\\[&%$#_{}]", "", written)
    assert bare.count("{") == bare.count("}")
    assert not set("%#$&_^~") & set(bare)
    assert "\n" not in written


def test_the_same_table_is_drawn() -> None:
    spn = t.figure1()
    table = scene(spn)
    picture = to_tikz(spn)
    assert picture.count("circle[radius") == 13 and picture.count("rounded corners") == 7
    assert picture.count(".. controls") == len(table.edges) == 19
    assert picture.count(r"\node[") == sum(len(look.texts) for look in table.looks)
    for look in table.nodes.values():
        for text in look.texts:
            assert f"({look.x + text.x:.1f},{look.y + text.y:.1f}) {{{latex(text.text)}}}" in picture


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
@pytest.mark.parametrize("what", ["figure1", "closed", "hostile"])
def test_it_compiles(what: str, tmp_path: Path) -> None:
    if what == "figure1":
        spn = t.figure1()
        text = to_tikz(spn, highlight=next(spn.paths()), standalone=True)
    elif what == "closed":
        spn = t.flat([f"pixel_{k}" for k in range(16)])
        text = to_tikz(spn, beta=dict.fromkeys(spn.products, 0.0), closed={find_groups(spn)[0].id}, standalone=True)
    else:
        letters = "".join(map(chr, range(0xA1, 0x180)))
        parts = [letters[k : k + 16] for k in range(0, len(letters), 16)]
        text = to_tikz(named(SPECIALS, "🙂 日本", "<|>\"'`", "\\input{x}", *parts), standalone=True)
    (tmp_path / "drawing.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "drawing.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-800:]
    assert (tmp_path / "drawing.pdf").read_bytes().startswith(b"%PDF")
