"""The replay of a training: what is sent to the browser, and that it is small."""

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from small_runs import trained

from spnmkl.solution import Record
from spnmkl.structure import templates
from spnmkl.training.run import Run
from spnmkl.ui.parts.canvas import trained_looks
from spnmkl.ui.parts.replay import MOST_FRAMES, columns, replay_data

OPEN: frozenset[str] = frozenset()
OF_THE_RESULT = {"title", "d", "value"}  # in every frame


@cache
def run() -> Run:
    return trained().run


def applied(base: Any, data: dict[str, Any], at: int) -> Any:
    """As replay.js does it."""
    looks = deepcopy(base)
    for path, values in data["columns"]:
        *way, last = path
        part = looks
        for key in way:
            part = part[key]
        if values[at] is None:
            part.pop(last, None)
        else:
            part[last] = values[at]
    return looks


@pytest.mark.parametrize("at", [0, 1, -1])
def test_every_frame_looks_as_the_drawing_with_its_weights(at: int) -> None:
    data, solution = replay_data(run(), "light", run().spn, OPEN), run().solution
    assert len(data["words"]) == len(solution.history) + 1
    shares = run().held_out.nodes
    result = trained_looks(run().spn, OPEN, solution.beta, "light", shares=shares)
    found = applied(result, data, at)
    expected = result if at == -1 else trained_looks(run().spn, OPEN, solution.history[at].beta, "light")
    for part in ("nodes", "groups", "edges"):
        for id, look in expected[part].items():
            for key in look.keys() - OF_THE_RESULT:
                assert found[part][id][key] == rounded(look[key]), (id, key)


def test_a_run_that_gets_scores_is_played_on() -> None:
    with_scores = replace(run())  # another run of the same solution
    names = [replay_data(of, "light", of.spn, OPEN)["name"] for of in (run(), with_scores)]
    assert with_scores is not run() and names[0] == names[1]


def rounded(value: Any) -> Any:
    """Numbers as they are sent, to a tenth of a pixel, wherever they stand."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return pytest.approx(value, abs=0.11) if isinstance(value, float) else value


def test_words_tell_iteration_objective_and_gap() -> None:
    words = replay_data(run(), "light", run().spn, OPEN)["words"]
    assert words[0].startswith(f"iteration 1 of {len(run().solution.history)} · objective ") and "gap" in words[0]
    assert words[-1].startswith("result of ")


def test_64_weights_over_100_iterations_stay_small() -> None:
    spn = templates.flat([f"c{k}" for k in range(64)])
    many = tuple(
        Record(k, 10.0 / k, 0.0, 0.5, {v: (i + 1.0) / (i + k) for i, v in enumerate(spn.products)}, (), 1, k, 0.1 * k)
        for k in range(1, 101)
    )
    solution = replace(run().solution, spn=spn, history=many, beta=many[-1].beta, pruned={})
    data = replay_data(replace(run(), solution=solution, spn=spn), "light", spn, OPEN)
    assert len(data["words"]) == MOST_FRAMES
    assert len(json.dumps(data, ensure_ascii=False)) < 400_000


def test_only_what_changes_is_sent() -> None:
    frames = [{"a": {"x": 1, "y": k, "z": [0, k]}, "b": "same"} for k in range(3)]
    frames[2]["a"] = {"x": 1, "y": 2}
    assert columns(frames) == [(["a", "y"], [0, 1, 2]), (["a", "z"], [[0, 0], [0, 1], None])]
