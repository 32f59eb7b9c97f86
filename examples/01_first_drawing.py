"""
A first drawing
===============

Three groups of columns are combined by a drawing: one group alone, or the other two
together. The weights are learned, and the result is proved to be the best one.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum
from spnmkl.export import to_svg

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
X_train, X_test, y_train, y_test = train_test_split(
    X, data.target_names[data.target], random_state=0
)

# %%
# Columns 0 to 9 hold means, 10 to 19 standard errors, 20 to 29 the worst values. A sum
# offers alternatives, a product asks for all of its children at once.
mean, error, worst = (
    Kernel("rbf", features=range(k, k + 10), label=name)
    for k, name in ((0, "mean"), (10, "error"), (20, "worst"))
)
structure = SPN(Sum(Product(error, id="alone"), Product(mean, worst, id="together")))
print(structure.formula(latex=False))
picture = to_svg(structure)

# %%
# After training the size and colour of a product tell its weight; what was pruned is
# grey.
model = SPNMKLClassifier(structure, C=1.0).fit(X_train, y_train)
print(f"{model.status_}: gap {model.gap_:.1e}")
print(f"test accuracy {model.score(X_test, y_test):.3f}")
picture = to_svg(structure, beta=model.beta_)
