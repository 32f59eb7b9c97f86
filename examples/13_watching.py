"""
Watching and ending a training
==============================

After every iteration a callback gets a record: objective, lower bound, gap and weights.
It can end the training; `max_time` ends it by itself. What is kept is the best so far,
and how far the optimum can be.
"""

import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from spnmkl import Kernel, SPNMKLClassifier, templates
from spnmkl.charts import convergence_chart, to_svg, weights_chart

X, y = load_digits(return_X_y=True)
X, y = X[:400] / 16, y[:400] % 2
spn = templates.flat(
    [
        Kernel("rbf", gamma=gamma, label=f"rbf {gamma}")
        for gamma in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    ]
)


def watch(record):
    reached = f"objective {record.objective:.3f}, gap {record.gap:.1e}"
    print(f"iteration {record.iteration}: {reached}")


model = SPNMKLClassifier(spn, C=10.0, tol=1e-6, callback=watch).fit(X, y)
picture = to_svg(convergence_chart(model.history_, tol=model.tol))

# %%
# The weights on the way.
picture = to_svg(weights_chart(model.history_, {v: spn.label(v) for v in spn.products}))

# %%
# A callback that answers False ends it. The gap tells what is still possible.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    early = SPNMKLClassifier(
        spn, C=10.0, tol=1e-6, callback=lambda record: record.iteration < 2
    ).fit(X, y)
print(f"{early.status_}: the optimum is at most {early.gap_:.2%} lower")
