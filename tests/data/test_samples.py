"""The samples: found, described, usable with every template, and true to their cards."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spnmkl
from spnmkl import installation
from spnmkl.data import SAMPLES, Choices, Preparation, load_sample, split_rows, summarize
from spnmkl.errors import DataError, SPNMKLError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import heaviest_paths
from spnmkl.kernels import validate_kernels
from spnmkl.structure import SPN
from spnmkl.structure.templates import TEMPLATES

FOLDER = Path(spnmkl.__file__).parents[1] / "sample_data"

# Rows, features, classes, views, what it has besides.
CONTENTS = {
    "breast_cancer": (569, 30, 2, ["mean", "error", "worst"], {}),
    "wine": (178, 13, 3, ["chemistry", "phenols", "colour"], {}),
    "digits": (500, 64, 10, ["top left", "top right", "bottom left", "bottom right"], {}),
    "omics": (120, 130, 3, ["mrna", "mirna", "protein"], {"ignored": ("sample",)}),
    "clinic": (228, 10, 2, ["person", "body", "blood", "care"], {"group": "patient"}),
    "known": (400, 8, 2, ["left", "right"], {}),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_sample_holds(name: str) -> None:
    rows, features, classes, views, more = CONTENTS[name]
    dataset = load_sample(name)
    assert (len(dataset.frame), len(dataset.features), len(dataset.classes)) == (rows, features, classes)
    assert list(dataset.feature_views) == views
    assert sum(map(len, dataset.feature_views.values())) == features
    assert {key: getattr(dataset, key) for key in more} == more
    assert len(summarize(dataset)) == dataset.frame.shape[1]


@pytest.mark.parametrize("name", SAMPLES)
def test_cards_have_the_title(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {SAMPLES[name].title}\n\n")
    assert 100 < len(SAMPLES[name].card) < 1000 and not SAMPLES[name].card.startswith("#")


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_suits_every_sample(name: str, template: str) -> None:
    dataset = load_sample(name)
    spn = dataset.template(template)
    spn.check()
    assert not validate_kernels(spn, dataset.features)
    assert len(spn.nodes) <= 200
    frame = dataset.frame[list(dataset.features)]
    for categorical in ("codes", "one-hot"):
        preparation = Preparation.fit(frame, Choices(missing="mean", categorical=categorical))  # type: ignore[arg-type]
        preparation.check_structure(spn)
        assert not validate_kernels(preparation.mapped(spn), preparation.outputs)


def test_files_are_what_the_script_makes() -> None:
    script = runpy.run_path(str(FOLDER / "make.py"))
    for name in ("known", "omics", "clinic"):
        stored = pd.read_csv(FOLDER / f"{name}.csv")
        made = script[name]().reset_index(drop=True)
        stored, made = (table.fillna(np.nan) for table in (stored, made))  # None and nan are the same gap
        pd.testing.assert_frame_equal(stored, made, check_dtype=False, check_index_type=False)
    assert SPN.from_json((FOLDER / "known.json").read_text()) == script["true_structure"]()
    assert all(path.stat().st_size < 2**20 for path in FOLDER.iterdir() if path.is_file())


def prepared(name: str) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    dataset = load_sample(name)
    split = split_rows(dataset)
    frame = dataset.frame[list(dataset.features)]
    X = Preparation.fit(frame, Choices(missing="mean"), split.train).transform(frame)
    return X.iloc[split.train], dataset.y[split.train], X.iloc[split.test], dataset.y[split.test]


def test_the_known_structure_is_recovered() -> None:
    X, y, X_test, y_test = prepared("known")
    truth = SAMPLES["known"].truth
    assert truth is not None
    true_columns = {feature for leaf in truth.kernels for feature in truth.spec(leaf).features or ()}
    spn = load_sample("known").template("product_of_sums")
    for p, factor in ((None, 1.3), ("sparse", 8)):
        model = SPNMKLClassifier(spn, C=10.0, p=p).fit(X, y)
        weights = {spn.label(v): weight for v, weight in model.beta_.items() if spn.label(v) in X.columns}
        true = [weight for name, weight in weights.items() if name in true_columns]
        others = [weight for name, weight in weights.items() if name not in true_columns]
        assert len(true) == len(others) == 4
        assert min(true) > factor * max(others)
    heaviest = heaviest_paths(model.solution_, 4)
    assert {spn.spec(leaf).features[0] for path in heaviest for leaf in path.leaves} == true_columns  # type: ignore[index]
    added = SPNMKLClassifier(load_sample("known").template("grouped"), C=10.0).fit(X, y)
    assert model.score(X_test, y_test) > 0.85 > added.score(X_test, y_test)
    assert SPNMKLClassifier(truth, C=10.0).fit(X, y).score(X_test, y_test) > 0.9


def test_omics_needs_mrna_and_mirna_together() -> None:
    X, y, X_test, y_test = prepared("omics")
    dataset = load_sample("omics")
    pairs = SPNMKLClassifier(dataset.template("pairwise_products"), C=3.0).fit(X, y)
    assert pairs.beta_["p1"] > 0.8 * sum(pairs.beta_.values())
    flat = SPNMKLClassifier(dataset.template("flat"), C=3.0).fit(X, y)
    assert pairs.score(X_test, y_test) > flat.score(X_test, y_test) + 0.1


def test_an_unknown_sample() -> None:
    with pytest.raises(DataError) as refused:
        load_sample("iris")
    assert str(refused.value) == f"There is no sample 'iris'; choose one of {', '.join(SAMPLES)}."


def test_files_are_found_in_the_installed_package_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "spnmkl"
    (package / "_app" / "sample_data").mkdir(parents=True)
    monkeypatch.setattr(installation, "_PACKAGE", package)
    with pytest.raises(SPNMKLError) as refused:
        SAMPLES["known"].make()
    assert str(refused.value) == "sample_data/known.csv is missing from this installation; install spnmkl again."
    (package / "_app" / "sample_data" / "known.md").write_text("# T\n\nfound\n")
    assert SAMPLES["known"].card == "found"
