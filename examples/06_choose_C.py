"""
Choosing C by cross-validation
==============================

Every C is scored on rows that were held out, in several folds. What the folds agree on
is worth more than the best number: the second picture shows each weight in every fold.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel, cross_validate_C, templates
from spnmkl.charts import cv_chart, stability_chart, to_svg
from spnmkl.kernels import fit_kernels

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
views = {"mean": range(10), "error": range(10, 20), "worst": range(20, 30)}
spn = templates.flat(views, prototype=[Kernel("rbf"), Kernel("linear")])
kernels, fitted = fit_kernels(spn, X)

result = cross_validate_C(
    spn, kernels, data.target, [0.03, 0.1, 0.3, 1.0, 3.0, 10.0], folds=5
)
for C, mean, error in zip(result.C, result.mean, result.standard_error, strict=True):
    print(f"C = {C:6.2f}: {mean:.1%} ± {error:.1%}")
print(f"best: C = {result.best_C}")
picture = to_svg(cv_chart(result))

# %%
# The weights at the best C, one dot for each fold.
picture = to_svg(stability_chart(result, {v: spn.label(v) for v in spn.products}))
