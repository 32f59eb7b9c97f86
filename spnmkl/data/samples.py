"""Data sets to start with: generated ones in ``sample_data/``, and some that scikit-learn brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from spnmkl.data.dataset import Dataset
from spnmkl.data.reading import read_file
from spnmkl.errors import DataError
from spnmkl.installation import installed
from spnmkl.structure import SPN
from spnmkl.wording import quoted

_DIGITS = 500


@dataclass(frozen=True)
class Sample:
    """A data set to start with; `truth` is the structure that its labels come from, where that is known."""

    name: str
    title: str
    make: Callable[[], Dataset]
    known: bool = False

    @property
    def card(self) -> str:
        """What the data are, in markdown, without the title."""
        return _file(f"{self.name}.md").read_text(encoding="utf-8").partition("\n")[2].strip()

    @property
    def drawing(self) -> SPN | None:
        """A structure to try on it, where one tells something."""
        return SPN.from_json(_file(f"{self.name}_drawing.json").read_bytes()) if self.known else None

    @property
    def truth(self) -> SPN | None:
        return SPN.from_json(_file(f"{self.name}.json").read_bytes()) if self.known else None


def load_sample(name: str) -> Dataset:
    """The sample of that name; see `SAMPLES`."""
    if name not in SAMPLES:
        raise DataError(f"There is no sample {quoted(name)}; choose one of {', '.join(SAMPLES)}.")
    return SAMPLES[name].make()


def _file(name: str) -> Path:
    return installed(f"sample_data/{name}")


def _breast_cancer() -> Dataset:
    data = load_breast_cancer(as_frame=True)
    frame = data.data.assign(diagnosis=data.target_names[data.target])
    views = {
        "mean": tuple(name for name in data.data if name.startswith("mean ")),
        "error": tuple(name for name in data.data if name.endswith(" error")),
        "worst": tuple(name for name in data.data if name.startswith("worst ")),
    }
    return Dataset("breast_cancer", frame, "diagnosis", views=views)


def _wine() -> Dataset:
    data = load_wine(as_frame=True)
    frame = data.data.rename(columns={"od280/od315_of_diluted_wines": "od280"})
    views = {
        "chemistry": ("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "proline"),
        "phenols": ("total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"),
        "colour": ("color_intensity", "hue", "od280"),
    }
    return Dataset("wine", frame.assign(cultivar=_words("cultivar", data.target)), "cultivar", views=views)


def _digits() -> Dataset:
    data = load_digits()
    names = [[f"r{row}c{column}" for column in range(8)] for row in range(8)]
    frame = pd.DataFrame(data.data[:_DIGITS], columns=[name for row in names for name in row])
    grid = np.array(names)
    halves = {"top": slice(4), "bottom": slice(4, 8)}, {"left": slice(4), "right": slice(4, 8)}
    views = {
        f"{v} {h}": tuple(grid[rows, cols].ravel().tolist())
        for v, rows in halves[0].items()
        for h, cols in halves[1].items()
    }
    return Dataset("digits", frame.assign(digit=_words("", data.target[:_DIGITS])), "digit", views=views)


def _words(stem: str, codes: np.ndarray) -> list[str]:
    return [f"{stem} {code}".strip() for code in codes]


def _table(name: str) -> Dataset:
    """A generated table, whose columns are named so that everything about it can be guessed."""
    file = _file(f"{name}.csv")
    return Dataset.guess(name, read_file(file.name, file.read_bytes()).frame)


SAMPLES: Mapping[str, Sample] = {
    sample.name: sample
    for sample in (
        Sample("breast_cancer", "Breast cancer: two classes, three views", _breast_cancer),
        Sample("wine", "Wine: three classes", _wine),
        Sample("digits", "Digits: ten classes, four quarters of an image", _digits),
        Sample("omics", "Tumour subtypes: three kinds of measurement", lambda: _table("omics")),
        Sample("clinic", "Clinic visits: text, gaps and patients", lambda: _table("clinic")),
        Sample("known", "Known structure: labels drawn from an SPN", lambda: _table("known"), known=True),
    )
}
