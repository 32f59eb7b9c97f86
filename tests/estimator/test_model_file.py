"""Saved models: everything comes back, and nothing else gets in."""

import contextlib
import io
import json
import pickle
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from spnmkl import ModelFileError, TrivialSolutionWarning, __version__, model_file, untrusted
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.kernels import NORMALIZATIONS, Parameter, kernel_names, register_kernel, registry
from spnmkl.model_file import load_model, save_model
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

RNG = np.random.default_rng(0)
X = RNG.random((60, 4))
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.75).astype(int)
y3 = np.digitize(X[:, 0] + X[:, 3], [0.7, 1.2])
NEW = RNG.random((25, 4))
COMPUTED = [name for name in kernel_names() if name != "precomputed"]
MIXED = SPN(
    Sum(
        Product(Kernel("rbf", gamma="median", features=[2, 0], normalize="centred"), id="left"),
        Product(
            Sum(Product(Kernel("linear")), Product(Kernel("polynomial", degree=3, normalize="unit_trace"))),
            Sum(Product(Kernel("laplacian", features=[1])), Product(Kernel("laplacian", features=[1]))),
            id="right",
        ),
    )
)


def saved(model, tmp_path, **kwargs):
    path = tmp_path / "model.spnmkl"
    save_model(model, path, **kwargs)
    return path


def reloaded(model, tmp_path, **kwargs):
    return load_model(saved(model, tmp_path, **kwargs))


def assert_same_decisions(model, loaded, new=NEW):
    np.testing.assert_allclose(loaded.decision_function(new), model.decision_function(new), rtol=0, atol=1e-12)
    assert np.array_equal(loaded.predict(new), model.predict(new))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("kernel", COMPUTED)
def test_every_kernel_and_normalisation_predicts_as_before(kernel, normalize, tmp_path):
    samples, new = (np.round(data, 1) for data in (X, NEW))
    leaves = [Kernel(kernel, normalize=normalize), Kernel(kernel, features=[0, 1], normalize=normalize)]
    model = SPNMKLClassifier(templates.flat(leaves), C=5.0, p=1.5).fit(samples, y)
    assert len(model.kernels_) == 2
    assert_same_decisions(model, reloaded(model, tmp_path), new)


@pytest.mark.parametrize("labels", [y, y3], ids=["two classes", "three classes"])
def test_all_that_was_learned_comes_back(labels, tmp_path):
    weight = RNG.integers(0, 3, 60)
    model = SPNMKLClassifier(MIXED, C=5.0, tol=1e-4, probability=True, random_state=3, class_weight={1: 2.0})
    model.fit(X, labels, sample_weight=weight)
    loaded = reloaded(model, tmp_path)
    assert_same_decisions(model, loaded)
    np.testing.assert_allclose(loaded.predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)
    for name in ("spn_", "beta_", "pruned_", "objective_", "dual_bound_", "gap_", "status_", "history_", "n_iter_"):
        assert getattr(loaded, name) == getattr(model, name), name
    for name in ("classes_", "support_", "alpha_", "dual_coef_", "intercept_", "calibration_", "rows_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name), err_msg=name)
    assert loaded.get_params() == model.get_params() and loaded.n_features_in_ == 4
    for name in ("p", "witness_beta", "kkt_residual", "lam", "tol", "solver"):
        assert getattr(loaded.solution_, name) == getattr(model.solution_, name), name
    for name in ("y", "C", "alpha", "intercept", "witness_alpha", "signed_alpha"):
        np.testing.assert_array_equal(getattr(loaded.solution_, name), getattr(model.solution_, name))
    assert loaded.fit(X, labels, sample_weight=weight).objective_ == pytest.approx(model.objective_)


def test_equal_leaves_stay_one_kernel(tmp_path):
    squared = SPN(Sum(Product(Kernel("rbf", gamma=0.5), Kernel("rbf", gamma=0.5))))
    loaded = reloaded(SPNMKLClassifier(squared).fit(X, y), tmp_path)
    first, second = loaded.kernels_.values()
    assert first is second


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([-1, 1], dtype=np.int8),
        np.array([0.0, 2.0]),
        np.array([False, True]),
    ],
    ids=["text", "objects", "int8", "float", "bool"],
)
def test_labels_keep_their_type(labels, tmp_path):
    model = SPNMKLClassifier(MIXED).fit(X, labels[y])
    loaded = reloaded(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype and loaded.classes_.tolist() == labels.tolist()
    assert loaded.predict(NEW).tolist() == model.predict(NEW).tolist()


def test_feature_names_come_back(tmp_path):
    names = ["größe", "b", "c", "d"]
    structure = SPN(Sum(Product(Kernel("rbf", features=["c", "größe"]))))
    model = SPNMKLClassifier(structure).fit(pd.DataFrame(X, columns=names), y)
    loaded = reloaded(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == names
    assert_same_decisions(model, loaded, pd.DataFrame(NEW, columns=names))


def test_constant_classifier_comes_back(tmp_path):
    with pytest.warns(TrivialSolutionWarning):
        model = SPNMKLClassifier(MIXED, C=1e-6).fit(X, y)
    loaded = reloaded(model, tmp_path)
    assert loaded.kernels_ == {}
    assert_same_decisions(model, loaded)


def test_solution_without_a_bound_comes_back(tmp_path):
    model = SPNMKLClassifier(MIXED, p=0.5, C=5.0).fit(X, y)
    loaded = reloaded(model, tmp_path)
    assert (loaded.dual_bound_, loaded.gap_) == (model.dual_bound_, model.gap_)
    assert_same_decisions(model, loaded)


def test_the_methods_of_a_history_come_back(tmp_path):
    model = SPNMKLClassifier(MIXED, tol=1e-6).fit(X, y)
    first, *others = model.history_
    history = (first, *(replace(record, method="interior") for record in others))
    model.solution_ = replace(model.solution_, history=history)
    assert reloaded(model, tmp_path).solution_.history == history


@pytest.mark.parametrize("status", ["time_limit", "precision", "stalled"])
def test_every_ending_comes_back(status, tmp_path):
    model = SPNMKLClassifier(MIXED).fit(X, y)
    model.solution_ = replace(model.solution_, status=status)
    assert reloaded(model, tmp_path).status_ == status


def test_settings_of_every_form_come_back(tmp_path):
    settings = {"p": {"left": np.float64(2.0)}, "max_iter": np.int64(50), "C": np.float32(2), "n_threads": 2}
    settings["max_memory"] = np.float64(0.5)
    loaded = reloaded(SPNMKLClassifier(MIXED.to_json(), **settings).fit(X, y), tmp_path)
    assert loaded.structure == MIXED and loaded.p == {"left": 2.0}
    assert (loaded.max_iter, loaded.C, loaded.n_threads, loaded.max_memory) == (50, 2.0, 2, 0.5)
    unseeded = SPNMKLClassifier(random_state=np.random.RandomState(0), callback=print)
    loaded = reloaded(unseeded.set_params(callback=lambda record: None).fit(X, y), tmp_path)
    assert loaded.random_state is None and loaded.callback is None and loaded.structure is None


def test_methods_save_and_load_with_extra(tmp_path):
    path = tmp_path / "model.spnmkl"
    extra = {"preparation": {"mean": X.mean(axis=0), "names": ["a", None], "scaled": True}, "ß": np.array(["x", "yz"])}
    model = SPNMKLClassifier(MIXED).fit(X, y)
    assert model.extra_ == {}
    model.save(path, extra=extra)
    for _ in range(2):
        loaded = SPNMKLClassifier.load(path)
        np.testing.assert_array_equal(loaded.extra_["preparation"].pop("mean"), X.mean(axis=0))
        assert loaded.extra_.pop("ß").tolist() == ["x", "yz"]
        assert loaded.extra_ == {"preparation": {"names": ["a", None], "scaled": True}}
        SPNMKLClassifier.load(path).save(path)
    assert loaded.fit(X, y).extra_ == {}


def test_one_versioned_document_and_plain_arrays(tmp_path):
    path = saved(SPNMKLClassifier(MIXED).fit(X, y), tmp_path)
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    assert document["format"] == "spnmkl/model" and document["version"] == 1
    assert document["spnmkl"] == __version__ and SPN.from_dict(document["structure"]) == MIXED
    newer = {"approximation", "n_components", "sample_size"}  # which releases that read version 1 do not take
    assert set(document["settings"]) == set(SPNMKLClassifier().get_params()) - newer - {"callback", "stop"}
    arrays = np.load(path, allow_pickle=False)
    assert {"X_ref", "alpha", "rows", "intercept"} <= set(arrays)


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))


def test_kernels_of_ones_own_must_be_registered_again(own_registry, monkeypatch, tmp_path):
    width = Parameter("width", "float", 1.0, minimum=0, exclusive_minimum=True)
    before = dict(registry._KERNELS)
    register_kernel("cauchy", lambda X, Z, width: 1 / (1 + ((X[:, None] - Z) ** 2).sum(-1) / width**2), [width])
    model = SPNMKLClassifier(SPN(Sum(Product(Kernel("cauchy", width=0.5))))).fit(X, y)
    path = saved(model, tmp_path)
    assert_same_decisions(model, load_model(path))
    monkeypatch.setattr(registry, "_KERNELS", before)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(caught.value) == (
        "The model file 'model.spnmkl' uses the kernel 'cauchy', which is not registered here; call register_kernel "
        "with the function it was trained with, then load it again."
    )


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"f": print}, "found a value of type builtin_function_or_method."),
        ({"objects": np.array([None])}, "found a value of type ndarray."),
        ({"nan": float("nan")}, "Out of range float values are not JSON compliant"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_the_file_alone(extra, sentence, tmp_path):
    path = tmp_path / "model.spnmkl"
    path.write_text("precious")
    with pytest.raises(ModelFileError, match="must be what JSON can hold, or arrays of numbers or text") as caught:
        save_model(SPNMKLClassifier(MIXED).fit(X, y), path, extra)
    assert sentence in str(caught.value)
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    model = SPNMKLClassifier(MIXED).fit(X, y)
    with pytest.raises(ModelFileError) as refused:
        model.save(tmp_path / "missing" / "model.spnmkl")
    folder = str(tmp_path / "missing")
    assert str(refused.value) == f"The folder {folder!r} does not exist; make it, or choose another."
    with pytest.raises(ModelFileError, match="is a folder; name a file"):
        model.save(tmp_path)
    assert list(tmp_path.parent.glob("*.part")) == list(tmp_path.iterdir()) == []


def test_labels_that_json_cannot_hold_are_refused(tmp_path):
    model = SPNMKLClassifier(MIXED).fit(X, y)
    model.classes_ = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    with pytest.raises(ModelFileError, match="use text, numbers or true/false as labels"):
        save_model(model, tmp_path / "model.spnmkl")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = saved(SPNMKLClassifier(MIXED, probability=True, random_state=0).fit(X, y), tmp_path_factory.mktemp("good"))
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def array(name, change):
    """Change one array of a good file."""

    def changed(members):
        values = np.load(io.BytesIO(members[f"{name}.npy"]))
        return {f"{name}.npy": npy(change(values))}

    return changed


def document(change):
    """Change the document of a good file in place."""

    def changed(members):
        content = json.loads(members["model.json"])
        change(content)
        return {"model.json": json.dumps(content).encode()}

    return changed


def put(value, *keys):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return document(change)


def filled(value):
    def change(values):
        values[(0,) * values.ndim] = value
        return values

    return change


DAMAGED = {
    "array missing": (lambda members: {"X_ref.npy": None}, "the array 'X_ref' is missing"),
    "statistics missing": (lambda members: {"kernel0_means.npy": None}, "the array 'kernel0_means' is missing"),
    "key missing": (document(lambda content: content.pop("beta")), "'beta' is missing"),
    "NaN": (array("X_ref", filled(np.nan)), "the array 'X_ref' holds NaN or infinity"),
    "infinity": (array("intercept", filled(np.inf)), "the array 'intercept' holds NaN or infinity"),
    "wrong shape": (array("alpha", lambda a: a[0]), "the array 'alpha' is float64 of shape (60,), but it must be"),
    "too few columns": (array("X_ref", lambda a: a[:, :3]), "must be float64 of shape (any, 4)"),
    "too few rows": (array("X_ref", lambda a: a[:5]), "holds numbers that are not from 0 to 4"),
    "wrong type": (array("alpha", lambda a: a.astype(np.float32)), "the array 'alpha' is float32"),
    "text": (array("C", lambda a: a.astype(str)), "the array 'C' is <U32"),
    "objects": (array("C", lambda a: a.astype(object)), "'C.npy' cannot be read (it holds Python objects"),
    "negative alpha": (array("alpha", filled(-1.0)), "the array 'alpha' holds values below 0"),
    "row out of range": (array("rows", filled(60)), "the array 'rows' holds numbers that are not from 0 to 59"),
    "negative row": (array("kernel0_rows", filled(-1)), "the array 'kernel0_rows' holds numbers that are not from 0"),
    "rows twice": (array("rows", filled(1)), "the array 'rows' is not in ascending order"),
    "label out of range": (array("labels", filled(7)), "the array 'labels' holds numbers that are not from 0 to 1"),
    "more support vectors": (array("alpha", lambda a: a + 1), "is int64 of shape"),
    "NaN in the document": (put(float("nan"), "lam"), "it holds NaN where a number should be"),
    "weight beyond floats": (put(10**400, "beta", "left"), "int too large to convert to float"),
    "negative weight": (put(-1.0, "beta", "left"), "beta holds a weight that is not a finite number"),
    "no structure": (put({}, "structure"), "The format must be 'spnmkl/structure'"),
    "another structure": (put(templates.figure1().to_dict(), "structure"), "is missing"),
    "setting out of range": (put(-1.0, "settings", "C"), "C must be a finite number above 0, but it is -1.0"),
    "unknown setting": (put(1, "settings", "magic"), "unexpected keyword argument 'magic'"),
    "classes out of order": (put([1, 0], "classes", "values"), "the classes are not two or more different labels"),
    "classes of another type": (put("datetime64[ns]", "classes", "dtype"), "labels cannot be of type 'datetime64[ns]'"),
    "columns out of range": (put([9], "kernels", 0, "columns"), "kernel 0 does not fit the structure"),
    "parameter out of range": (put(-1.0, "kernels", 0, "params", "gamma"), "does not have the parameters of 'rbf'"),
    "unknown parameter": (put(1, "kernels", 0, "params", "x"), "does not have the parameters of 'rbf'"),
    "another kernel": (put("linear", "kernels", 0, "kernel"), "kernel 0 does not fit the structure"),
    "factor as text": (put("1", "kernels", 0, "factor"), "must be real number"),
    "kernel out of range": (put(17, "leaves", "k1"), "list index out of range"),
    "features renamed": (put(["a"], "feature_names"), "feature_names are not 4 texts"),
    "number of features": (put("4", "n_features"), "n_features is not a whole number above 0"),
    "reference to nothing": (put({"$array": "nothing"}, "extra", "a"), "'nothing' is missing"),
    "not JSON": (lambda members: {"model.json": b"{"}, "Expecting property name"),
    "nested deeply": (lambda members: {"model.json": b"[" * 10**6}, "maximum recursion depth exceeded"),
    "header beyond the data": (
        lambda members: {"C.npy": npy(np.zeros(3)).replace(b"(3,), }" + b" " * 11, b"(300000000000,), }")},
        "'C.npy' cannot be read (its header does not fit its data)",
    ),
    "header of another kind": (
        lambda members: {"C.npy": npy(np.zeros(3)).replace(b"(3,)", b"exit")},
        "'C.npy' cannot be read (it has no header of an array)",
    ),
    "not an array": (lambda members: {"C.npy": pickle.dumps(print)}, "'C.npy' cannot be read (it has no header"),
    "unknown status": (put("**bold**", "status"), "the status is unknown"),
    "unknown method": (put(["magic"], "methods"), "the history's methods are not "),
    "method of no kind": (put([[]], "methods"), "the history's methods are not "),
    "too few methods": (put([], "methods"), "the history's methods are not "),
    "methods of another kind": (put("newton", "methods"), "the history's methods are not "),
}


def written(members, path, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return path


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused(case, good, tmp_path):
    change, reason = DAMAGED[case]
    path = written(good | change(good), tmp_path / "model.spnmkl")
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith("The model file 'model.spnmkl' is damaged: ") and reason in message
    assert message.endswith("; save the model again.")


def refusal(path):
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    return str(caught.value)


def test_unchanged_members_are_accepted(good, tmp_path):
    assert load_model(written(good, tmp_path / "model.spnmkl")).status_ == "optimal"


def test_foreign_files_are_refused(good, tmp_path):
    sentence = "'model.spnmkl' is not a model file of spnmkl; choose a file that was saved as a model."
    path = tmp_path / "model.spnmkl"
    for content in (b"", b"a,b\n1,2\n", pickle.dumps(SPNMKLClassifier())):
        path.write_bytes(content)
        assert refusal(path) == sentence
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    assert "is not a model file" in refusal(tmp_path / "arrays.npz")
    for content in (b"[]", b"{}", json.dumps(MIXED.to_dict()).encode()):
        assert refusal(written(good | {"model.json": content}, path)) == sentence


def test_other_versions_are_refused(good, tmp_path):
    path = written(good | put(3, "version")(good), tmp_path / "model.spnmkl")
    assert refusal(path) == (
        "The model file 'model.spnmkl' has version 3, but this release reads versions 1 and 2; install the release "
        "that wrote it."
    )


def test_files_cut_short_or_changed_are_refused(good, tmp_path):
    path = written(good, tmp_path / "model.spnmkl")
    content = path.read_bytes()
    sentence = "The model file 'model.spnmkl' is cut short or damaged; copy or save it again."
    for part in (content[:100], content[: len(content) // 2], content[:-30]):
        path.write_bytes(part)
        assert refusal(path) == sentence
    at = content.index(good["X_ref.npy"]) + 200
    path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    assert refusal(path) == sentence


def test_every_byte_may_be_wrong(good, tmp_path):
    path = written(good, tmp_path / "model.spnmkl")
    content = bytearray(path.read_bytes())
    for at in RNG.choice(len(content), 150):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        with contextlib.suppress(ModelFileError):
            load_model(path)


def test_compressed_files_are_refused(good, tmp_path):
    bomb = good | {"model.json": b" " * 10**7}
    assert "compressed or overlap" in refusal(written(bomb, tmp_path / "model.spnmkl", zipfile.ZIP_DEFLATED))


def test_a_list_of_many_parts_is_refused_before_it_is_read(good, tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted, "MOST_PARTS", len(good))
    assert load_model(written(good, tmp_path / "model.spnmkl"))
    more = written(good | {"more.npy": b""}, tmp_path / "model.spnmkl")
    assert f"it holds more than {len(good)} parts" in refusal(more)


def test_absent_files_are_refused(tmp_path):
    assert refusal(tmp_path / "nothing") == "The model file 'nothing' cannot be read: No such file or directory."


def test_a_large_document_is_refused_before_it_is_parsed(good, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MOST_JSON_BYTES", 2**20)
    path = written({**good, "model.json": b"[" + b"[]," * 2**19 + b"[]]"}, tmp_path / "model.spnmkl")
    with pytest.raises(ModelFileError, match=r"'model\.json' is larger than 1 MB"):
        load_model(path)


def test_a_document_of_many_small_parts_is_refused_before_it_is_parsed(good, tmp_path):
    path = written({**good, "model.json": b"[" + b"[]," * 2**22 + b"[]]"}, tmp_path / "model.spnmkl")
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="it holds more than 4,000,000 values"):
        load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * path.stat().st_size
