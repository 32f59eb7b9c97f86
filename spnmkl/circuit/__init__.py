"""The drawing compiled: compile, evaluate entry-wise, heaviest paths."""

from spnmkl.circuit.program import Circuit, compile_circuit
from spnmkl.circuit.source import KernelSource, MatrixSource

__all__ = ["Circuit", "KernelSource", "MatrixSource", "compile_circuit"]
