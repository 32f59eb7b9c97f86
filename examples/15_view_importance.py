"""
What each view is worth
=======================

The first table of a paper with several sources: each view alone, all without it, and
all together, on rows that were not trained on. Then the columns inside a view.
"""

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel, templates
from spnmkl.charts import to_svg
from spnmkl.importance import column_importance, view_importance

# %%
# Blood makes the labels, the scan repeats some of it, and the clinic knows nothing.
rng = np.random.default_rng(0)
cause = rng.normal(size=300)
columns = {
    "blood": ["iron", "zinc", "lead"],
    "scan": ["area", "edge"],
    "clinic": ["age", "pulse"],
}
names = [name for view in columns.values() for name in view]
X = pd.DataFrame(rng.normal(size=(300, 7)), columns=names)
X["iron"] += 2 * cause
X["area"] += cause
y = np.where(cause + 0.5 * X["zinc"] + 0.3 * rng.normal(size=300) > 0, "ill", "well")

# %%
# Three widths of each view, added up. The scaler is fitted anew in every fold, and C is
# chosen there.
widths = ["0.25*scale", "scale", "4*scale"]
spn = templates.flat(
    [
        Kernel("rbf", gamma=width, features=members, label=f"{view} {width}")
        for view, members in columns.items()
        for width in widths
    ]
)
found = view_importance(spn, X, y, columns, repeats=2, transformer=StandardScaler())
print(found.table.round(2).to_string())

# %%
# In words: the scan tells something alone, but it is not shown that blood needs it.
print("\n".join(found.sentences))

# %%
# The figure, for a paper; ``grey=True`` is for print.
picture = to_svg(found.figure())

# %%
# Which columns of the blood does the drawing use? Columns that are alike are permuted
# together, on the rows held out.
inside = column_importance(
    spn, X, y, columns["blood"], transformer=StandardScaler(), C=1.0
)
print("\n".join(inside.sentences))
picture = to_svg(inside.figure())
