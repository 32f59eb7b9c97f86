"""Numbers or text: the one distinction between columns that kernels need."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_float_dtype, is_numeric_dtype, is_object_dtype

from spnmkl.errors import DataError
from spnmkl.wording import quoted

# Beyond this, squares and their sums come close to overflow.
LARGEST = 1e100


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers or true/false; anything else is text."""
    return is_numeric_dtype(values) or infer_dtype(values, skipna=True) == "boolean"


def numeric_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns of a frame that hold numbers, in their order."""
    return tuple(
        name
        for position, (name, dtype) in enumerate(frame.dtypes.items())
        if is_numeric_dtype(dtype)
        or (is_object_dtype(dtype) and infer_dtype(frame.iloc[:, position], skipna=True) == "boolean")
    )


def as_text(values: pd.Series) -> pd.Series:
    """Every value as text, whole numbers without a decimal point; missing where it is missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if is_float_dtype(values) and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")
    return values.astype(str).mask(values.isna())


def number_matrix(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Columns of numbers or true/false as float64, with nan where they are missing."""
    words = [name for name, dtype in frame.dtypes.items() if not is_numeric_dtype(dtype)]
    if words:
        frame = frame.copy(deep=False)
        for name in words:
            frame[name] = _parsed(frame[name])
    # Column by column, however the frame holds them: the same table then has the same means, to the last bit.
    X = np.asfortranarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    large = (np.abs(X) > LARGEST).any(axis=0)
    if large.any():
        name = quoted(frame.columns[large][0])
        raise DataError(f"Column {name} holds infinity or a value beyond {LARGEST:g}; correct these values.")
    return X


def _parsed(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    words = values[numbers.isna() & values.notna()]
    if len(words):
        raise DataError(
            f"Column {quoted(values.name)} held numbers in training, but here it holds {quoted(words.iloc[0])}."
        )
    return numbers
