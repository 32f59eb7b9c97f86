"""A fitted model in one file: a zip of one JSON document and plain arrays. Nothing in it is ever executed.

Members are stored uncompressed, so that a file can claim no more memory than it has bytes. Reading trusts nothing:
every array is checked for its type, shape and values before anything is computed with it.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from spnmkl.errors import ModelFileError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.history import NUMBERS, STATUSES, history_arrays, read_history
from spnmkl.kernels import FittedKernel, kernel_names, kernel_schema
from spnmkl.kernels.rows import row_arrays, sparse_rows
from spnmkl.kernels.validation import DataColumns, check_spec, kernel_of
from spnmkl.landmarks.stored import described, landmark_arrays, read_approximation
from spnmkl.parameters import positive
from spnmkl.solution import Record, Solution
from spnmkl.structure import SPN, KernelSpec
from spnmkl.untrusted import MOST_JSON_BYTES, CheckedArrays, opens_zip, parse_json, read_array
from spnmkl.writing import replaced

__all__ = ["load_model", "save_model"]

FORMAT = "spnmkl/model"
VERSION = 2
_PLAIN = 1  # of a model on dense rows without an approximation, which earlier releases read
_SAMPLING = "approximation", "n_components", "sample_size"  # settings that these do not know

_DOCUMENT = "model.json"
_REFERENCE = "$array"  # {"$array": name} stands for an array in what a caller adds
_KERNEL_ARRAYS = ("rows", "scale", "means")
_MOST_ROWS = np.iinfo(np.int64).max
_LABELS = {"str", "object", "bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

Arrays = dict[str, np.ndarray]
Document = dict[str, Any]


def save_model(model: SPNMKLClassifier, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : SPNMKLClassifier
        Its callback and `stop` are left out, and so is a `random_state` that is not a number.
    path : str or path
        An existing file is replaced once the new one is complete; of a link, the file behind it. A device stays one.
    extra : dict, default=None
        Anything to keep along with it, such as how the columns were prepared: what JSON can hold, and arrays of
        numbers or text. None for `model.extra_`. A mapping with the single key ``$array`` is not possible.

    Raises
    ------
    ModelFileError
        Something in it cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> from spnmkl.model_file import load_model, save_model
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "wine.spnmkl")
    ...     save_model(model, path, extra={"deviations": X.std(axis=0)})
    ...     again = load_model(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    arrays = _arrays(model)
    text = _as_json(_document(model, model.extra_ if extra is None else extra), arrays)
    target = Path(path)
    if not target.parent.is_dir():
        raise ModelFileError(f"The folder {str(target.parent)!r} does not exist; make it, or choose another.")
    if target.is_dir():
        raise ModelFileError(f"{str(target)!r} is a folder; name a file.")
    with replaced(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_DOCUMENT, text)
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(values), version=(1, 0), allow_pickle=False)


def load_model(path: str | os.PathLike[str]) -> SPNMKLClassifier:
    """Read a model that `save_model` wrote.

    A kernel of the user's own must be registered again, with the same function, before the model is loaded.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    SPNMKLClassifier
        It predicts as it did, and `extra_` holds what was added to it.

    Raises
    ------
    ModelFileError
        The file is damaged, of another kind, or of a later version.

    Examples
    --------
    >>> import os, tempfile
    >>> from spnmkl import ModelFileError
    >>> from spnmkl.model_file import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "empty.spnmkl")
    ...     open(path, "w").close()
    ...     try:
    ...         load_model(path)
    ...     except ModelFileError:
    ...         print("refused")
    refused
    """
    name = Path(path).name
    try:
        with open(path, "rb") as file:
            return _Reader(name, *_read(file, name)).model()
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"The model file {name!r} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, EOFError) as error:
        raise ModelFileError(f"The model file {name!r} is cut short or damaged; copy or save it again.") from error
    except Exception as error:  # whatever a malformed file may cause
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ModelFileError(f"The model file {name!r} is damaged: {reason}; save the model again.") from error


def _document(model: SPNMKLClassifier, extra: Mapping[str, Any]) -> Document:
    from spnmkl import __version__

    solution, names = model.solution_, getattr(model, "feature_names_in_", None)
    kernels = _distinct(model)
    return {
        "format": FORMAT,
        "version": _PLAIN if _is_plain(model) else VERSION,
        "spnmkl": __version__,
        "structure": model.spn_.to_dict(),
        "settings": _settings(model),
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else list(names),
        "classes": _labels(model.classes_),
        "beta": solution.beta,
        "pruned": solution.pruned,
        "status": solution.status,
        "certificate": {
            "objective": solution.objective,
            "dual_bound": _finite_or_none(solution.dual_bound),
            "gap": _finite_or_none(solution.gap),
        },
        "solver": solution.solver,
        "methods": [record.method for record in solution.history],
        "C": model.C_,
        "lam": solution.lam,
        "tol": solution.tol,
        "kernels": [
            {key: value for key, value in kernel.state().items() if key not in _KERNEL_ARRAYS}
            for kernel in kernels.values()
        ],
        **({} if (found := model.approximation_) is None else {"approximation": described(found)}),
        "leaves": {leaf: list(kernels).index(id(kernel)) for leaf, kernel in model.kernels_.items()},
        "extra": dict(extra),
    }


def _distinct(model: SPNMKLClassifier) -> dict[int, FittedKernel]:
    """Leaves with equal specifications share one fitted kernel."""
    return {id(kernel): kernel for kernel in model.kernels_.values()}


def _is_plain(model: SPNMKLClassifier) -> bool:
    sparse = any(issparse(kernel.X_ref) for kernel in model.kernels_.values())
    return model.approximation is None and model.approximation_ is None and not sparse


def _settings(model: SPNMKLClassifier) -> Document:
    settings = model.get_params(deep=False)
    for name in ("callback", "stop", *(_SAMPLING if _is_plain(model) else ())):
        del settings[name]
    if settings["structure"] is not None:
        settings["structure"] = model.spn_.to_dict()
    if not isinstance(settings["random_state"], int | np.integer):
        settings["random_state"] = None
    if isinstance(settings["p"], Mapping):
        settings["p"] = dict(settings["p"])
    if isinstance(settings["class_weight"], Mapping):
        # Pairs, because the keys of a JSON object are text.
        settings["class_weight"] = [[label, weight] for label, weight in settings["class_weight"].items()]
    return settings


def _labels(classes: NDArray) -> Document:
    dtype = "str" if classes.dtype.kind == "U" else classes.dtype.name
    values = classes.tolist()
    if dtype not in _LABELS or not all(isinstance(value, str | int | float) for value in values):
        raise ModelFileError(
            f"Labels such as {values[0]!r} cannot be saved; use text, numbers or true/false as labels."
        )
    return {"dtype": dtype, "values": values}


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _arrays(model: SPNMKLClassifier) -> Arrays:
    solution = model.solution_
    history, history_beta = history_arrays(solution.history, list(solution.beta))
    arrays: Arrays = {
        "rows": model.rows_,
        "labels": np.searchsorted(solution.classes, solution.y),
        "alpha": np.atleast_2d(model.alpha_),
        "witness_alpha": np.atleast_2d(solution.witness_alpha),
        "intercept": np.atleast_1d(np.asarray(solution.intercept, dtype=float)),
        "C": solution.C,
        "history": history,
        "history_beta": history_beta,
    }
    for name in ("p", "witness_beta", "kkt_residual"):
        arrays[name] = np.array([getattr(solution, name)[v] for v in solution.beta])
    if (found := model.approximation_) is not None:
        arrays |= landmark_arrays(found)
    if model.calibration_ is not None:
        arrays["calibration"] = model.calibration_
    if model.centre_ is not None and model.spread_ is not None:
        arrays |= {"centre": model.centre_, "spread": model.spread_}
    for k, kernel in enumerate(_distinct(model).values()):
        arrays |= row_arrays(kernel.X_ref, "X_ref")  # one for all kernels
        state = kernel.state()
        arrays |= {f"kernel{k}_{key}": np.asarray(state[key]) for key in _KERNEL_ARRAYS if state[key] is not None}
    return arrays


def _as_json(document: Document, arrays: Arrays) -> str:
    """Arrays in the document are moved to `arrays`."""

    def encode(value: object) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            name = f"extra{len(arrays)}"
            arrays[name] = value
            return {_REFERENCE: name}
        raise TypeError(f"found a value of type {type(value).__name__}")

    try:
        return json.dumps(document, default=encode, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"What is saved with a model must be what JSON can hold, or arrays of numbers or text; {error}."
        ) from None


def _read(file: BinaryIO, name: str) -> tuple[Document, Arrays]:
    foreign = ModelFileError(f"{name!r} is not a model file of spnmkl; choose a file that was saved as a model.")
    if not opens_zip(file):
        raise foreign
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if _DOCUMENT not in archive.namelist():
            raise foreign
        # Neither compression nor overlaps: what is read fits into the size of the file.
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > os.fstat(file.fileno()).st_size:
            raise ValueError("its parts are compressed or overlap, which a saved model's never do")
        if archive.getinfo(_DOCUMENT).file_size > MOST_JSON_BYTES:
            raise ValueError(f"{_DOCUMENT!r} is larger than {MOST_JSON_BYTES >> 20} MB")
        text = archive.read(_DOCUMENT)
        parts = [member for member in members if member.filename.endswith(".npy")]
        arrays = {part.filename.removesuffix(".npy"): _member(archive, part) for part in parts}
    document = parse_json(text, object_hook=lambda d: _dereferenced(d, arrays))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise foreign
    if document.get("version") not in (_PLAIN, VERSION):
        raise ModelFileError(
            f"The model file {name!r} has version {document.get('version')!r}, but this release reads versions "
            f"{_PLAIN} and {VERSION}; install the release that wrote it."
        )
    return document, arrays


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    try:
        return read_array(archive.read(member))
    except ValueError as error:
        raise ValueError(f"{member.filename!r} cannot be read ({error})") from error


def _dereferenced(value: Document, arrays: Arrays) -> Any:
    return arrays[value[_REFERENCE]] if value.keys() == {_REFERENCE} else value


class _Reader(CheckedArrays):
    """Builds the model from checked parts; a part in doubt is a ValueError that says why."""

    def __init__(self, name: str, document: Document, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.name, self.document = name, document
        self.spn = SPN.from_dict(document["structure"])
        self.spn.check()
        self.classes = _read_labels(**document["classes"])
        self.n_problems = 1 if len(self.classes) == 2 else len(self.classes)
        self.n_features = document["n_features"]
        self.feature_names = document["feature_names"]
        if type(self.n_features) is not int or self.n_features < 1:
            raise ValueError("n_features is not a whole number above 0")
        if self.feature_names is not None and (
            len(self.feature_names) != self.n_features or not all(isinstance(n, str) for n in self.feature_names)
        ):
            raise ValueError(f"feature_names are not {self.n_features} texts")

    def model(self) -> SPNMKLClassifier:
        model = SPNMKLClassifier(**self.settings())
        model._check_parameters()
        alpha, told = self.floats("alpha", self.n_problems, None, at_least=0.0), self.document.get("approximation")
        n = alpha.shape[1]
        rows = self.integers("rows", None, below=n) if told is None else self.integers("rows", n, below=_MOST_ROWS)
        if (np.diff(rows) <= 0).any():
            raise ValueError("the array 'rows' is not in ascending order")
        if told is None:
            model._learn(self.solution(alpha[:, rows]), rows, n)
        else:
            model._learn(self.solution(alpha), np.arange(n), n)
            model.rows_ = rows
            model._approximated_by(read_approximation(told, self, model.solution_))
        model.kernels_ = self.kernels(model._circuit.leaves, len(model.support_))
        model.n_features_in_ = self.n_features
        if self.feature_names is not None:
            model.feature_names_in_ = np.array(self.feature_names, dtype=object)
        if "calibration" in self.arrays:
            model.calibration_ = self.floats("calibration", self.n_problems, 2)
        if "centre" in self.arrays:
            model.centre_ = self.floats("centre", self.n_features)
            model.spread_ = self.floats("spread", self.n_features, at_least=np.finfo(float).tiny)
        model.C_ = positive(self.document.get("C", model.C_), "C")  # earlier releases always had it among the settings
        model.extra_ = dict(self.document["extra"])
        return model

    def settings(self) -> Document:
        settings = dict(self.document["settings"])
        if settings["structure"] is not None:
            settings["structure"] = SPN.from_dict(settings["structure"])
        if isinstance(settings["class_weight"], list):
            settings["class_weight"] = dict(settings["class_weight"])
        return settings

    def solution(self, alpha: np.ndarray) -> Solution:
        document, n = self.document, alpha.shape[1]
        witness = self.floats("witness_alpha", self.n_problems, n, at_least=0.0)
        intercept = self.floats("intercept", self.n_problems)
        binary = self.n_problems == 1
        beta = {v: float(document["beta"][v]) for v in self.spn.products}
        if not all(0 <= weight < math.inf for weight in beta.values()):
            raise ValueError("beta holds a weight that is not a finite number of at least 0")
        if document["status"] not in STATUSES:
            raise ValueError("the status is unknown")
        certificate = document["certificate"]
        return Solution(
            spn=self.spn,
            beta=beta,
            alpha=alpha[0] if binary else alpha,
            intercept=float(intercept[0]) if binary else intercept,
            classes=self.classes,
            objective=float(certificate["objective"]),
            dual_bound=_number(certificate["dual_bound"], -math.inf),
            gap=_number(certificate["gap"], math.inf),
            kkt_residual=self.per_product("kkt_residual", finite=False),
            status=document["status"],
            history=self.history(),
            pruned={v: int(iteration) for v, iteration in document["pruned"].items()},
            y=self.classes[self.integers("labels", n, below=len(self.classes))],
            C=self.floats("C", n, at_least=0.0),
            lam=float(document["lam"]),
            p=self.per_product("p"),
            tol=float(document["tol"]),
            solver=str(document["solver"]),
            witness_alpha=witness[0] if binary else witness,
            witness_beta=self.per_product("witness_beta"),
        )

    def history(self) -> tuple[Record, ...]:
        products, document = tuple(self.spn.products), self.document
        rows = self.floats("history", None, len(NUMBERS), finite=False)
        weights = self.floats("history_beta", len(rows), len(products))
        return read_history(rows, weights, document.get("methods"), products, str(document["solver"]))

    def kernels(self, leaves: tuple[str, ...], n_support: int) -> dict[str, FittedKernel]:
        if not leaves:
            return {}
        X_ref = self.references()
        keys = {leaf: (self.document["leaves"][leaf], self.spn.spec(leaf)) for leaf in leaves}
        fitted = {(k, spec): self.kernel(k, spec, X_ref, n_support) for k, spec in set(keys.values())}
        return {leaf: fitted[key] for leaf, key in keys.items()}

    def references(self) -> Any:
        if "X_ref_values" not in self.arrays:
            return self.floats("X_ref", None, self.n_features)
        values = self.floats("X_ref_values", None)
        columns = self.integers("X_ref_columns", len(values), below=self.n_features)
        starts = self.integers("X_ref_starts", None, below=len(values) + 1)
        return sparse_rows(values, columns, starts, self.n_features)

    def kernel(self, k: int, spec: KernelSpec, X_ref: np.ndarray, n_support: int) -> FittedKernel:
        if spec.kernel not in kernel_names():
            raise ModelFileError(
                f"The model file {self.name!r} uses the kernel {spec.kernel!r}, which is not registered here; call "
                "register_kernel with the function it was trained with, then load it again."
            )
        columns = DataColumns.of(self.feature_names, self.n_features)
        check_spec(spec, kernel_of(spec), columns)
        state = self.document["kernels"][k] | dict.fromkeys(_KERNEL_ARRAYS)
        if (rows := f"kernel{k}_rows") in self.arrays:
            state["rows"] = self.integers(rows, n_support, below=X_ref.shape[0])
        if spec.normalize == "unit_diagonal":
            state["scale"] = self.floats(f"kernel{k}_scale", n_support)
        if spec.normalize == "centred":
            state["means"] = self.floats(f"kernel{k}_means", n_support)
        kernel = FittedKernel.from_state(state, X_ref)
        resolved = columns.resolve(spec.features)
        if kernel.spec != spec or kernel.columns != resolved or kernel.n_reference != n_support:
            raise ValueError(f"kernel {k} does not fit the structure or the support vectors")
        accepted = {p.name for p in kernel_schema(spec.kernel) if p.accepts(kernel.params.get(p.name))}
        if accepted != kernel.params.keys():
            raise ValueError(f"kernel {k} does not have the parameters of {spec.kernel!r}")
        if not (math.isfinite(kernel.statistics.factor) and math.isfinite(kernel.statistics.mean)):
            raise ValueError(f"kernel {k} holds statistics that are not finite")
        return kernel

    def per_product(self, name: str, finite: bool = True) -> dict[str, float]:
        values = self.floats(name, len(self.spn.products), finite=finite)
        return dict(zip(self.spn.products, values.tolist(), strict=True))


def _read_labels(dtype: str, values: list[Any]) -> NDArray:
    if dtype not in _LABELS:
        raise ValueError(f"labels cannot be of type {dtype!r}")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not two or more different labels in order")
    return classes


def _number(value: float | None, missing: float) -> float:
    return missing if value is None else float(value)
