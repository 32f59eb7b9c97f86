"""
What p does
===========

p is the exponent of the weights in the regulariser. With p = 1 whole branches are
pruned, with p = 2 none; "sparse" takes the smallest exponent that each product has, so
that single nodes inside a branch can vanish too.
"""

import numpy as np

from spnmkl import Kernel, SPNMKLClassifier, templates
from spnmkl.export import side_by_side, to_svg

# %%
# Only columns 0 and 3 matter, one in each group.
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5))
y = X[:, 0] * X[:, 3] > 0
spn = templates.product_of_sums(
    {"left": [0, 1, 2], "right": [3, 4]}, prototype=Kernel("linear")
)

pictures = {}
for p in (2.0, 1.0, "sparse"):
    model = SPNMKLClassifier(spn, C=1.0, p=p).fit(X, y)
    kept = sum(weight > 0 for weight in model.beta_.values())
    print(f"p = {p}: {model.status_}, {kept} of {len(model.beta_)} weights kept")
    pictures[f"p = {p}"] = to_svg(spn, beta=model.beta_)
picture = side_by_side(pictures, columns=1)

# %%
# A drawing can say beforehand what can be pruned.
for p in (2.0, 1.0, "sparse"):
    print(f"p = {p}: {spn.prunable(p)['p2'].reason}")
