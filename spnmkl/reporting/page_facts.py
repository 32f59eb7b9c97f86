"""The plain facts of a run for its report: certificate, settings, data and what was done to them, as name and value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from spnmkl.data import Dataset, problems
from spnmkl.errors import SPNMKLError
from spnmkl.measures import SCORINGS
from spnmkl.reporting.endings import SOLVER_NAMES, methods
from spnmkl.reporting.sentences import BY_EVIDENCE
from spnmkl.training.prepared import id_column, labelled_parts
from spnmkl.training.run import Run
from spnmkl.wording import counted, listed


def certificate_facts(run: Run) -> dict[str, str]:
    solution = run.solution
    residual = max(solution.kkt_residual.values(), default=0.0)
    proof = {
        "Objective P, an upper bound on the optimum": f"{solution.objective:.8g}",
        "Lower bound D": f"{solution.dual_bound:.8g}" if solution.dual_bound > -float("inf") else "not known",
        "Relative gap (P − D)/P": f"{solution.gap:.3e}" if solution.gap < float("inf") else "not known",
        "Tolerance": f"{solution.tol:g}",
        "Largest KKT residual": f"{residual:.1e}" if math.isfinite(residual) else "not known",
    }
    return {
        **({"Objective P of the SVM at these weights": f"{solution.objective:.8g}"} if solution.by_evidence else proof),
        "Status": BY_EVIDENCE if solution.status == "evidence" else solution.status.replace("_", " "),
        **({"Method": methods(solution)} if solution.history else {}),
        "Support vectors": f"{len(solution.support):,} of {run.n_train:,}",
    }


def settings_facts(run: Run) -> dict[str, str]:
    s = run.settings
    of_weights = {"λ": f"{s.lam:g}", "p": "as drawn" if s.p is None else _mapping(s.p)}
    return {
        "C": f"{s.C:g}",
        **({} if run.solution.by_evidence else of_weights),
        "Weights": s.weights,
        "Rows": s.way,
        **({} if run.solution.by_evidence else {"Solver": SOLVER_NAMES.get(s.solver, s.solver)}),
        "Tolerance": f"{s.tol:g}",
        "Most iterations": "the solver's own limit" if s.max_iter is None else f"{s.max_iter:,}",
        "Most time": "no limit" if s.max_time is None else f"{s.max_time:g} s",
        "Class weights": "none" if s.class_weight is None else _mapping(s.class_weight),
        "Score that counts": SCORINGS[s.scoring].title,
    }


def _mapping(value: Mapping[Any, float] | str | float) -> str:
    return listed([f"{k}: {v:g}" for k, v in value.items()], 20) if isinstance(value, Mapping) else str(value)


def data_facts(run: Run, dataset: Dataset) -> dict[str, str]:
    scores = run.train_scores, run.test_scores
    counts = {c: [int((part.y == c).sum()) for part in scores] for c in run.solution.classes}
    dataset_id = id_column(dataset)
    views = [f"{view} ({counted(len(columns), 'column')})" for view, columns in dataset.feature_views.items()]
    facts = {
        "Data": run.dataset_name,
        "Label": run.label,
        "Rows": f"{run.rows_text} to train on, {run.n_test:,} to test",
        "Split": f"a share of {run.split.test_share:g} for the test, seed {run.split.seed}",
        "Classes (training + test rows)": listed([f"{c} ({a:,} + {b:,})" for c, (a, b) in counts.items()], 20),
        "Columns used": f"{len(run.used.names):,}",
        "Views": listed(views, 12),
        "Kept together": "" if dataset.group is None else f"rows of one {dataset.group}",
        "Adjusted for": listed([c.words for c in run.preparation.adjustment.covariates], 12),
        "Tells rows apart, is no feature": dataset_id or "",
        "Left out": listed([name for name in dataset.ignored if name != dataset_id], 12),
        "Kernel matrices": listed(list(dataset.matrices), 12),
    }
    return {key: value for key, value in facts.items() if value}


def preparation_facts(run: Run, dataset: Dataset) -> list[str]:
    if not run.preparation.columns:
        return ["All kernels are given matrices, taken as they are."]
    try:
        return problems(dataset, run.choices, labelled_parts(dataset, run.split)[0].train)
    except SPNMKLError:
        return []
