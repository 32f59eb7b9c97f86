"""
What if a weight were otherwise
===============================

`spnmkl.inspection.refit` trains the SVM at weights that you set, and measures the
result against the bound that was proved: so the price of a simpler combination is
known.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from spnmkl import solve, templates
from spnmkl.export import side_by_side, to_svg
from spnmkl.inspection import refit
from spnmkl.kernels import fit_kernels

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
spn = templates.flat(
    {"mean": range(10), "error": range(10, 20), "worst": range(20, 30)}
)
kernels, fitted = fit_kernels(spn, X)
solution = solve(spn, kernels, data.target, C=1.0)

# %%
# Take each kernel out in turn.
pictures = {
    f"learned: objective {solution.objective:.2f}": to_svg(spn, beta=solution.beta)
}
for v in spn.products:
    without = refit(solution, kernels, {v: 0.0})
    lower = f"the optimum is at most {without.gap:.1%} lower"
    print(f"without {spn.label(v):6} {without.objective:.2f}, {lower}")
    pictures[f"without {spn.label(v)}: {without.objective:.2f}"] = to_svg(
        spn, beta=without.beta
    )
picture = side_by_side(pictures, columns=2)
