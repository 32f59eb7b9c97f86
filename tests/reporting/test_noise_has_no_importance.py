"""Noise that is learned by heart is heavy, but matters by no number of importance: tables, sentences, pictures."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from noisy_table import MOST, SETTINGS, noisy_run

from spnmkl.export import scene
from spnmkl.inspection import heaviest_paths
from spnmkl.reporting.explain import HELD_OUT, paths_table, ranking, shares_sentence, weights_table
from spnmkl.reporting.page import html_report
from spnmkl.reporting.runs_beside import shares_beside
from spnmkl.reporting.sentences import inspection_lines, summary
from spnmkl.training.held_out import stored_shares
from spnmkl.training.train import measured_on_folds

SHARE = re.compile(r"([−-]?[\d.]+) ± ([\d.]+) %")


def shares_in(text: str) -> list[float]:
    """The shares in per cent that a text tells."""
    return [float(number.replace("−", "-")) for number, _ in SHARE.findall(text.replace("\u00a0", " "))]


def only(text: str) -> float:
    (found,) = shares_in(text)
    return found


def test_the_noise_is_heavy() -> None:
    """Else nothing here would be tested."""
    _, _, run = noisy_run()
    assert run.solution.beta["p2"] > 3 * run.solution.beta["p1"] and run.train_scores.accuracy == 1.0
    assert run.test_scores.accuracy > 0.8


@pytest.mark.parametrize("measured", ["test rows", "folds"])
def test_tables(measured: str) -> None:
    dataset, _, run = noisy_run()
    if measured == "folds":
        run = measured_on_folds(run, dataset, n_threads=1)
        assert run.held_out is not None and run.held_out.rows == "5 folds of 168 training rows"
    tables = [weights_table(run).set_index("id").loc[["p1", "p2"], HELD_OUT]]
    paths = paths_table(run)[0].set_index("kernels")[HELD_OUT]
    tables.append(paths.loc[["linear · signal", "rbf γ=2 · noise"]])
    ranks = ranking(run)
    tables.append(ranks[ranks["kind"] == "view"].set_index("id").loc[["signal", "noise"], HELD_OUT])
    tables.append(ranks[ranks["kind"] == "kernel"].set_index("id").loc[["k1", "k2"], HELD_OUT])
    assert list(ranks["id"]) == ["signal", "noise", "k1", "k2"], "what matters comes first"
    for signal, noise in tables:
        assert signal > 1 - MOST / 100 and abs(noise) < MOST / 100
    beside = shares_beside([run]).set_index("of")["Run"]
    assert only(beside["signal"]) > 100 - MOST and abs(only(beside["noise"])) < MOST


def test_sentences() -> None:
    _, _, run = noisy_run()
    assert "measured on 72 test rows" in shares_sentence(run.held_out)
    assert run.model is not None
    stored, paths = stored_shares(run.model, "model"), heaviest_paths(run.solution, 5)
    lines = [line for line in inspection_lines(run.model, paths, stored) if shares_in(line)]
    assert len(lines) == 6  # two views, two kernels, two paths
    for line in lines:
        assert (abs(only(line)) < MOST) if "noise" in line else (only(line) > 100 - MOST), line
    told = summary(run.model, paths, stored)["held_out"]
    assert abs(told["views"]["noise"]["share"]) < MOST / 100 and told["rows"] == "72 test rows"


def test_the_drawing() -> None:
    _, _, run = noisy_run()
    assert run.held_out is not None
    looks = scene(run.spn, beta=run.solution.beta, shares=run.held_out.nodes)
    for node in ("p2", "k2"):
        assert abs(only(looks.nodes[node].title)) < MOST
    assert abs(only(looks.edges["s1", "p2"].title)) < MOST
    assert looks.edges["s1", "p1"].width == pytest.approx(5.0)
    assert looks.edges["s1", "p2"].width < 1.2


class Tables(HTMLParser):
    """The cells of every row of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open = tag in ("td", "th") or (self.open and tag != "tr")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.open and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_the_report() -> None:
    dataset, prepared, run = noisy_run()
    page = html_report(run, prepared, dataset)
    assert "measured on 72 test rows" in page
    rows = [row for row in Tables(page).rows if any(map(shares_in, row))]
    assert len(rows) == 4  # two paths, two weights
    for row in rows:
        share = next(only(cell) for cell in row if shares_in(cell))
        assert (abs(share) < MOST) if any("noise" in cell for cell in row) else (share > 100 - MOST), row
    assert "of the decision" not in page, "no share of what was trained on"


def test_every_share_that_is_shown_was_held_out() -> None:
    """What is left of a share on training rows would say that noise carries most."""
    _, _, run = noisy_run()
    for table in (weights_table(run), paths_table(run)[0], ranking(run)):
        assert [name for name in table if "share" in name] == [HELD_OUT]
    assert isinstance(ranking(run), pd.DataFrame) and SETTINGS.C == run.settings.C
