"""How many paths may be asked for."""

import numpy as np
import pytest

from spnmkl.errors import ParameterError
from spnmkl.structure.templates import figure1


@pytest.mark.parametrize("limit", [-1, 1.5, "a", np.nan])
def test_limits_that_are_none(limit: object) -> None:
    for asked in (figure1().paths, figure1().expanded):
        with pytest.raises(ParameterError) as refused:
            asked(limit)  # type: ignore[arg-type]
        assert str(refused.value) == f"limit must be a whole number of at least 0, but it is {limit!r}."


def test_limits() -> None:
    assert [len(list(figure1().paths(limit))) for limit in (0, np.int64(3), 100, None)] == [0, 3, 8, 8]
    assert len(figure1().expanded(np.int64(8)).products) == 8  # type: ignore[arg-type]
