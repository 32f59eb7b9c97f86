"""Structures to start from: what `spnmkl.structure.templates` has, by a shorter name."""

from spnmkl.structure.templates import *  # noqa: F403
from spnmkl.structure.templates import __all__ as __all__
