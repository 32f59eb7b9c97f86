"""Sources that stop: they are what they wrap until asked to, and then every pass over them ends."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from oracles import Array

from spnmkl import Kernel, templates
from spnmkl.circuit import MatrixSource, blocks, compile_circuit
from spnmkl.circuit.evaluate import apply_kernel, kernel_matrix, term_quadratics, term_responses
from spnmkl.circuit.source import ComputedSource, EveryKth, KernelSource, diagonals, interruptible
from spnmkl.errors import SPNMKLError, Stopped
from spnmkl.kernels import fit_kernels, fit_tiles, tiles

N = 150
X = np.random.default_rng(0).normal(size=(N, 3))
A = np.random.default_rng(1).normal(size=(2, N)) * (np.arange(N) % 3 > 0)
SPN = templates.product_of_sums({str(f): [Kernel("rbf", gamma=g, features=[f]) for g in (0.5, 2.0)] for f in range(3)})
CIRCUIT = compile_circuit(SPN)
W = np.linspace(0.5, 1.5, CIRCUIT.n_terms)
SOURCES: dict[str, Callable[[], KernelSource]] = {
    "matrices": lambda: MatrixSource(fit_kernels(SPN, X)[0]),
    "tiles": lambda: fit_tiles(SPN, X)[0],
}
PASSES: dict[str, Callable[[KernelSource, int], Array]] = {
    "K": lambda source, threads: kernel_matrix(CIRCUIT, W, source, np.empty((N, N)), threads),
    "responses": lambda source, threads: term_responses(CIRCUIT, W, source, A, threads),
    "quadratics": lambda source, threads: term_quadratics(CIRCUIT, W, source, A, threads),
    "applied": lambda source, threads: apply_kernel(CIRCUIT, W, source, A, threads),
    "diagonals": lambda source, _: np.array(list(diagonals(source, CIRCUIT.leaves).values())),
    "sample": lambda source, _: np.array(list(EveryKth(source, 2).matrices(CIRCUIT.leaves).values())),
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_WORTH_LANES", 0)
    monkeypatch.setattr(blocks, "_BLOCK_WORK", 1)
    monkeypatch.setattr(tiles, "_TILE_BYTES", 1)


class Asked:
    """Counts; true from the k-th time on."""

    def __init__(self, k: float = np.inf) -> None:
        self.k, self.times = k, 0

    def __call__(self) -> bool:
        self.times += 1
        return self.times >= self.k


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_pass_is_the_same_until_it_is_stopped(kind: str, name: str, n_threads: int) -> None:
    source, read = SOURCES[kind](), PASSES[name]
    asked = Asked()
    np.testing.assert_array_equal(read(interruptible(source, asked), n_threads), read(source, n_threads))
    chances = 1 if (kind, name) == ("matrices", "diagonals") else 2  # these are read at once
    assert asked.times >= chances
    for k in range(1, chances + 1):
        asked = Asked(k)
        with pytest.raises(Stopped):
            read(interruptible(source, asked), n_threads)
        assert asked.times <= k + n_threads - 1  # each thread that was at work asks once more


@pytest.mark.parametrize("kind", SOURCES)
def test_it_is_computed_where_its_source_is(kind: str) -> None:
    source = SOURCES[kind]()
    wrapped = interruptible(source, lambda: False)
    assert isinstance(wrapped, ComputedSource) == isinstance(source, ComputedSource) == (kind == "tiles")
    assert (wrapped.shape, wrapped.rows_per_tile()) == (source.shape, source.rows_per_tile())


def test_a_part_of_it_stops_too() -> None:
    part = interruptible(fit_tiles(SPN, X)[0], lambda: True)
    assert isinstance(part, ComputedSource)
    with pytest.raises(Stopped):
        part.among(np.arange(5)).tiles(SPN.kernels, slice(0, 2), slice(0, None))


def test_kernels_of_one_base_are_asked_for_together() -> None:
    spn = templates.flat([Kernel("rbf", gamma=g, features=[f]) for g in (0.5, 2.0) for f in (0, 1)])
    source, asked = fit_tiles(spn, X)[0], Asked()
    assert [len(group) for group in source.together(spn.kernels)] == [2, 2]
    found = interruptible(source, asked).tiles(spn.kernels, slice(0, 5), slice(0, None))
    assert asked.times == 2
    np.testing.assert_array_equal(found, source.tiles(spn.kernels, slice(0, 5), slice(0, None)))


def test_stopping_is_no_error_of_a_user() -> None:
    assert not issubclass(Stopped, SPNMKLError)


class Wrong(MatrixSource):
    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Array]:
        return [np.asfortranarray(tile) for tile in super().tiles(leaves, rows, columns)]


def test_tiles_without_contiguous_rows_are_refused() -> None:
    with pytest.raises(TypeError, match="float64 tiles with contiguous rows"):
        kernel_matrix(CIRCUIT, W, Wrong(fit_kernels(SPN, X)[0]), np.empty((N, N)))
