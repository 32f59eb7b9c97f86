"""
Several views
=============

Columns that belong together make a view. A template puts one weighted sum of kernels
over each view, and a sum over the views: views that do not help are pruned as a whole.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel, SPNMKLClassifier, templates
from spnmkl.export import to_svg

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)

# %%
# Views by the names of the columns; each gets three kernels.
views = {
    "mean": [name for name in X if name.startswith("mean")],
    "error": [name for name in X if name.endswith("error")],
    "worst": [name for name in X if name.startswith("worst")],
}
kernels = [
    Kernel("linear", label="linear"),
    Kernel("rbf", label="rbf"),
    Kernel("rbf", gamma="4*scale", label="local"),
]
groups = {
    view: [kernel.on(columns, f"{view} {kernel.node.label}") for kernel in kernels]
    for view, columns in views.items()
}
spn = templates.grouped(groups)
model = SPNMKLClassifier(spn, C=0.1).fit(X, y)
print(f"{model.status_}, pruned: {sorted(spn.label(v) for v in model.pruned_)}")
picture = to_svg(spn, beta=model.beta_)
