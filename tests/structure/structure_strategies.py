"""Random drawings: valid ones with shared nodes and uneven branches, and ones with every kind of mistake."""

from typing import Any

from hypothesis import strategies as st

from spnmkl.structure import SPN, Kernel, Product, Sum

TEXT = st.text(min_size=1, max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5)
VALUES = st.none() | st.booleans() | NUMBERS | st.text(max_size=4)
PARAMS = st.dictionaries(TEXT, VALUES | st.lists(VALUES, max_size=3), max_size=3)


def _some(draw: st.DrawFn, pool: list[Any], most: int) -> list[Any]:
    chosen = draw(st.lists(st.integers(0, len(pool) - 1), min_size=1, max_size=most, unique=True))
    return [pool[i] for i in chosen]


@st.composite
def valid_structures(draw: st.DrawFn, max_paths: int = 200) -> SPN:
    factors: list[Any] = [Kernel("rbf", gamma=i + 1) for i in range(draw(st.integers(1, 4)))]
    products: list[Product] = []
    for _ in range(draw(st.integers(1, 7))):
        if products and draw(st.booleans()):
            factors.append(Sum(*_some(draw, products, 3)))
        p = draw(st.sampled_from([0.5, 1.0, 2.0]))
        products.append(Product(*_some(draw, factors, 3), p=p))
        if draw(st.integers(0, 3)) == 0:
            factors.append(products[-1])
    root = products[-1] if draw(st.integers(0, 4)) == 0 else Sum(*_some(draw, products, 3))
    spn = SPN(root)
    return spn if spn.n_paths <= max_paths else SPN(products[0])


@st.composite
def drawings(draw: st.DrawFn, max_nodes: int = 9) -> dict[str, Any]:
    """The dictionary form of anything that can be drawn, cycles and loose ends included."""
    ids = draw(st.lists(TEXT, max_size=max_nodes, unique=True))
    nodes = [_node(draw, id) for id in ids]
    ends = st.sampled_from(ids or [""])
    edges = draw(st.lists(st.tuples(ends, ends).map(list), max_size=15, unique_by=tuple)) if ids else []
    return {"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": edges}


def _node(draw: st.DrawFn, id: str) -> dict[str, Any]:
    node: dict[str, Any] = {"id": id, "kind": draw(st.sampled_from(["sum", "product", "kernel"]))}
    optional: dict[str, st.SearchStrategy[Any]] = {"label": TEXT, "x": NUMBERS, "y": NUMBERS}
    if node["kind"] == "product":
        optional["p"] = NUMBERS
    if node["kind"] == "kernel":
        node["kernel"] = draw(TEXT)
        optional["params"] = PARAMS
        optional["features"] = st.lists(TEXT | st.integers(0, 9), max_size=3)
        optional["normalize"] = TEXT
    return node | draw(st.fixed_dictionaries({}, optional=optional))
