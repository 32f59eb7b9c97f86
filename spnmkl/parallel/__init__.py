"""Many trainings side by side: in threads of this process, or wherever joblib's configuration sends them."""

from spnmkl.parallel.place import Place
from spnmkl.parallel.running import goes_elsewhere, in_order, side_by_side

__all__ = ["Place", "goes_elsewhere", "in_order", "side_by_side"]
