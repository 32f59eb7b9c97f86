"""Labels that come from a known structure: training finds the branch that made them."""

import sys
from pathlib import Path

import pytest

from spnmkl.data import SAMPLES, Choices, Dataset, SplitSettings
from spnmkl.inspection import decision_shares
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

sys.path.insert(0, str(Path(__file__).parents[2] / "sample_data"))
import make

SEEDS = range(10)


def test_the_drawing_of_the_sample_is_the_generated_one() -> None:
    assert SAMPLES["known"].drawing == make.question()


def test_the_true_branch_is_the_heaviest() -> None:
    spn = make.question()
    true, noise, *added = spn.children(spn.root)
    found = 0
    for seed in SEEDS:
        dataset = Dataset.guess("known", make.known(seed))
        prepared = prepare(spn, dataset, Choices(), SplitSettings(seed=seed))
        solution = train(prepared, Settings()).solution
        assert solution.status == "optimal"
        shares = decision_shares(solution, prepared.source).products
        heaviest = max((true, noise, *added), key=solution.beta.__getitem__)
        found += heaviest == true and shares[true] == max(shares[v] for v in (true, noise, *added))
    assert found >= 9


@pytest.mark.parametrize("seed", [3, 8])
def test_labels_of_noise_do_not_favour_it(seed: int) -> None:
    """The same drawing on shuffled labels: what was found above comes from the labels, not from the structure."""
    spn = make.question()
    frame = make.known(seed)
    frame["label"] = frame["label"].sample(frac=1, random_state=seed).to_numpy()
    prepared = prepare(spn, Dataset.guess("shuffled", frame), Choices(), SplitSettings(seed=seed))
    run = train(prepared, Settings())
    shares = decision_shares(run.solution, prepared.source).products
    assert shares[spn.children(spn.root)[0]] < 0.65
    assert run.test_scores.accuracy < 0.65
