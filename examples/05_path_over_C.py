"""
Weights over C
==============

C weighs the loss against the regulariser. Below `C_min` every weight is zero; above it
kernels come in one after the other. The path solves a grid of C, each from the solution
before it.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from spnmkl import C_min, Kernel, regularization_path, templates
from spnmkl.charts import path_chart, to_svg
from spnmkl.kernels import fit_kernels

data = load_wine()
X = StandardScaler().fit_transform(data.data)
spn = templates.flat(data.feature_names, prototype=Kernel("rbf"))
kernels, fitted = fit_kernels(spn, X, data.feature_names)

path = regularization_path(spn, kernels, data.target)
smallest = C_min(spn, kernels, data.target)
print(f"C_min is {smallest:.4f}; kernels in use over C:")
for C, solution in zip(path.C, path.solutions, strict=True):
    kept = sum(weight > 0 for weight in solution.beta.values())
    print(f"  C = {C:8.3f}: {kept} of {len(spn.products)}")
picture = to_svg(
    path_chart(path, {v: spn.label(v) for v in spn.products}, C_min=smallest)
)
