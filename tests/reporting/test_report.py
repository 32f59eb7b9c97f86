"""The report of a run: complete, offline, escaped, and its code trains the run again."""

import base64
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from small_runs import small_dataset, small_structure, trained, without_scores
from tolerances import ROUNDING

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.importance import view_importance
from spnmkl.importance.kept import with_views
from spnmkl.inspection import Share
from spnmkl.reporting.doubts import doubts
from spnmkl.reporting.explain import why_they_differ
from spnmkl.reporting.page import html_report
from spnmkl.reporting.reproduction import reproduction_code
from spnmkl.training.choose import choose_C, trace_C
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

HOSTILE = "</pre><script>alert('1')</script>\"&{{ 7*7 }}"


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def images(self) -> list[str]:
        """The SVG of every figure."""
        urls = [attributes["src"] or "" for tag, attributes in self.tags if tag == "img"]
        return [base64.b64decode(url.removeprefix("data:image/svg+xml;base64,")).decode() for url in urls]


def report(classes: int = 2, **changes: Any) -> Page:
    found = trained(classes)
    return Page(html_report(replace(found.run, **changes), found.prepared, found.dataset))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_report_says_what_came_out(classes: int) -> None:
    page, run = report(classes, name="Run 7"), trained(classes).run
    solution, words = run.solution, " ".join(page_text(classes).split())
    assert "Run 7" in page.text
    assert "Certified optimal to" in words
    assert "second order" in words and "automatic" in words and "no limit" in words
    assert f"{100 * run.test_scores.accuracy:.1f} % of {run.n_test} test rows right" in words
    for number in (f"{solution.objective:.8g}", f"{solution.dual_bound:.8g}", f"{solution.gap:.3e}"):
        assert number in words
    assert all(f"{weight:.4g}" in words for weight in solution.beta.values())
    assert f"{run.n_train} to train on, {run.n_test} to test" in words
    assert "as drawn" in words
    assert len(page.images) == 8


@cache
def page_text(classes: int) -> str:
    return report(classes).text.replace("\u00a0", " ")


def test_the_picture_shows_the_weights() -> None:
    page, run = report(), trained().run
    assert ("svg", "Sum-product network") in {(tag, attributes.get("aria-label")) for tag, attributes in page.tags}
    assert all(f"{weight:.3g}" in page.text for weight in run.solution.beta.values())


def test_a_report_needs_no_internet_and_runs_nothing() -> None:
    page = report()
    for tag, attributes in page.tags:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base", "form", "a"}
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            assert (attributes.get(name) or "data:").startswith("data:")
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for svg in page.images:
        root = ET.fromstring(svg)
        links = [value for tag in root.iter() for key, value in tag.attrib.items() if key.endswith("href")]
        assert all(link.startswith("data:image/png;base64,") for link in links)


def hostile() -> tuple[Run, Prepared, Dataset]:
    """Everything a person may name is markup."""
    small = small_dataset()
    columns = {name: f"{HOSTILE} {name}" for name in small.frame.columns}
    frame = small.frame.rename(columns=columns).replace({columns["class"]: {"dull": HOSTILE}})
    views = {f"{HOSTILE} {view}": tuple(columns[c] for c in names) for view, names in small.views.items()}
    dataset = Dataset(HOSTILE, frame, columns["class"], views=views)
    leaves = [Kernel("rbf", features=list(names), label=view) for view, names in dataset.views.items()]
    prepared = prepare(
        SPN(Sum(*(Product(leaf, label=f"{HOSTILE} {k}") for k, leaf in enumerate(leaves)))),
        dataset,
        Choices(),
        SplitSettings(),
    )
    return replace(train(prepared, Settings(C=2.0)), name=HOSTILE), prepared, dataset


def test_names_are_text() -> None:
    run, prepared, dataset = hostile()
    page, usual = Page(html_report(run, prepared, dataset)), report()
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in usual.tags}
    assert page.text.count(HOSTILE) > 10
    assert "{{ 7*7 }}" in page.text
    for svg in page.images:
        assert not [tag for tag in ET.fromstring(svg).iter() if tag.tag.endswith("script")]


def test_choosing_C_is_reported_where_it_was_done() -> None:
    found = trained()
    assert "Choosing C" not in report().text
    validation = choose_C(found.prepared, Settings(), folds=2, C=[0.5, 5.0])
    path = trace_C(found.prepared, Settings(), C=[0.5, 5.0])
    page = report(cross_validation=validation, path=path)
    assert "Choosing C" in page.text
    assert len(page.images) == 11


def test_a_run_that_is_not_certified_says_so() -> None:
    found = trained()
    stopped = train(found.prepared, Settings(C=3.0, tol=1e-6), lambda record: record.iteration < 2)
    text = Page(html_report(stopped, found.prepared, found.dataset)).text
    assert "Stopped after 2 iterations" in text
    assert "not certified" in text
    assert "Certified optimal" not in text


def test_a_run_that_learned_nothing_is_reported() -> None:
    found = trained()
    nothing = train(found.prepared, Settings(C=1e-6))
    assert not any(nothing.solution.beta.values())
    text = Page(html_report(nothing, found.prepared, found.dataset)).text
    assert "No path is left" in text


def case(name: str) -> tuple[SPN, Dataset, Choices, SplitSettings, Settings]:
    """Data as they come: rows without a label, text, gaps, groups, labels that look like numbers, given matrices."""
    split = SplitSettings(test_share=0.3, seed=3)
    if name == "small":
        settings = Settings(C=2.0, p={"joint": 1.5}, class_weight={"bright": 2.0, "dull": 1.0}, tol=1e-4)
        return small_structure(), small_dataset(), Choices(numeric="as is"), split, settings
    if name == "matrices":
        small = small_dataset()
        X = small.frame[["colour_0", "shape_0"]].to_numpy()
        dataset = replace(small, matrices={"given 'one'": X @ X.T, "two": np.exp(-np.abs(X[:, :1] - X[:, 0]))})
        leaves = [Kernel("precomputed", label=label) for label in dataset.matrices]
        return SPN(Sum(*map(Product, leaves), Product(Kernel("rbf")))), dataset, Choices(), split, Settings()
    dataset = load_sample(name)
    if name == "digits":
        dataset = replace(dataset, frame=dataset.frame.head(200))
    choices = Choices(missing="median", categorical="one-hot")
    return (
        SPN(Sum(Product(Kernel("rbf", gamma="median")), Product(Kernel("linear")))),
        dataset,
        choices,
        split,
        Settings(),
    )


@pytest.mark.parametrize("name", ["small", "matrices", "clinic", "digits"])
def test_the_code_trains_the_run_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spn, dataset, choices, split, settings = case(name)
    run = train(prepare(spn, dataset, choices, split), settings)
    dataset.frame.to_csv(tmp_path / "data.csv", index=False)
    np.savez(tmp_path / "kernels.npz", **dict(dataset.matrices))
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(compile(reproduction_code(run, dataset), "reproduced", "exec"), found)
    again = found["run"]
    assert again.solution.beta == pytest.approx(run.solution.beta, rel=1e-6, abs=ROUNDING)
    assert again.test_scores.accuracy == run.test_scores.accuracy
    assert np.array_equal(again.test, run.test)
    assert run.test_scores.sentence() in capsys.readouterr().out


def test_the_code_of_hostile_names_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, prepared, dataset = hostile()
    dataset.frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    page = Page(html_report(run, prepared, dataset))
    code = page.text[page.text.rindex("from spnmkl import") :]  # as one would copy it
    found: dict[str, Any] = {}
    exec(compile(code, "reproduced", "exec"), found)
    assert found["run"].solution.beta == pytest.approx(run.solution.beta, rel=1e-6)


def test_text_that_looks_like_numbers_is_kept_as_text() -> None:
    frame = pd.DataFrame({"code": ["01", "02", "01", "02"], "word": ["a", "b", "c", "d"], "y": ["1", "2", "1", "2"]})
    dataset = Dataset("codes", frame, "y")
    assert "text_columns=['code', 'y']" in reproduction_code(trained().run, dataset)


def test_a_report_says_what_the_proof_does_not_tell() -> None:
    found = trained()
    scores = found.run.test_scores
    always = replace(found.run, test_scores=replace(scores, decision=np.ones_like(scores.decision)))
    page = Page(html_report(always, found.prepared, found.dataset)).text.replace("\u00a0", " ")
    assert "than guessing: always answering" in page
    assert f"Columns used{len(found.run.used.names)}" in page


@pytest.mark.parametrize("classes", [2, 3])
def test_a_report_of_a_run_that_was_not_scored_says_so(classes: int) -> None:
    found = trained(classes)
    page = Page(html_report(without_scores(found.run), found.prepared, found.dataset))
    words = " ".join(page.text.split())
    assert f"{found.run.n_test} test rows not scored: stopped." in words and "nan" not in words
    assert len(page.images) < len(report(classes).images)


def test_a_report_speaks_of_nothing_that_can_be_pressed() -> None:
    found = trained()
    scores = found.run.test_scores
    worst = replace(found.run, test_scores=replace(scores, decision=-scores.decision))
    chosen = choose_C(found.prepared, found.run.settings, C=[0.1, 1.0])
    at_best = replace(worst, cross_validation=chosen, settings=replace(worst.settings, C=chosen.best_C))
    for run in (found.run, worst, at_best, replace(worst, cross_validation=chosen, settings=Settings(C=77.0))):
        words = re.findall(r"[a-z]+", Page(html_report(run, found.prepared, found.dataset)).text.lower())
        assert not {"button", "buttons", "click", "press", "tab", "canvas"} & set(words)


def test_advice_on_C_is_never_circular() -> None:
    found = trained()
    scores = found.run.test_scores
    worst = replace(found.run, test_scores=replace(scores, decision=-scores.decision))
    chosen = choose_C(found.prepared, found.run.settings, C=[0.1, 1.0])
    at_best = replace(worst, cross_validation=chosen, settings=replace(worst.settings, C=chosen.best_C))
    elsewhere = replace(at_best, settings=replace(at_best.settings, C=77.0))
    advice = {run: " ".join(doubts(run)) for run in (worst, at_best, elsewhere)}
    assert "it was not chosen by cross-validation" in advice[worst]
    assert "chosen by cross-validation already" in advice[at_best] and "smaller C" not in advice[at_best]
    assert f"C = {chosen.best_C:.3g} better than this 77." in advice[elsewhere]


def test_columns_are_listed_once() -> None:
    """However many kernels look at them; the code below still trains the run again."""
    rng = np.random.default_rng(0)
    names = [f"gene_number_{k:03d}" for k in range(60)]
    frame = pd.DataFrame(rng.normal(size=(40, 60)), columns=names).assign(y=["u", "v"] * 20)
    dataset = Dataset("genes", frame, "y", views={"genes": tuple(names)})
    kernels = [Kernel("rbf", gamma="median", features=names), Kernel("linear", features=names)]
    spn = SPN(Sum(*map(Product, kernels), Product(*(kernel.on(names) for kernel in kernels))))
    prepared = prepare(spn, dataset, Choices(), SplitSettings())
    page = Page(html_report(train(prepared, Settings()), prepared, dataset)).text
    assert {page.count(name) for name in names[20:]} == {1}
    assert all(page.count(name) <= 3 for name in names)


def test_what_views_are_worth_comes_first_under_what_matters_where_it_was_measured() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    drawing = Sum(Product(Kernel("rbf", features=[0])), Product(Kernel("rbf", features=[1])))
    worth = view_importance(
        SPN(drawing), X, np.sign(X[:, 0]), views={"first": [0], "<second>": [1]}, C=1.0, cv=3, n_threads=1
    )
    run = trained().run
    text = report(importance=with_views(run, worth).importance).text.replace("\u00a0", " ")
    section = text[text.index("What matters") : text.index("Heaviest paths")]
    assert section.index(worth.headline) < section.index("without it") < section.index("<second>")
    assert all(said in section for said in worth.findings)
    assert why_they_differ(run, worth) in section and "C = 1" in why_they_differ(run, worth)
    assert run.held_out is not None
    off = {"first": Share(0.2, 0.01), "<second>": Share(worth.table["share"][1], 0.01)}
    apart = why_they_differ(replace(run, held_out=replace(run.held_out, views=off)), worth)
    assert "Of first the share on the folds and the one below differ" in apart
    assert why_they_differ(run, None) == why_they_differ(replace(run, held_out=None), worth) == ""
    assert "What each view is worth" not in report().text
