"""Branches beside each other: what the table and the sentences say, against the library."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN, Kernel, Product, Sum, fit_evidence
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.inspection import Share
from spnmkl.project.project_file import load_project, save_project
from spnmkl.reporting.branches import CANNOT_TELL, branches_table, evidence_words, rival_sentences, rivals
from spnmkl.reporting.page import html_report
from spnmkl.training.branches import BranchEvidence, branch_evidence
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train


def column(name: str) -> Kernel:
    return Kernel("rbf", gamma=0.5, features=[name])


def drawing() -> SPN:
    return SPN(
        Sum(
            Product(Sum(Product(column("a")), Product(column("b"))), id="p1", label="added"),
            Product(column("a"), column("b"), id="p2", label="multiplied"),
            Product(column("c"), id="p3", label="noise"),
            id="root",
        )
    )


@cache
def data() -> Dataset:
    """Labels of a sum of functions of two columns, beside a column of noise."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, size=(160, 3)), columns=list("abc"))
    score = np.sin(2 * frame["a"]) + np.cos(2 * frame["b"])
    frame["y"] = np.where(score > score.median(), "yes", "no")
    return Dataset("sum", frame, "y")


@cache
def trained(weights: str = "certified") -> tuple[Prepared, Run]:
    prepared = prepare(drawing(), data(), Choices(), SplitSettings())
    return prepared, train(prepared, Settings(weights=weights, C=10.0))


@cache
def found() -> BranchEvidence:
    prepared, run = trained()
    said = branch_evidence(prepared, run.solution, "root")
    assert said is not None
    return said


def test_numbers_are_those_of_fit_evidence() -> None:
    prepared, _ = trained()
    expected = fit_evidence(prepared.mapped, prepared.source, prepared.y_train)
    said = found()
    assert said.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)
    assert (said.rows, said.of_rows) == (len(prepared.y_train),) * 2
    for v in ("p1", "p2", "p3"):
        assert said.shares[v] == pytest.approx(expected.shares[v], abs=1e-6)
        assert said.deltas[v] == pytest.approx(expected.delta(v), abs=1e-3)


def test_the_table_has_a_row_for_every_branch_and_says_what_is_not_known() -> None:
    _, run = trained()
    bare = branches_table(run, "root")
    assert set(bare["branch"]) == {"added", "multiplied", "noise"}
    assert bare["Δ evidence"].isna().all() and bare["held-out share"].isna().all()
    assert bare["share of Σg"].sum() == pytest.approx(1)
    whole = branches_table(run, "root", found(), {"p1": Share(0.25, 0.1), "p3": Share(-0.1, 0.1)}).set_index("branch")
    assert whole.loc["added", "held-out share"] == 0.25 and math.isnan(whole.loc["multiplied", "held-out share"])
    assert whole.loc["noise", "Δ evidence"] == found().deltas["p3"]


def test_a_sum_and_a_product_over_the_same_columns_are_rivals_and_nothing_else_is() -> None:
    assert rivals(drawing(), "root") == [("p1", "p2")]
    apart = SPN(Sum(Product(column("a")), Product(column("b"), column("c"))))
    assert rivals(apart, apart.root) == []
    whole = SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear"), Kernel("rbf", gamma=2.0))))
    assert len(rivals(whole, whole.root)) == 1


def test_the_sentence_says_what_weights_cannot_tell_and_what_evidence_says() -> None:
    _, run = trained()
    cannot, before = rival_sentences(run, "root")
    assert cannot == CANNOT_TELL
    assert before == "Two branches have kernels of the same columns: added adds them up, multiplied multiplies them."
    _, after = rival_sentences(run, "root", found())
    assert "need added, and not the product" in after and "120 training rows" in after
    _, by_evidence = trained("evidence")
    (own,) = rival_sentences(by_evidence, "root", found())
    assert "need added" in own


def test_few_pairs_are_told_and_the_others_counted() -> None:
    _, run = trained()
    many = SPN(Sum(*(Product(column("a"), label=f"s{k}") for k in range(5)), Product(column("a"), column("b"))))
    said = rival_sentences(replace(run, spn=many), many.root)
    assert len(said) == 5 and "s0 uses one of them alone, " in said[1]
    assert said[-1] == "And 2 more pairs of such branches."


@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ((9.0, 8.0), "need both"),
        ((0.2, 8.0), "need the product, multiplied, and not added"),
        ((0.3, 0.2), "do not need added, nor multiplied, if only that one is removed"),
        ((3.0, 0.2), "leaves it open"),
    ],
)
def test_every_verdict(deltas: tuple[float, float], said: str) -> None:
    _, run = trained()
    of = BranchEvidence(
        run.solution, "root", -10.0, 50, 90, {"p1": 0.5, "p2": 0.5, "p3": 0.0},
        dict(zip(("p1", "p2"), deltas, strict=True)),
    )  # fmt: skip
    assert said in rival_sentences(run, "root", of)[1]
    words = evidence_words(of, run.solution)
    assert "a sample of 90" in words and "Stopped before" in words and "not certified" in words


def test_it_is_kept_with_the_run_in_its_project_and_its_report() -> None:
    prepared, run = trained()
    kept = run.with_branches(found())
    assert trained("evidence")[1].with_branches(found()).branches == {}, "another training"
    (back,) = load_project(save_project(kept.spn, data(), kept.choices, kept.split, kept.settings, [kept])).runs
    assert back.branches["root"].to_dict() == found().to_dict() and back.branches["root"].solution is back.solution
    page = html_report(kept, prepared, data())
    assert (
        "Branches of root, the root" in page and f"{found().deltas['p1']:.1f}" in page and "need added, and not" in page
    )
    bare = html_report(run, prepared, data())
    assert CANNOT_TELL in bare and "Δ evidence</th>" not in bare
    stored = found().to_dict()
    for wrong in ({"shares": {"p1": 1.0}}, {"deltas": {"k9": 1.0}}, {"rows": 0}, {"log_evidence": math.inf}):
        with pytest.raises(ValueError, match="evidence"):
            BranchEvidence.from_dict(stored | wrong, run.solution, "root")
    with pytest.raises(ValueError, match="evidence"):
        BranchEvidence.from_dict(stored, run.solution, "p1")


def test_stopped_it_keeps_what_it_has() -> None:
    prepared, run = trained()
    assert branch_evidence(prepared, run.solution, "root", stop=lambda: True) is None
    seen: list[str] = []
    part = branch_evidence(
        prepared, run.solution, "root", seen.append, stop=lambda: bool(seen) and seen[-1] == "without noise"
    )
    assert part is not None and set(part.deltas) == {"p1", "p2"}
    assert any("log evidence" in words for words in seen)
