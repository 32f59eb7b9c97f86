"""What is fuzzed: good inputs of each kind, how bad ones are made of them, and what takes them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import fuzz_mutations as made
import numpy as np
import openpyxl
import pandas as pd
from hypothesis import strategies as st
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from spnmkl import SPN, Kernel, SPNMKLClassifier
from spnmkl.cli.commands import COMMANDS, main
from spnmkl.data import Choices, Dataset, SplitSettings, problems, read_file, summarize
from spnmkl.errors import SPNMKLError
from spnmkl.export import to_svg
from spnmkl.model_file import load_model, save_model
from spnmkl.project.project_file import save_project
from spnmkl.structure.layout import arranged
from spnmkl.structure.templates import flat, product_of_sums
from spnmkl.training.checks import all_issues
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.state.drawing import Drawing
from spnmkl.workspace.exchange import exported, imported

Mutate = Callable[[Random, bytes, Sequence[bytes]], bytes]
NAMES = ["a", "b", "c"]


class Broken(AssertionError):
    """An input was taken, but what came of it is not whole."""


@dataclass(frozen=True)
class Target:
    """One kind of input.

    `seeds` are good inputs, `mutate` makes others of them, `run` takes one and raises errors of the package at most;
    `grammar` is what Hypothesis draws from, in the place of seeds.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    mutate: Mutate
    grammar: st.SearchStrategy[bytes] | None = None
    reads: bool = False

    def made(self, random: Random) -> bytes:
        seeds = _seeds(self)
        return self.mutate(random, random.choice(seeds), seeds)


@cache
def _seeds(target: Target) -> list[bytes]:
    return target.seeds()


def outcome(target: Target, data: bytes) -> str:
    """ "taken", "refused", or what came out that should not have."""
    try:
        target.run(data)
        return "taken"
    except SPNMKLError as error:
        sentence = str(error)
        return "refused" if sentence.strip() and "\n" not in sentence else f"finding: no sentence: {sentence!r}"
    except Exception as error:
        return f"finding: {type(error).__name__}: {str(error)[:200]!r}"


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 3)).round(3), columns=NAMES)
    return frame.assign(k=["u", "v w", "β"] * 8, y=["yes", "no"] * 12)


def _packed(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _text(sep: str) -> bytes:
    return _frame().to_csv(sep=sep, index=False).encode()


def _zip(name: str, content: bytes) -> bytes:
    def write(file: io.BytesIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)

    return _packed(write)


def _excel(file: io.BytesIO) -> None:
    book = openpyxl.Workbook()
    for row in [list(_frame()), *_frame().to_numpy().tolist()]:
        book.active.append(row)
    book.create_sheet("empty")
    book.save(file)


ARFF = """@relation r
@attribute 'a b' numeric
@attribute k {u,'v w'}
@attribute s string
@data
1.5,u,'x, y'
?,'v w',?
-2e3,u,z
"""
SPARSE = "@relation r\n@attribute a numeric\n@attribute k {u,v}\n@data\n{0 5, 1 v}\n{ }\n{1 u}\n"


def _matrices() -> dict[str, Any]:
    X = _frame()[NAMES].to_numpy()
    return {"X": X, "K": X @ X.T, "y": np.arange(len(X)) % 2}


def _reading(name: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        frame = read_file(name, data).frame
        if not frame.columns.is_unique or not all(frame.columns):
            raise Broken("columns without a name of their own")
        dataset = Dataset.guess("d", frame)
        if len(summarize(dataset)) != frame.shape[1]:
            raise Broken("a summary that lacks columns")
        problems(dataset)

    return run


def _grammar(tokens: Sequence[str], head: str = "") -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(tokens) | st.text(max_size=3), max_size=60).map(
        lambda found: (head + "".join(found)).encode("utf-8", "surrogatepass")
    )


def _reader(name: str, seeds: Callable[[], list[bytes]], mutate: Mutate, *tokens: str, head: str = "") -> Target:
    return Target(_reading(name), seeds, mutate, _grammar(tokens, head) if tokens else None, reads=True)


_CELLS = ("1", "-2.5", "x", "yes", "?", "nan", "1e5", '"', "'", '"a b"', "\n", "\r\n", " ", "\0", "#", "%", "=1+1")
READERS = {
    "CSV": _reader("t.csv", lambda: [_text(","), _text(";")], made.mutated_bytes, *_CELLS, ",", ",", ";", "\n"),
    "TSV": _reader("t.tsv", lambda: [_text("\t")], made.mutated_bytes, *_CELLS, "\t", "\t", "\n"),
    "Excel": _reader("t.xlsx", lambda: [_packed(_excel)], made.mutated_zip),
    "Parquet": _reader(
        "t.parquet",
        lambda: [_packed(_frame().to_parquet), _packed(_frame().astype({"k": "category"}).to_parquet)],
        made.mutated_bytes,
    ),
    "ARFF": _reader(
        "t.arff",
        lambda: [ARFF.encode(), SPARSE.encode()],
        made.mutated_bytes,
        *(*_CELLS, "{", "}", ",", "@data\n", "@attribute a numeric\n", "@attribute k {u,v}\n", "\\", "% x"),
        head="@relation r\n",
    ),
    "LIBSVM": _reader(
        "t.svm",
        lambda: [_packed(lambda f: dump_svmlight_file(_frame()[NAMES], [1, -1] * 12, f)), b"1 1:2 3:4\n-1 2:1\n"],
        made.mutated_bytes,
        *("1", "-1", " ", "1:", "2:0.5", ":", "qid:1", "#", "\n", "1e9:1", "99999999:1", ","),
        head="1 1:2\n",
    ),
    "npz": _reader("t.npz", lambda: [_packed(lambda f: np.savez(f, **_matrices()))], made.mutated_zip),
    "mat": _reader(
        "t.mat",
        lambda: [_packed(lambda f, c=c: savemat(f, _matrices(), do_compression=c)) for c in (True, False)],
        made.mutated_bytes,
    ),
    "zip": _reader("t.zip", lambda: [_zip("t.csv", _text(",")), _zip("t.xlsx", _packed(_excel))], made.mutated_zip),
    "gz": _reader("t.csv.gz", lambda: [gzip.compress(_text(","))], made.mutated_gzip),
}


def _structures() -> list[SPN]:
    leaves = {
        "x": [Kernel("rbf", features=["a"]), Kernel("linear", features=["b"])],
        "z": [Kernel("polynomial", degree=2, features=["c"])],
    }
    return [flat(leaves["x"]), product_of_sums(leaves), arranged(product_of_sums(leaves))]


def _take_structure(data: bytes) -> None:
    spn = SPN.from_json(data)
    if SPN.from_json(spn.to_json()) != spn:
        raise Broken("another structure after writing and reading")
    if not any(issue.severity == "error" for issue in spn.validate()):
        spn.formula(limit=50)
    spn.repaired()
    arranged(spn)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
_ID = st.sampled_from(["a", "b", "c", "d"]) | _JSON
_NODE = st.fixed_dictionaries(
    {"id": _ID, "kind": st.sampled_from(["sum", "product", "kernel"]) | _JSON},
    optional={
        "x": st.floats() | _JSON,
        "y": st.integers(-9, 9) | _JSON,
        "p": st.floats() | _JSON,
        "kernel": st.sampled_from(["rbf", "linear"]) | _JSON,
        "params": st.dictionaries(st.sampled_from(["gamma", "degree"]), _JSON) | _JSON,
        "features": st.lists(st.sampled_from(NAMES) | _JSON, max_size=3) | _JSON,
        "label": st.text(max_size=5) | _JSON,
    },
)
_DRAWN = {"nodes": st.lists(_NODE, max_size=6) | _JSON, "edges": st.lists(st.tuples(_ID, _ID), max_size=8) | _JSON}


def _dumped(drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return drawn.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))


_STRUCTURE = st.fixed_dictionaries({"format": st.just("spnmkl/structure"), "version": st.just(1) | _JSON, **_DRAWN})
_MESSAGE = st.fixed_dictionaries(
    {"page": st.just("p") | _JSON, "sequence": st.integers(0, 9) | _JSON, "revision": st.just("e.0") | _JSON, **_DRAWN},
    optional={
        "closed": st.lists(_ID, max_size=4) | _JSON,
        "size": st.lists(st.integers(), max_size=3) | _JSON,
        "wish": st.fixed_dictionaries({"number": st.integers(0, 9) | _JSON, "closed": st.lists(_ID), "opened": _ID})
        | _JSON,
        "selection": st.lists(_ID, max_size=3) | _JSON,
    },
)


def _messages() -> list[bytes]:
    found = []
    for spn in map(arranged, _structures()):
        drawn = spn.to_dict()
        told = {"page": "p", "sequence": 1, "revision": "e.0", "closed": ["g"], "size": [900, 500], "selection": ["a"]}
        wish = {"number": 1, "closed": [], "opened": drawn["nodes"][0]["id"], "fit": True}
        found.append({**told, "wish": wish, "nodes": drawn["nodes"], "edges": drawn["edges"]})
    return [json.dumps(message).encode() for message in found]


def _take_message(data: bytes) -> None:
    """As the page Design does: nothing may come out of `receive`, whatever the browser sends."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return
    drawing = Drawing(arranged(_structures()[0]), epoch="e")
    try:
        drawing.resize(message.get("size") if isinstance(message, dict) else message)
        drawing.receive(message)
    except SPNMKLError as error:
        raise Broken(f"the canvas is not answered: {error}") from None
    all_issues(drawing.spn, Dataset("d", _frame(), "y"), Choices())
    to_svg(drawing.spn, closed=drawing.closed)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="spnmkl-fuzz-"))


@cache
def _model() -> SPNMKLClassifier:
    frame = _frame()
    return SPNMKLClassifier(_structures()[1], C=1.0, weights="certified").fit(frame[NAMES], frame["y"])


def _models() -> list[bytes]:
    file = _folder() / "good.spnmkl"
    save_model(_model(), file)
    return [file.read_bytes()]


def _take_model(data: bytes) -> None:
    file = _folder() / f"{os.getpid()}.spnmkl"
    file.write_bytes(data)
    predicted = load_model(file).predict(_frame()[NAMES])
    if len(predicted) != len(_frame()):
        raise Broken("not one class for each row")


def _projects() -> list[bytes]:
    dataset, choices, split, settings = Dataset("d", _frame(), "y"), Choices(), SplitSettings(), Settings()
    spn = arranged(_structures()[1])
    run = train(prepare(spn, dataset, choices, split), settings)
    return [save_project(spn, dataset, choices, split, settings, [run], with_data) for with_data in (True, False)]


def _take_project(data: bytes) -> None:
    exported(imported(data, "t.project.zip"))  # what was taken can be given away again


_OPTIONS = (
    "--out --scores --probabilities --json --paths --repair --data --sep --decimal --label --help --version --C -x"
)
_VALUES = "- 0 -1 1e999 nan x.csv t.csv good.spnmkl s.json out.csv , ; 3 y a /dev/full . .."


def _commands() -> list[bytes]:
    asked = (
        "predict good.spnmkl t.csv --out out.csv --scores",
        "inspect good.spnmkl --paths 3 --json",
        "validate s.json --data t.csv --label y --repair r.json",
        "template flat --columns t.csv --label y --out o.json",
        "fit t.csv --label y --out m.spnmkl --C 1 --tol 1e-3 --threads 1",
        "compare t.csv --label y --methods lasso --folds 2",
        "suggest t.csv --label y --max-time 1",
        "importance t.csv --label y --folds 2",
        "workspace list x --workspace w",
        "app --server.port=1",
    )
    return ["\n".join(line.split()).encode() for line in asked]


_SLOW = {"fit", "compare", "suggest", "importance", "app", "workspace"}  # of which the arguments alone are read


def _take_arguments(data: bytes) -> None:
    words = data.decode("utf-8", "replace").replace("\0", " ").split("\n")
    folder = _argument_folder()
    from spnmkl.cli.arguments import parsed

    hidden = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.chdir(folder), contextlib.redirect_stdout(hidden), contextlib.redirect_stderr(hidden):
        try:
            args, _ = parsed(words, dict.fromkeys(COMMANDS, lambda args: 0))
            code = 0 if args.command in _SLOW else main(words)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
    if code not in (0, 1, 2):
        raise Broken(f"exit code {code}")


@cache
def _argument_folder() -> Path:
    folder = _folder() / "arguments"
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_bytes(_text(","))
    (folder / "s.json").write_text(_structures()[1].to_json())
    (folder / "good.spnmkl").write_bytes(_models()[0])
    return folder


TARGETS = {
    "structures": Target(
        _take_structure, lambda: [s.to_json().encode() for s in _structures()], made.mutated_text, _dumped(_STRUCTURE)
    ),
    "canvas messages": Target(_take_message, _messages, made.mutated_text, _dumped(_MESSAGE)),
    **READERS,
    "model files": Target(_take_model, _models, made.mutated_zip),
    "project zips": Target(_take_project, _projects, made.mutated_zip),
    "arguments": Target(
        _take_arguments,
        _commands,
        made.mutated_words,
        st.lists(
            st.sampled_from([*COMMANDS, *_OPTIONS.split(), *_VALUES.split()]) | st.text(max_size=4), max_size=6
        ).map(lambda words: "\n".join(words).encode("utf-8", "surrogatepass")),
    ),
}
