"""A run as one page to send to a colleague, which opens offline and asks nothing of the internet."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any

import pandas as pd

from spnmkl import charts
from spnmkl.charts.look import AnyChart
from spnmkl.charts.results import map_note
from spnmkl.data import Dataset
from spnmkl.export import fitting, to_svg
from spnmkl.export.packages import optional
from spnmkl.importance.kept import view_of
from spnmkl.importance.words import shown_views
from spnmkl.inspection import Share, heaviest_paths
from spnmkl.measures import SCORINGS, interval_text
from spnmkl.reporting.branches import EVIDENCE_SHARE, branches_table, evidence_words, rival_sentences, sum_name
from spnmkl.reporting.doubts import doubts
from spnmkl.reporting.endings import (
    beside_compare,
    headlines,
    percent,
    pruning,
    run_ending,
    succeeded,
)
from spnmkl.reporting.explain import (
    ERROR,
    HELD_OUT,
    SPREAD,
    copies_sentence,
    overlap,
    paths_table,
    ranked_by,
    ranking,
    shares_sentence,
    weights_table,
    why_they_differ,
)
from spnmkl.reporting.glossary import GLOSSARY, worked_g, worked_share
from spnmkl.reporting.kernel_views import kernel_image, projection
from spnmkl.reporting.page_facts import certificate_facts, data_facts, preparation_facts, settings_facts
from spnmkl.reporting.reproduction import reproduction_code
from spnmkl.reporting.sentences import BY_EVIDENCE, count_text
from spnmkl.solution import Solution
from spnmkl.training.prepared import Prepared
from spnmkl.training.reliability import run_reliability
from spnmkl.training.run import Run
from spnmkl.training.scores import NOT_SCORED, measures_table
from spnmkl.training.train import with_shares
from spnmkl.wording import counted

_PICTURE = (1000.0, 700.0)  # px
_MEASURED = (HELD_OUT, ERROR, SPREAD)
MOST_WEIGHTS = 60
MOST_PATHS = 20
WIDTH = 800


@dataclass(frozen=True)
class _Table:
    """Cells as text; `numbers` says which columns are aligned to the right, `faded` which rows are grey."""

    columns: list[str]
    rows: list[list[str]]
    numbers: list[bool]
    faded: list[bool]
    note: str = ""


@dataclass(frozen=True)
class _Figure:
    url: str
    caption: str


def html_report(run: Run, prepared: Prepared, dataset: Dataset) -> str:
    """One self-contained page on a run: how it ended, what was learned, how good it is, and how to do it again.

    Parameters
    ----------
    run : Run
    prepared : Prepared
        What the run was trained on, as `prepare` computes it again.
    dataset : Dataset
        The data of the run.
    """
    jinja2 = optional("jinja2", "jinja2", "A report")
    from spnmkl import __version__

    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        (files("spnmkl.reporting") / "report.html").read_text("utf-8")
    )
    run = with_shares(run, prepared)
    solution, shares = run.solution, run.held_out.nodes if run.held_out else None
    drawn = to_svg(run.spn, beta=solution.beta, closed=fitting(run.spn, *_PICTURE), shares=shares)
    return template.render(
        run=run,
        version=__version__,
        today=date.today().isoformat(),
        certified=succeeded(run),
        verdict=_tied(" ".join(run_ending(run))),
        test=_tied(" ".join([*_standing(run), *doubts(run)])),
        measures=_measures(run),
        train=_tied(run.train_scores.sentence(run.train_kind) + "."),
        pruned=_tied(pruning(run)),
        tiles=list(_tiles(run)),
        picture=jinja2.utils.markupsafe.Markup(drawn),
        measured=run.held_out is not None and run.held_out.known,
        worth=_worth(run),
        shares=_tied(f"{why_they_differ(run, view_of(run))} {shares_sentence(run.held_out)}".strip()),
        copies=copies_sentence(run, dataset),
        branches=list(_branches(run)),
        formula=run.spn.formula(latex=False),
        weights=_weights(run),
        paths=_paths(run),
        worked=_worked(run),
        glossary={term.title: term.sentence for term in GLOSSARY.values()},
        classes=_classes(run),
        bound=_bound_note(run.solution),
        certificate=certificate_facts(run),
        settings=settings_facts(run),
        data=data_facts(run, dataset),
        preparation=preparation_facts(run, dataset),
        code=reproduction_code(run, dataset),
        **_figures(run, prepared),
    )


def _standing(run: Run) -> Iterator[str]:
    """How good it is: over folds where that is known, and on the rows of the split."""
    if run.measured is not None:
        yield f"{run.measured.sentence()}. {beside_compare(run.measured)}"
    if run.n_test:
        alone = "" if run.measured is None else "On one split: "
        yield f"{alone}{run.test_scores.sentence()}."


def _measures(run: Run) -> list[tuple[str, _Table]]:
    """Every measure, over folds and on the test rows."""
    found = []
    if run.measured is not None:
        found.append((f"Over {run.measured.how}", _table(measures_table(run.measured.measures(run.positive)))))
    if run.n_test and run.test_scores.scored:
        table = measures_table(run.test_scores.measures(run.positive, run.test_probabilities))
        found.append((f"On the {counted(run.n_test, 'test row')} of one split", _table(table)))
    return found


def _bound_note(solution: Solution) -> str:
    if math.isfinite(solution.dual_bound):
        return "The optimum lies between D and P, both recomputed from the kernels at the end, whatever the solver did."
    if solution.by_evidence:
        return "P is recomputed from the kernels. Evidence weights do not minimise it: no bound is meant for them."
    return "P is recomputed from the kernels. No bound is known: with p below 1 the problem is not convex."


def _tied(text: str) -> str:
    """A number and its sign stay on one line."""
    return text.replace(" %", "\u00a0%")


def _percent(share: float, digits: int = 1) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f}\u00a0%"


def _tiles(run: Run) -> Iterator[tuple[str, str, str]]:
    """Title, number and remark of what one wants to know first."""
    solution, scores = run.solution, run.test_scores
    low, high = scores.interval
    if run.measured is not None:
        found = run.measured.measured()
        interval = interval_text(found.interval, found.percent)
        title = f"{found.title[:1].upper()}{found.title[1:]} over folds"
        yield title, _tied(found.text), _tied(interval or "the same in all folds").replace("–", "\u2060–\u2060")
    yield (
        "Test accuracy" if run.measured is None else "Test accuracy, one split",
        _percent(scores.accuracy),
        f"95\u00a0% interval {100 * low:.0f}\u2060–\u2060{_percent(high, 0)}" if scores.scored else NOT_SCORED,
    )
    yield "Majority class", _percent(scores.majority[1]), f"right by always answering {str(scores.majority[0])[:40]!r}"
    gap = _tied(percent(solution.gap)) if solution.gap < 1 else "none"
    if solution.by_evidence:
        yield "Log evidence", headlines(run)[1].number, BY_EVIDENCE
    else:
        where = "" if run.approximated is None else " on the sample"
        yield "Relative gap", gap, ("certified optimal" if solution.status == "optimal" else "not certified") + where
    kept = sum(weight > 0 for weight in solution.beta.values())
    yield "Weights kept", f"{kept} of {len(solution.beta)}", f"{counted(len(solution.beta) - kept, 'weight')} at zero"
    rounds = counted(len(solution.history), "iteration")
    yield "Time", f"{run.seconds:.2g} s", f"{rounds} on {run.train_words}"


_FORMATS: dict[str, Callable[[Any], str]] = {
    "β": "{:.4g}".format,
    "p": "{:g}".format,
    "g": "{:.4g}".format,
    "KKT residual": "{:.1e}".format,
    "part of Σg": _percent,
    "precision": _percent,
    "recall": _percent,
    "f1": _percent,
    SPREAD: _percent,
    EVIDENCE_SHARE: _percent,
    "Δ evidence": "{:.1f}".format,
    "area under ROC": "{:.3f}".format,
}


def _table(frame: pd.DataFrame, most: int | None = None, faded: pd.Series | None = None) -> _Table:
    shown = frame if most is None else frame.head(most)
    numbers = [pd.api.types.is_numeric_dtype(dtype) for dtype in shown.dtypes]
    rows = [
        ["–" if pd.isna(value) else _FORMATS.get(column, str)(value) for column, value in zip(shown, row, strict=True)]
        for row in shown.itertuples(index=False, name=None)
    ]
    grey = [False] * len(shown) if faded is None else faded.head(len(shown)).tolist()
    note = f"The first {len(shown)} of {len(frame):,}." if len(shown) < len(frame) else ""
    return _Table([str(column) for column in shown], rows, numbers, grey, note)


def _classes(run: Run) -> _Table:
    table, auc = run.test_scores.per_class.rename_axis("class").reset_index(), run.test_scores.auc
    if isinstance(auc, Mapping):
        table.insert(4, "area under ROC", [auc[c] for c in table["class"]])
    return _table(table.astype({"class": str}))


def _weights(run: Run) -> _Table:
    table = weights_table(run)
    order = ["weight", "multiplies", "β", *_MEASURED, "p", "pruned at iteration", "KKT residual"]
    order = [column for column in order if column in table]
    return _table(_with_errors(table[order]), MOST_WEIGHTS, table["β"] <= 0)


def _with_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Each share and its error in one cell; no such column where none are known."""
    if table[HELD_OUT].isna().all():
        return table.drop(columns=list(_MEASURED))
    told = [_tied(str(Share(*numbers))) for numbers in zip(*(table[name] for name in _MEASURED), strict=True)]
    shown = table.assign(**{HELD_OUT: told}).drop(columns=[ERROR])
    return shown.drop(columns=[SPREAD]) if shown[SPREAD].isna().all() else shown


def _worth(run: Run) -> tuple[str, _Table, str] | None:
    """What each view is worth, where it was measured: the headline, the table, and what was found."""
    found = view_of(run)
    if found is None:
        return None
    return _tied(found.headline), _table(shown_views(found)), _tied(" ".join([*found.findings, *found.remarks]))


def _branches(run: Run) -> Iterator[tuple[str, _Table | None, str]]:
    """Of every sum whose branches were weighed by evidence, or at which a sum and a product compete."""
    shares = None if run.held_out is None else run.held_out.nodes
    titles = {"share of Σg": "part of Σg", "evidence share": EVIDENCE_SHARE}
    for node in (v for v in run.spn.topological_order() if run.spn.kind(v) == "sum"):
        found, table = run.branches.get(node), None
        said = rival_sentences(run, node, found)
        if found is not None:
            said = [evidence_words(found, run.solution), *said]
            shown = _with_errors(branches_table(run, node, found, shares))
            table = _table(shown.rename(columns=titles))
        if said:
            yield sum_name(run.spn, node), table, _tied(" ".join(said))


def _paths(run: Run) -> _Table:
    table, _ = paths_table(run, MOST_PATHS)
    found = _table(_with_errors(table))
    left = f"The heaviest of {count_text(run.spn.n_paths)} paths." if len(table) == MOST_PATHS else ""
    return _Table(found.columns, found.rows, found.numbers, found.faded, left)


def _worked(run: Run) -> str:
    """How the weight of the heaviest path is made, with its numbers."""
    heaviest = heaviest_paths(run.solution, 1)
    return "; ".join([worked_g(run.spn, path, run.solution.beta) + "; " + worked_share(path) for path in heaviest])


def _figures(run: Run, prepared: Prepared) -> dict[str, list[_Figure]]:
    solution, names, scores = run.solution, run.spn.names, run.test_scores
    order, image = ranking(run), kernel_image(run, prepared, run.spn.root)
    kinds = [kind for kind in ("view", "kernel") if (order["kind"] == kind).any()]
    closing = (
        "The log evidence that was reached."
        if solution.by_evidence
        else "The objective and its lower bound, and the gap between them."
    )
    training = [
        _figure(
            charts.convergence_chart(solution.history, solution.tol),
            closing,
        ),
        _figure(charts.weights_chart(solution.history, names), "The weights over the training."),
    ]
    narrow = min(WIDTH, 200 + 110 * len(solution.classes))
    answers = []
    if scores.scored:
        told = "Answers on the test rows, by true class."
        answers.append(_figure(charts.confusion_chart(scores.confusion), told, narrow))
    if len(roc := scores.roc()):
        answers.append(_figure(charts.roc_chart(roc, solution.classes), f"ROC on the test rows; {_auc(run)}.", 480))
    if reliable := run_reliability(run):
        table, rows, of = reliable
        told = f"How often what was said came true, with 95 % intervals: {rows}."
        answers.append(_figure(charts.reliability_chart(table, of), told, 480))
    if scores.scored and run.train_scores.scored:
        where = "Samples in the plane of the learned kernel's two leading components."
        places = projection(run, prepared)
        told = f"{where} {map_note(places)}".strip()
        answers.append(_figure(charts.projection_chart(places, solution.classes), told))
    aligned = f"The learned kernel over the training rows; its alignment with the labels is {image.alignment:.2f}."
    matrix = charts.heatmap_chart(image.cells, image.boundaries, image.classes)
    return {
        "carrying": [_figure(charts.ranking_chart(order, kind), _carries(order, kind)) for kind in kinds],
        "training": training,
        "answers": [*answers, _figure(matrix, aligned)],
        "choosing": list(_choosing(run, names)),
    }


def _carries(order: pd.DataFrame, kind: str) -> str:
    by = ranked_by(order)
    what = f"The held-out share of each {kind}." if by == HELD_OUT else f"The part of the path weights of each {kind}."
    return f"{what} {overlap(order.loc[order['kind'] == kind, by])}".strip()


def _auc(run: Run) -> str:
    auc = run.test_scores.auc
    return "each class against the rest" if isinstance(auc, Mapping) else f"area under the curve {auc:.3f}"


def _choosing(run: Run, names: Mapping[str, str]) -> Iterator[_Figure]:
    if run.cross_validation is not None:
        result = run.cross_validation
        title = SCORINGS[result.scoring].title
        said = f"{title[:1].upper()}{title[1:]} on held-out folds of the training rows, ± one standard error."
        yield _figure(charts.cv_chart(result), said)
        yield _figure(charts.stability_chart(result, names), "How stable the weights are over the folds.")
    if run.path is not None:
        yield _figure(charts.path_chart(run.path, names, run.settings.C), "The weights against C.")


def _figure(chart: AnyChart, caption: str, width: int = WIDTH) -> _Figure:
    # As an image, a picture can neither run a script nor share the names of its parts with another.
    data = base64.b64encode(charts.to_svg(chart, width).encode()).decode()
    return _Figure(f"data:image/svg+xml;base64,{data}", caption)
