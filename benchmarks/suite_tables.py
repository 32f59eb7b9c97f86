"""The tables of the suite: real ones, synthetic discrete ones, and which are kept out of tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from experiment_data import all_sets, from_file
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

Floats = NDArray[np.float64]
Columns = list[int]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MOST_ROWS, MOST_COLUMNS, MOST_LEVELS = 1000, 64, 20

IN_SCIKIT_LEARN = ("iris", "breast_cancer", "wine", "digits", "digits:even")
IN_FOLDER = (
    *("german", "glass", "heart", "ionosphere", "liver", "pima", "sonar", "vehicle", "wpbc"),
    *("mfeat", "tcga_brca"),
)


@dataclass(frozen=True)
class Table:
    """Standardised numbers and labels.

    `columns` are the columns as a user counts them: a one-hot block is one. `categorical` are those that hold few
    distinct values. `views`, where the table has them, are its groups of columns.
    """

    X: Floats
    y: NDArray
    columns: list[Columns]
    categorical: list[Columns]
    views: Mapping[str, Columns] | None = None


def table_of(X: Floats, y: NDArray, columns: list[Columns] | None = None, views: Mapping | None = None) -> Table:
    columns = [[j] for j in range(X.shape[1])] if columns is None else columns
    categorical = [c for c in columns if 2 <= len(np.unique(X[:, c], axis=0)) <= MOST_LEVELS]
    return Table(StandardScaler().fit_transform(X), y, columns, categorical, views)


def spread(items: list[Columns], most: int = MOST_COLUMNS) -> list[Columns]:
    """At most so many of them, evenly."""
    return items if len(items) <= most else [items[k] for k in np.linspace(0, len(items) - 1, most).astype(int)]


def of_names(name: str) -> Table | None:
    """A table of scikit-learn or of the folder; None where there is no such file."""
    source = source_of(name)
    if source == "digits":
        X, y = load_digits(return_X_y=True)
        return table_of(X, y % 2 if name == "digits:even" else y)
    if source in IN_SCIKIT_LEARN:
        data = all_sets(None)[source]()
    else:
        path = next(iter(DATA.glob(f"{source}.csv*")), None)
        if path is None:
            return None
        data = from_file(path)
    viewed = source in ("mfeat", "tcga_brca")
    views = {v: list(group[0].spec.features) for v, group in data.groups.items()} if viewed else None
    return table_of(data.X, data.y, views=views)


def one_hot(codes: NDArray) -> tuple[Floats, list[Columns]]:
    """Indicator columns of every column of codes, and which belong to which."""
    parts = [np.eye(c.max() + 1)[c] for c in codes.T]
    ends = np.cumsum([part.shape[1] for part in parts])
    return np.hstack(parts), [list(range(e - p.shape[1], e)) for e, p in zip(ends, parts, strict=True)]


def categories(rng: np.random.Generator, n: int, levels: NDArray, skew: float = 1.0) -> NDArray:
    """(n, len(levels)) codes; the levels of a column are not equally frequent."""
    return np.column_stack([rng.choice(k, n, p=rng.dirichlet(np.full(k, skew) + 0.2)) for k in levels])


def scored(rng: np.random.Generator, codes: NDArray, classes: int = 2, noise: float = 0.7) -> NDArray:
    """Labels by which of `classes` additive functions of the codes is largest: every level has its own effect."""
    score = noise * rng.gumbel(size=(len(codes), classes)) * np.sqrt(codes.shape[1])
    for column in codes.T:
        score += rng.normal(size=(column.max() + 1, classes))[column]
    return at_least_ten((score - np.median(score, axis=0)).argmax(axis=1), classes)


def at_least_ten(y: NDArray, classes: int) -> NDArray:
    """The first rows change their label where a class would have fewer than ten, which folds could not share."""
    y = y.copy()
    for label in range(classes):
        missing = 10 - (y == label).sum()
        if missing > 0:
            common = np.flatnonzero(y == np.bincount(y, minlength=classes).argmax())
            y[common[:missing]] = label
    return y


def binary(n: int = 500) -> Table:
    rng = np.random.default_rng(1)
    codes = (rng.uniform(size=(n, 20)) < rng.uniform(0.1, 0.9, 20)).astype(int)
    return table_of(codes.astype(float), scored(rng, codes))


def counts(n: int = 600) -> Table:
    """Small integers, of Poisson distributions."""
    rng = np.random.default_rng(2)
    codes = rng.poisson(rng.uniform(0.5, 4, 12), (n, 12))
    return table_of(codes.astype(float), scored(rng, codes))


def onehot(n: int = 690) -> Table:
    """15 categorical columns of 2 to 15 levels, one-hot: the column kernels have ranks 2 to 15."""
    rng = np.random.default_rng(3)
    codes = categories(rng, n, rng.integers(2, 16, 15))
    X, blocks = one_hot(codes)
    return table_of(X, scored(rng, codes), blocks)


def nominal(n: int = 600) -> Table:
    """10 categorical columns as codes, three classes."""
    rng = np.random.default_rng(4)
    codes = categories(rng, n, rng.integers(2, 9, 10))
    return table_of(codes.astype(float), scored(rng, codes, classes=3))


def classes27(n: int = 694) -> Table:
    rng = np.random.default_rng(5)
    codes = categories(rng, n, np.full(15, 6), skew=3.0)
    return table_of(codes.astype(float), scored(rng, codes, classes=27, noise=0.1))


def contradictory(n: int = 400) -> Table:
    """A third of the rows repeats others, half of these with the opposite label."""
    rng = np.random.default_rng(6)
    codes = categories(rng, n, np.full(8, 5))
    y = scored(rng, codes)
    again, of = np.arange(n - n // 3, n), rng.integers(0, n - n // 3, n // 3)
    codes[again] = codes[of]
    y[again] = y[of] ^ (rng.uniform(size=len(of)) < 0.5)
    return table_of(codes.astype(float), y)


def smooth(n: int = 800) -> Table:
    """Ten columns of normal numbers."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 10))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return table_of(X, (score + 0.5 * rng.normal(size=n) > 0).astype(int))


def votes(n: int = 435) -> Table:
    """16 questions answered by 0, 1 or not at all, nearly separable."""
    rng = np.random.default_rng(8)
    y = (rng.uniform(size=n) < 0.4).astype(int)
    agree = rng.uniform(size=(n, 16)) < rng.uniform(0.6, 0.97, 16)
    answers = np.where(agree, y[:, None], 1 - y[:, None]) * 2.0
    answers[rng.uniform(size=answers.shape) < 0.05] = 1.0
    return table_of(answers, y)


def mixed(n: int = 600) -> Table:
    """Six columns of numbers, some rounded, and eight of categories; one class in five."""
    rng = np.random.default_rng(9)
    codes = categories(rng, n, rng.integers(2, 7, 8))
    numbers = rng.normal(size=(n, 6))
    numbers[:, 3:] = numbers[:, 3:].round(1)
    score = numbers[:, 0] ** 2 + numbers[:, 4] + rng.normal(size=7)[codes[:, 0]] + 0.5 * rng.normal(size=n)
    return table_of(np.hstack([numbers, codes]), (score > np.quantile(score, 0.8)).astype(int))


def words(n: int = 500) -> Table:
    """Counts of 40 words in short texts of four topics: mostly zero."""
    rng = np.random.default_rng(10)
    y = rng.integers(0, 4, n)
    topics = rng.dirichlet(np.full(40, 0.3), 4) + 0.01
    texts = np.array([rng.multinomial(rng.integers(5, 30), topics[k] / topics[k].sum()) for k in y])
    return table_of(texts.astype(float), y)


def large_widths(n: int = 4000) -> Table:
    X, y = make_classification(n, 30, n_informative=10, flip_y=0.1, random_state=0)
    return table_of(X, y)


def large_german(n: int = 3000) -> Table:
    """24 columns of small integers, seven good to three bad, as in German credit."""
    rng = np.random.default_rng(11)
    codes = categories(rng, n, np.array([4, 20, 5, 10, 5, 5, 4, 4, 3, 4, 2, 2, *[2] * 12]))
    score = sum(rng.normal(size=c.max() + 1)[c] for c in codes.T) + 2 * rng.normal(size=n)
    return table_of(codes.astype(float), (score > np.quantile(score, 0.3)).astype(int))


def large_discrete(n: int = 2000) -> Table:
    rng = np.random.default_rng(12)
    codes = categories(rng, n, rng.integers(2, 12, 16))
    return table_of(codes.astype(float), scored(rng, codes))


SYNTHETIC: dict[str, Callable[[], Table]] = {
    "binary": binary,
    "counts": counts,
    "onehot": onehot,
    "categories": nominal,
    "classes27": classes27,
    "contradictory": contradictory,
    "smooth": smooth,
    "votes": votes,
    "mixed": mixed,
    "words": words,
}
LARGE: dict[str, Callable[[], Table | None]] = {
    "large_widths": large_widths,
    "mfeat:large": lambda: of_names("mfeat:large"),
    "large_german": large_german,
    "large_discrete": large_discrete,
}
TABLES = (*IN_SCIKIT_LEARN, *IN_FOLDER, *SYNTHETIC)


def source_of(name: str) -> str:
    """Tables of the same numbers share what stands before the colon."""
    return name.partition(":")[0]


def _a_third(names: Iterable[str]) -> set[str]:
    """The third, rounded, of the sources whose names have the smallest SHA-256."""
    sources = sorted({source_of(name) for name in names}, key=lambda source: sha256(source.encode()).hexdigest())
    return set(sources[: round(len(sources) / 3)])


# Kept out of tuning: a third of scikit-learn's, of the folder's and of the synthetic tables each.
HELD_OUT = frozenset(
    _a_third(IN_SCIKIT_LEARN) | _a_third(IN_FOLDER) | _a_third([*SYNTHETIC, *(n for n in LARGE if n[:5] == "large")])
)


@lru_cache(maxsize=4)
def load(name: str, rows: int | None = None) -> Table | None:
    """The table, a stratified part where it has too many rows; None where its file is not there."""
    if name in LARGE:
        table = LARGE[name]()
    else:
        table = SYNTHETIC[name]() if name in SYNTHETIC else of_names(name)
        rows = MOST_ROWS if rows is None else rows
    if table is None or rows is None or len(table.y) <= rows:
        return table
    kept, _ = train_test_split(np.arange(len(table.y)), train_size=rows, stratify=table.y, random_state=0)
    return replace(table, X=table.X[kept], y=table.y[kept])
