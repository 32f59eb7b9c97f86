"""Solvers behind one interface: they yield iterates, `solve` follows them."""

from spnmkl.solvers.entry import SOLVERS, C_min, TrivialSolutionWarning, solve

__all__ = ["SOLVERS", "C_min", "TrivialSolutionWarning", "solve"]
