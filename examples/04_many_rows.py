"""
More rows than matrices fit
===========================

A kernel matrix takes 8 n² bytes, and a drawing may have many. `max_memory` bounds them:
beyond it kernels are computed tile by tile whenever they are needed. The result is the
same but for rounding.
"""

import numpy as np
from sklearn.datasets import make_classification

from spnmkl import Kernel, SPNMKLClassifier, templates
from spnmkl.charts import compare_convergence_chart, to_svg

X, y = make_classification(600, 12, n_informative=6, random_state=0)
spn = templates.flat(
    [
        Kernel("rbf", gamma=gamma, label=f"rbf {gamma}")
        for gamma in (0.01, 0.03, 0.1, 0.3, 1.0)
    ]
)

# %%
# `max_memory` is in gigabytes; 0 asks for tiles at any size.
matrices = SPNMKLClassifier(spn).fit(X, y)
tiles = SPNMKLClassifier(spn, max_memory=0).fit(X, y)
difference = max(abs(matrices.beta_[v] - tiles.beta_[v]) for v in spn.products)
print(
    f"{matrices.status_}, {tiles.status_}; weights differ by at most {difference:.1e}"
)
print(f"equal answers: {np.mean(matrices.predict(X) == tiles.predict(X)):.0%}")

# %%
# The price is time: both take the same steps, and tiles compute every kernel again for
# each.
picture = to_svg(
    compare_convergence_chart(
        {"matrices": matrices.history_, "tiles": tiles.history_}, tol=1e-3
    )
)
