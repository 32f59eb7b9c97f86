"""Numbers or text: the one distinction between columns that kernels need."""

from __future__ import annotations

import pandas as pd
from pandas.api.types import infer_dtype, is_float_dtype, is_numeric_dtype, is_object_dtype


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
