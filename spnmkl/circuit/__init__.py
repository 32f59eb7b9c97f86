"""The drawing compiled: compile, evaluate entry-wise, heaviest paths."""

from spnmkl.circuit.entries import address
from spnmkl.circuit.program import Circuit, compile_circuit
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.compilation import announce_compilation

announce_compilation(address)  # all compiled loops are here or in packages that import this one

__all__ = ["Circuit", "KernelSource", "MatrixSource", "compile_circuit"]
