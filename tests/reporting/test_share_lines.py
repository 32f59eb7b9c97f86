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


def test_what_is_in_no_view_s_share_is_told() -> None:
    spn = templates.flat([Kernel("linear", features=[0], label="a"), Kernel("rbf", label="all")])
    nodes = dict(zip(spn.kernels, (Share(0.2, 0.05), Share(0.8, 0.05)), strict=True))
    told = "80 % are in no view's share"

    def lines(view: float) -> str:
        views = {"a": Share(view, 0.05), "b": Share(0.0, 0.0)}
        return "\n".join(share_lines(spn, HeldOutShares("40 test rows", 40, 1, 1.0, 0.1, nodes, views, {})))

    assert told in lines(0.2) and "no view's share" not in lines(1.0)
