"""Signs and words: one sentence each, one page, and examples whose numbers are right."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from small_runs import trained

from spnmkl.inspection import heaviest_paths
from spnmkl.reporting.glossary import GLOSSARY, explained, glossary_page, worked_g, worked_gap, worked_share

ROOT = Path(__file__).parents[2]
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁄", "0123456789/")


@pytest.mark.parametrize("term", GLOSSARY.values(), ids=lambda term: term.sign)
def test_every_sign_has_one_sentence(term) -> None:  # type: ignore[no-untyped-def]
    assert term.sentence.endswith(".") and not re.search(r"[.!?] [A-Z]", term.sentence)


def test_the_page_of_the_documentation_is_of_today() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary_page(), "run scripts/glossary.py"


def test_what_the_wish_names_is_explained() -> None:
    named = ("g", "∘", "Σg", "β", "p", "λ", "C", "C_min", "gap", "KKT", "alignment", "path-dependent view", "held-out")
    assert all(GLOSSARY[name].sentence in explained(*named) for name in named)


def test_the_weight_of_a_path_is_worked_out_with_its_own_numbers() -> None:
    run = trained().run
    path = heaviest_paths(run.solution, 1)[0]
    said = worked_g(run.spn, path, run.solution.beta)
    *_, numbers, result = said.split(" = ")
    found = 1.0
    for factor in numbers.split(" · "):
        value, raised = re.fullmatch(r"([\d.e+-]+)([⁰¹²³⁴⁵⁶⁷⁸⁹⁄]*)", factor).groups()  # type: ignore[union-attr]
        found *= float(value) ** float(Fraction(raised.translate(RAISED) or "1"))
    assert found == pytest.approx(float(result), rel=0.02) and float(result) == pytest.approx(path.g, rel=0.01)
    assert said.startswith("g = β")
    assert worked_share(path).endswith(f"= {100 * path.share:.3g} %")


def test_the_gap_is_worked_out() -> None:
    run = trained().run
    assert worked_gap(run.solution).startswith("(P − D)/P = (")
