"""Tables as CSV that a spreadsheet program opens as data: no text of a cell is taken for a formula."""

from __future__ import annotations

import re

import pandas as pd
from pandas.api.types import is_numeric_dtype

# A sign alone, such as the name of a class, is none. Behind a separator of other countries, text goes on in a new cell;
# wide signs are taken for the narrow ones in some.
_FORMULA = re.compile(r"(?:^|(?<=[;\t]))(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20].)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def guarded_csv(table: pd.DataFrame, exact: bool = False) -> str:
    """The table as comma-separated text; an apostrophe stands before text that a spreadsheet would compute.

    Parameters
    ----------
    table : DataFrame
        Numbers stay as they are, text that is a number too.
    exact : bool
        Whether all text stays as it is, for programs.
    """
    if exact:
        return table.to_csv(index=False)
    columns = {k: table.iloc[:, k] for k in range(table.shape[1])}
    guarded = {k: values if is_numeric_dtype(values) else values.map(_guarded) for k, values in columns.items()}
    return pd.DataFrame(guarded, index=table.index).to_csv(index=False, header=[_guarded(name) for name in table])


def _guarded(value: object) -> object:
    return _FORMULA.sub("'", value) if isinstance(value, str) and _NUMBER.fullmatch(value) is None else value
