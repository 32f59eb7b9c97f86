"""
What carries the decision
=========================

A weight is not yet an influence: a path counts by how much of the decision function it
makes. Shares say that of every path, node and view; pushes say it of one sample.
"""

import numpy as np
import pandas as pd

from spnmkl import Kernel, solve, templates
from spnmkl.charts import pushes_chart, ranking_chart, to_svg
from spnmkl.inspection import (
    decision_shares,
    heaviest_paths,
    path_shares,
    sample_contributions,
)
from spnmkl.kernels import fit_kernels

# %%
# The label is made by a and b together; c and d are noise.
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")
spn = templates.pairwise_products(
    list("abcd"),
    include_single=True,
    prototype=Kernel("linear", normalize="unit_variance"),
)
kernels, fitted = fit_kernels(spn, X, list("abcd"))
solution = solve(spn, kernels, y, C=1.0)
paths = heaviest_paths(solution, k=4)
names = [" ∘ ".join(spn.label(leaf) for leaf in path.leaves) for path in paths]
for name, share in zip(names, path_shares(solution, kernels, paths), strict=True):
    print(f"{name:6} carries {share:.0%} of the decision")

# %%
# The shares of the kernels.
shares = decision_shares(solution, kernels)
weights = {
    leaf: sum(
        path.share for path in heaviest_paths(solution, 10) if leaf in path.leaves
    )
    for leaf in spn.kernels
}
ranking = pd.DataFrame(
    {
        "kind": "kernel",
        "id": list(shares.kernels),
        "name": [spn.label(v) for v in shares.kernels],
    }
)
ranking["share of the decision"] = list(shares.kernels.values())
ranking["part of Σg"] = [weights[leaf] for leaf in shares.kernels]
picture = to_svg(
    ranking_chart(
        ranking.sort_values("share of the decision", ascending=False), kind="kernel"
    )
)

# %%
# What pushed the first sample, and to which side.
pushes = sample_contributions(solution, kernels, paths)[:, 0]
table = pd.DataFrame({"what": names, "class": solution.classes[1], "push": pushes})
picture = to_svg(pushes_chart(table, solution.classes.tolist()))
