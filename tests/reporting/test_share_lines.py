"""What the terminal says of held-out shares."""

from spnmkl import Kernel, templates
from spnmkl.inspection import HeldOutShares, Share
from spnmkl.reporting.sentences import MOST_SHARES, share_lines


def test_what_pulls_to_the_wrong_side_is_told_however_long_the_list_is() -> None:
    n = MOST_SHARES + 3
    spn = templates.flat([Kernel("linear", features=[k], label=f"v{k}") for k in range(n)])
    worth = [*[0.06] * (n - 3), 0.0, -0.01, -0.2]
    nodes = {leaf: Share(share, 0.05) for leaf, share in zip(spn.kernels, worth, strict=True)}
    lines = share_lines(spn, HeldOutShares("40 test rows", 40, 1, 1.0, 0.1, nodes, {}, {}))
    assert lines[-3:-1] == ["  and 2 kernels more", "  −20 ± 5 %  kernel " + spn.names[list(spn.kernels)[-1]]]
