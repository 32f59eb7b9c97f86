"""The preparation of columns as a transformer of scikit-learn, for pipelines of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spnmkl.data.choices import Absent, Categorical, Choices, Missing, Numeric
from spnmkl.data.preparation import Preparation
from spnmkl.data.suggesting import Suggestion, suggest
from spnmkl.errors import DataError

__all__ = ["Preparer", "Suggestion", "suggest"]


class Preparer(TransformerMixin, BaseEstimator):
    """What the app and the command line do to columns before kernels see them, learned from the rows given to `fit`.

    In a pipeline before `SPNMKLClassifier`, every fold of a cross-validation learns it from its own training rows.
    Rows cannot be left out by a transformer; `Preparation` tells which ones would be.

    Parameters
    ----------
    numeric : str, default="auto"
        What becomes of numbers, as in `Choices`: "standardize", "log1p", "log-ratio", "tf-idf", "ranks",
        "normal ranks", "as is", or "auto" for what `suggest` says of each view.
    views : dict from str to list of str, default=None
        Columns that belong together; None for one view of all.
    by_view : dict from str to str, default=None
        What becomes of the numbers of single views, in the place of `numeric`.
    missing : {"refuse", "mean", "median", "drop columns"}, default="refuse"
        What becomes of missing values.
    categorical : {"codes", "one-hot", "drop"}, default="codes"
        What becomes of text.
    absent : {"as missing", "mean"}, default="as missing"
        Rows that lack a whole view: as `missing` says, or the average of the training rows stands for it.
    adjust : list of str, default=None
        Columns that are taken away from the others, and not returned.

    Attributes
    ----------
    preparation_ : Preparation
        What was learned; `to_dict` makes plain data of it.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.data import Preparer
    >>> frame = pd.DataFrame({"reads": [0, 3, 12, 950], "hits": [80, 0, 7, 2], "age": [30, 41, 55, 72]})
    >>> preparer = Preparer(views={"rna": ["reads", "hits"], "person": ["age"]}).fit(frame)
    >>> preparer.preparation_.steps
    {'rna': 'log1p', 'person': 'standardize'}
    >>> preparer.transform(frame).round(1)["age"].tolist()
    [-1.2, -0.5, 0.3, 1.4]
    """

    def __init__(
        self,
        numeric: Numeric = "auto",
        *,
        views: Mapping[str, Sequence[str]] | None = None,
        by_view: Mapping[str, Numeric] | None = None,
        missing: Missing = "refuse",
        categorical: Categorical = "codes",
        absent: Absent = "as missing",
        adjust: Sequence[str] | None = None,
    ) -> None:
        self.numeric = numeric
        self.views = views
        self.by_view = by_view
        self.missing = missing
        self.categorical = categorical
        self.absent = absent
        self.adjust = adjust

    def fit(self, X: pd.DataFrame, y: object = None) -> Preparer:
        """Learn from rows.

        Parameters
        ----------
        X : DataFrame
            The training rows.
        y : object, default=None
            Not looked at; pipelines pass it.

        Returns
        -------
        Preparer
            Itself.

        Raises
        ------
        DataError
            The columns are not as the choices ask, or something is missing that no choice accounts for.
        """
        frame, steps = _frame(X), tuple((self.by_view or {}).items())
        choices = Choices(self.numeric, self.missing, self.categorical, steps, self.absent)
        if choices.leaves_rows_out:
            raise DataError("A transformer cannot leave out rows; leave them out before, or fill what they lack.")
        self.preparation_ = Preparation.fit(frame, choices, views=self.views, adjust=tuple(self.adjust or ()))
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """What kernels see of rows.

        Parameters
        ----------
        X : DataFrame
            Rows with the columns of training, found by name.

        Returns
        -------
        DataFrame
            Of float64, with a row for each row.

        Raises
        ------
        DataError
            A column is lacking, or holds what training cannot account for.
        """
        check_is_fitted(self)
        return self.preparation_.transform(_frame(X))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The columns that `transform` returns.

        Parameters
        ----------
        input_features : object, default=None
            Not looked at: columns go by the names of training.

        Returns
        -------
        ndarray of str
            Their names.
        """
        check_is_fitted(self)
        return np.array(self.preparation_.outputs, dtype=object)


def _frame(X: object) -> pd.DataFrame:
    if not isinstance(X, pd.DataFrame):
        raise DataError(f"Columns are prepared by their names; give a data frame, not {type(X).__name__}.")
    return X
