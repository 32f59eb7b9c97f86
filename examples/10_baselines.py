"""
Beside other methods
====================

The well-known ways to combine kernels are structures too. `spnmkl.baselines` gives them
one interface; each chooses its C by cross-validation on the training rows.
"""

import numpy as np
import pandas as pd

from spnmkl import Kernel
from spnmkl.baselines import baselines, compute_kernels
from spnmkl.charts import methods_chart, to_svg
from spnmkl.kernels import cross_kernels

# %%
# Labels that only a product of the two views can tell: the sign of a left value times a
# right one.
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = np.where(X[:, 0] * X[:, 2] > 0, 1, 0)
groups = {
    view: [
        Kernel("linear", features=[column], label=f"{view} {column}")
        for column in columns
    ]
    for view, columns in {"left": [0, 1], "right": [2, 3]}.items()
}
methods = baselines(groups)
kernels, fitted = compute_kernels(methods.values(), X[:200])
cross = cross_kernels(fitted, X[200:])

rows = []
for name in (
    "average kernel",
    "best kernel",
    "SimpleMKL",
    "composite",
    "product of sums",
    "sums and product",
):
    trained = methods[name].fit(kernels, y[:200], points=4, folds=3)
    right = trained.predict(cross) == y[200:]
    rows.append(
        {
            "method": name,
            "mean": right.mean(),
            "error": right.std() / np.sqrt(len(right)),
            "verdict": "",
        }
    )
    print(f"{name:16} {right.mean():.0%} right on new rows, C = {trained.C:.3g}")
picture = to_svg(methods_chart(pd.DataFrame(rows), "sums and product"))
