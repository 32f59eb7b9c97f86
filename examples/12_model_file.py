"""
Structures and models in files
==============================

A structure is JSON that a person can read; a model is one file without pickle: numbers
and text, and nothing that runs.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, SPNMKLClassifier, templates
from spnmkl.export import to_python, to_svg

X, y = load_wine(return_X_y=True)
scaler = StandardScaler().fit(X)
spn = templates.grouped({"acids": [1, 2, 3], "colour": [9, 10, 11]})
model = SPNMKLClassifier(spn).fit(scaler.transform(X), y)

# %%
# What else a prediction needs goes along as `extra`.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "wine.spnmkl"
    model.save(file, extra={"mean": scaler.mean_, "scale": scaler.scale_})
    again = SPNMKLClassifier.load(file)
    size = file.stat().st_size
prepared = (X - again.extra_["mean"]) / again.extra_["scale"]
same = again.predict(prepared) == model.predict(scaler.transform(X))
print(f"{size:,} bytes; the same answers: {same.all()}")
print(f"{again.status_}, gap {again.gap_:.1e}")
picture = to_svg(again.spn_, beta=again.beta_)

# %%
# A drawing goes through JSON unchanged, and can be written as the code that makes it.
print(SPN.from_json(spn.to_json()) == spn)
print(to_python(spn))
