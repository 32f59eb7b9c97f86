"""
What carries the decision
=========================

A weight is not yet an influence, and what fits the training rows may say nothing about
others. Held-out shares say, on rows that were not trained on, how much every path, node
and view adds to telling the classes apart; pushes say it of one sample.
"""

import numpy as np
import pandas as pd

from spnmkl import Kernel, solve, templates
from spnmkl.charts import pushes_chart, ranking_chart, to_svg
from spnmkl.importance import held_out_shares
from spnmkl.inspection import heaviest_paths, sample_contributions
from spnmkl.kernels import fit_kernels

# %%
# The label is made by a and b together; c and d are noise.
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
y = np.where(X["a"] * X["b"] > 0, "same sign", "other sign")
spn = templates.pairwise_products(
    list("abcd"),
    include_single=True,
    prototype=Kernel("linear", normalize="unit_variance"),
)
shares = held_out_shares(spn, X, y, paths=spn.paths(), C=1.0)
print(f"measured on {shares.rows}")
for path, share in shares.paths.items():
    name = " ∘ ".join(spn.label(leaf) for leaf in path.leaves)
    print(f"{name:6} {share}")

# %%
# The shares of the kernels, with their standard errors. They add up to more than 100 %,
# because a path that multiplies two kernels counts for both.
ranking = pd.DataFrame(
    {
        "kind": "kernel",
        "id": spn.kernels,
        "name": [spn.label(leaf) for leaf in spn.kernels],
        "held-out share": [shares.nodes[leaf].share for leaf in spn.kernels],
        "standard error": [shares.nodes[leaf].error for leaf in spn.kernels],
    }
)
picture = to_svg(
    ranking_chart(ranking.sort_values("held-out share", ascending=False), kind="kernel")
)

# %%
# What pushed the first sample, and to which side.
kernels, fitted = fit_kernels(spn, X)
solution = solve(spn, kernels, y, C=1.0)
paths = heaviest_paths(solution, k=4)
names = [" ∘ ".join(spn.label(leaf) for leaf in path.leaves) for path in paths]
pushes = sample_contributions(solution, kernels, paths)[:, 0]
table = pd.DataFrame({"what": names, "class": solution.classes[1], "push": pushes})
picture = to_svg(pushes_chart(table, solution.classes.tolist()))
