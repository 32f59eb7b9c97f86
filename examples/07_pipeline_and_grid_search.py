"""
Pipelines and grid search
=========================

`SPNMKLClassifier` is a scikit-learn classifier: it goes into pipelines and grid
searches, and the structure is a parameter like any other.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spnmkl import SPNMKLClassifier, templates
from spnmkl.export import side_by_side, to_svg

X, y = load_wine(return_X_y=True)

# %%
# The scaler is fitted within each fold, on the rows that are trained on.
groups = {"acids": [1, 2, 3], "phenols": [5, 6, 7, 8], "colour": [9, 10, 11]}
structures = {
    "a flat sum": templates.flat(groups),
    "products of pairs": templates.pairwise_products(groups),
}
pipeline = make_pipeline(StandardScaler(), SPNMKLClassifier(n_threads=1))
grid = {
    "spnmklclassifier__structure": list(structures.values()),
    "spnmklclassifier__C": [0.1, 1.0, 10.0],
}
search = GridSearchCV(
    pipeline, grid, cv=StratifiedKFold(3, shuffle=True, random_state=0)
).fit(X, y)
for params, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    name = next(
        name
        for name, spn in structures.items()
        if spn == params["spnmklclassifier__structure"]
    )
    print(f"{name:18} C = {params['spnmklclassifier__C']:5}: {score:.1%}")

# %%
# The two structures, with the weights that each learns on all rows at the best C.
C = search.best_params_["spnmklclassifier__C"]
models = {
    name: SPNMKLClassifier(spn, C=C).fit(StandardScaler().fit_transform(X), y)
    for name, spn in structures.items()
}
picture = side_by_side(
    {name: to_svg(model.spn_, beta=model.beta_) for name, model in models.items()},
    columns=1,
)
