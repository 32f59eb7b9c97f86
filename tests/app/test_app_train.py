"""The Train page without a browser: what it asks for, what it starts, how it says what came out."""

import re
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from app_pages import bring, fine, labelled, opened, spoken, texts, train, with_a_product, work
from small_runs import without_scores
from streamlit.testing.v1 import AppTest

from spnmkl import SPNMKLClassifier
from spnmkl.data import Dataset, Preparation, Split, load_sample, split_rows
from spnmkl.reporting.endings import methods, pruned_means, pruning, score_text
from spnmkl.selection import CrossValidation
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.structure.templates import RBF
from spnmkl.study.contest import Contest, Entry, Plan
from spnmkl.study.entrants import OWN
from spnmkl.training.settings import Settings
from spnmkl.ui.pages import train as train_page
from spnmkl.ui.parts import following
from spnmkl.ui.parts.choosing import LEFT_NOTHING, STOPPED_CHOOSING
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state import works
from spnmkl.ui.state.activity import Kind
from spnmkl.ui.state.drawing import placed
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.task import Finding, found_for
from spnmkl.ui.state.works import SmallestC
from spnmkl.ui.state.workspace import Workspace


@pytest.fixture
def at() -> AppTest:
    at = opened("train")
    finish(at)
    return at


def validated(at: AppTest) -> CrossValidation | None:
    return found_for(work(at).trainer.cross_validation, work(at).task, work(at).trainer.settings)


def finish(at: AppTest) -> AppTest:
    """Wait for what runs in the background, then draw the page."""
    for _ in range(5):
        activity = work(at).trainer.activity
        if activity is None:
            break
        assert activity.job.join(60)
        at.run()
    return at


def press(at: AppTest, label: str) -> AppTest:
    return finish(labelled(at.button, label).click().run())


def tab(at: AppTest, name: str) -> AppTest:
    at.session_state["watched"] = name
    return at.run()


def test_the_page_waits_for_one_click(at: AppTest) -> None:
    fine(at)
    assert "Press **Train**" in texts(at)
    assert "Useful above C_min" in texts(at)
    assert "of memory" in texts(at)
    assert not work(at).trainer.book.runs


def test_no_C_is_promised_where_none_is_enough(at: AppTest) -> None:
    trainer = work(at).trainer
    trainer.smallest_C = Finding(SmallestC(float("inf")), work(at).task, trainer.settings)
    at.run()
    fine(at)
    assert "No C is useful: the kernels tell no classes apart" in texts(at)
    assert "C_min" not in texts(at)


def draw_a_product(at: AppTest) -> None:
    finish(bring(at, work(at).dataset, with_a_product(work(at).dataset)))


def test_one_click_ends_certified_and_prunes_a_branch(at: AppTest) -> None:
    draw_a_product(at)
    fine(press(at, "Train"))
    (run,) = work(at).trainer.book.runs
    assert run.solution.status == "optimal"
    assert run.solution.pruned
    assert "Certified optimal to" in at.success[0].value
    assert "pruned" in texts(at)
    assert f"Method: {methods(run.solution)}." in texts(at)
    assert "Press **Train**" not in texts(at)


def test_a_run_that_was_not_scored_says_so_and_can_be_scored(at: AppTest) -> None:
    press(at, "Train")
    trainer = work(at).trainer
    (scored,) = trainer.book.runs
    trainer.book.runs = [without_scores(scored)]
    fine(at.run())
    assert plain("not scored: stopped") in at.info[0].value and "right of" not in texts(at)
    fine(press(at, "Score these weights"))
    assert f"right of {scored.n_test} test rows" in texts(at)
    np.testing.assert_allclose(trainer.book.runs[0].test_scores.decision, scored.test_scores.decision, atol=1e-9)


def test_a_limit_of_time_that_leaves_none_says_that_nothing_was_tried(at: AppTest) -> None:
    trainer = work(at).trainer
    trainer.settings = replace(trainer.settings, max_time=1e-9, tol=1e-6)
    press(at, "Train")
    assert trainer.book.runs[-1].solution.status == "time_limit"
    assert "no weight was tried, and every answer is the same" in texts(at)


@pytest.mark.parametrize("button", ["Choose C", "β against C"])
def test_a_search_without_time_says_so(at: AppTest, button: str) -> None:
    trainer = work(at).trainer
    trainer.settings = replace(trainer.settings, max_time=1e-9, tol=1e-6)
    press(at, button)
    said = "No value of C was done within 1e-09 s; allow more time under 'All settings'."
    assert at.error[0].value == plain(said)


def test_a_training_that_ends_while_the_page_is_drawn_is_shown(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    controls = train_page.controls

    def slow(work: Workspace, parts: Split) -> None:
        controls(work, parts)
        if work.trainer.activity is not None:
            assert work.trainer.activity.job.join(60)

    monkeypatch.setattr(train_page, "controls", slow)
    labelled(at.button, "Train").click().run()
    assert "**Run 1.** Certified optimal" in texts(fine(at))


def test_the_numbers_are_the_library_s(at: AppTest) -> None:
    draw_a_product(at)
    labelled(at.select_slider, "C: how much an error costs").set_value(3.2).run()
    press(at, "Train")
    (run,) = work(at).trainer.book.runs
    dataset, drawn = load_sample("breast_cancer"), work(at).drawing.spn
    rows = split_rows(dataset, 0.25, 0)
    features = dataset.frame[list(dataset.features)]
    preparation = Preparation.fit(features, rows=rows.train)
    X, y = preparation.transform(features), dataset.y
    model = SPNMKLClassifier(drawn, C=3.2).fit(X.iloc[rows.train], y[rows.train])
    assert run.settings.C == 3.2
    assert run.solution.beta == pytest.approx(model.beta_, rel=1e-9)
    assert run.solution.gap == pytest.approx(model.gap_, rel=1e-6)
    accuracy = float(np.mean(model.predict(X.iloc[rows.test]) == y[rows.test]))
    assert f"**{100 * accuracy:.1f} %** right of {len(rows.test)} test rows" in texts(at)


def test_a_trivial_training_says_what_to_do(at: AppTest) -> None:
    draw_a_product(at)
    labelled(at.select_slider, "C: how much an error costs").set_value(0.01).run()
    press(at, "Train")
    assert "every weight is zero" in at.warning[0].value
    assert "Choose a larger C" in at.warning[0].value


def test_choosing_C_and_taking_it(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear")))))
    finish(at)
    fine(press(at, "Choose C"))
    found = validated(at)
    assert found is not None
    fine(tab(at, "Choice of C"))
    assert f"5 folds. Best: C = {found.best_C:.3g}" in texts(at)
    labelled(at.button, f"Take the best C, {found.best_C:.3g}").click().run()
    assert found.best_C == work(at).trainer.settings.C
    press(at, "Train")
    assert work(at).trainer.book.runs[-1].cross_validation is found
    labelled(at.button, "β against C").click().run()
    finish(at)
    fine(tab(at, "β against C"))
    assert work(at).trainer.book.runs[-1].path is work(at).trainer.path.value  # type: ignore[union-attr]


def test_another_drawing_forgets_the_choice(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Product(Kernel("rbf"))))
    finish(at)
    press(at, "Choose C")
    bring(at, load_sample("wine"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear")))))
    finish(at)
    fine(tab(at, "Choice of C"))
    assert "Best: C" not in texts(at)


@pytest.mark.parametrize("name", ["Drawing", "Convergence", "Weights", "Choice of C", "β against C"])
def test_every_part_before_and_after_a_training(at: AppTest, name: str) -> None:
    fine(tab(at, name))
    fine(press(at, "Train"))


def test_all_settings(at: AppTest) -> None:
    bring(at, load_sample("wine"), templates.figure1())
    finish(at)
    labelled(at.number_input, "λ").set_value(0.5).run()
    solver = labelled(at.selectbox, "Solver")
    assert not any("evidence" in option for option in solver.options)  # these are kinds of weights, not a solver
    solver.set_value("paper").run()
    labelled(at.selectbox, "Classes").set_value("balanced").run()
    labelled(at.select_slider, "Gap to prove").set_value(1e-2).run()
    labelled(at.checkbox, "Limit the iterations").set_value(True).run()
    labelled(at.number_input, "At most").set_value(7).run()
    labelled(at.checkbox, "Limit the time").set_value(True).run()
    labelled(at.number_input, "Seconds").set_value(300.0).run()
    labelled(at.number_input, "C, exactly").set_value(2.5).run()
    fine(finish(at))
    settings = work(at).trainer.settings
    assert (settings.C, settings.lam, settings.solver, settings.tol) == (2.5, 0.5, "paper", 1e-2)
    assert (settings.max_iter, settings.max_time, settings.class_weight) == (7, 300.0, "balanced")
    press(at, "Train")
    assert len(work(at).trainer.book.runs[-1].solution.history) <= 7


def test_exponents_for_all_by_layer_and_sparse(at: AppTest) -> None:
    bring(at, load_sample("wine"), templates.figure1())
    finish(at)
    way = "p, the exponents of β"
    labelled(at.selectbox, way).set_value("one").run()
    labelled(at.number_input, "p").set_value(2.0).run()
    assert work(at).trainer.settings.p == 2.0
    labelled(at.selectbox, way).set_value("layer").run()
    labelled(at.number_input, "p of layer 1").set_value(1.5).run()
    powers = work(at).trainer.settings.p
    assert powers == {v: 1.5 if v in ("p8", "p9") else 1.0 for v in templates.figure1().products}
    labelled(at.selectbox, way).set_value("sparse").run()
    assert work(at).trainer.settings.p == "sparse"
    labelled(at.selectbox, way).set_value("drawn").run()
    assert work(at).trainer.settings.p is None
    fine(finish(at))


def test_exponents_of_products_that_are_gone_are_forgotten(at: AppTest) -> None:
    bring(at, load_sample("wine"), templates.figure1())
    finish(at)
    labelled(at.selectbox, "p, the exponents of β").set_value("product").run()
    assert work(at).trainer.settings.p == dict.fromkeys(templates.figure1().products, 1.0)
    bring(at, load_sample("wine"), SPN(Product(Kernel("rbf"))))
    fine(press(finish(at), "Train"))


def test_a_drawing_that_cannot_be_trained_leads_to_design(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Kernel("rbf")))
    assert not at.exception
    assert "cannot be trained yet" in at.warning[0].value
    assert not [button for button in at.button if button.label == "Train"]


def test_data_without_a_label_lead_to_data(at: AppTest) -> None:
    bring(at, Dataset("unlabelled", load_sample("wine").frame), SPN(Product(Kernel("rbf"))))
    assert not at.exception
    assert "label" in at.warning[0].value


def test_what_does_not_fit_into_memory_is_refused(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnmkl.ui.pages.train.available_memory", lambda: 1_000_000)
    monkeypatch.setattr("spnmkl.ui.pages.train.kept_bytes", lambda: 0)
    at.run()
    assert labelled(at.button, "Train").disabled
    assert "would fit" in at.error[0].value


def test_missing_values_lead_to_the_choice(at: AppTest) -> None:
    finish(bring(at, load_sample("clinic"), SPN(Product(Kernel("rbf", features=["body__bmi"])))))
    assert "Some values are missing" in at.warning[0].value
    work(at).choices = replace(work(at).choices, missing="mean")
    fine(finish(at.run()))
    fine(press(at, "Train"))


def test_an_error_goes_with_its_cause(at: AppTest) -> None:
    finish(bring(at, load_sample("wine"), SPN(Product(Kernel("chi2")))))
    assert "needs values of 0 or more" in at.error[0].value
    assert not at.exception
    work(at).choices = replace(work(at).choices, numeric="as is")
    fine(finish(at.run()))
    fine(press(at, "Train"))


def test_another_drawing_or_other_settings_are_told_from_the_run_s(at: AppTest) -> None:
    press(at, "Train")
    assert "have changed since" not in texts(at)
    labelled(at.select_slider, "C: how much an error costs").set_value(10.0).run()
    assert "The settings have changed since" in texts(finish(at))
    finish(bring(at, load_sample("wine"), SPN(Product(Kernel("rbf")))))
    assert "Press **Train**" in texts(at)
    assert not at.success


def test_other_data_bring_their_own_drawing(at: AppTest) -> None:
    finish(bring(at, load_sample("wine")))
    fine(at)
    assert work(at).trainer.settings.C == 1.0
    work(at).drawing.push(SPN(Product(Kernel("rbf", features=["alcohol"]))))
    finish(bring(at, load_sample("omics")))
    assert "made for other data" in texts(at), "a drawing of one's own is not thrown away"
    fine(finish(labelled(at.button, "Take a drawing for these data").click().run()))
    fine(press(at, "Train"))


def test_a_stopped_search_says_how_far_it_came(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear")))))
    finish(at)
    trainer = work(at).trainer
    activity = trainer.start("choose", work(at).task, trainer.settings, lambda: True)
    while len(activity.job.records) < 3 and not activity.job.finished:
        time.sleep(0.005)
    activity.job.stop()
    assert activity.job.join(60)
    fine(tab(finish(at), "Choice of C"))
    found = validated(at)
    assert found is not None and np.isnan(found.scores).any()
    assert f"Stopped after {np.isfinite(found.scores).sum()} of 60" in texts(at)
    assert "nan" not in texts(at)


def test_few_groups_make_few_folds(at: AppTest) -> None:
    frame = load_sample("wine").frame.assign(batch=lambda t: np.arange(len(t)) % 4)
    dataset = Dataset("grouped", frame, load_sample("wine").label, group="batch")
    bring(at, dataset, SPN(Product(Kernel("rbf", features=list(dataset.features)))))
    finish(at)
    fine(press(at, "Choose C"))
    found = validated(at)
    assert found is not None and found.scores.shape[1] == 3, "three groups are left to train on"


def test_a_search_belongs_to_its_own_data(at: AppTest) -> None:
    wine, spn = load_sample("wine"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear"))))
    for k in range(2):
        rows = wine.take(np.random.default_rng(k).permutation(len(wine.frame))[:120])
        finish(bring(at, replace(rows, name="data.csv"), spn))
        press(at, "Train" if k == 0 else "Choose C")
    assert work(at).trainer.book.runs[0].cross_validation is None


def test_kernels_in_memory_do_not_count_against_a_training(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    press(at, "Train")
    held = work(at).trainer.kernels.prepared(work(at).task).nbytes
    monkeypatch.setattr("spnmkl.ui.pages.train.available_memory", lambda: 6_000_000)
    monkeypatch.setattr("spnmkl.ui.pages.train.kept_bytes", lambda: 20_000_000)
    assert held > 6_000_000
    at.run()
    assert not labelled(at.button, "Train").disabled


@pytest.mark.parametrize("kind", ["train", "choose", "trace"])
def test_stopping(at: AppTest, kind: Kind) -> None:
    bring(at, load_sample("digits"), load_sample("digits").template("grouped"))
    trainer = work(at).trainer
    activity = trainer.start(kind, work(at).task, trainer.settings, lambda: True)
    at.run()
    labelled(at.button, "Stop").click().run()
    assert activity.job.join(60)
    assert activity.job.state == "stopped", activity.job.error
    fine(finish(at))


def test_the_same_drawing_elsewhere_is_not_computed_again(at: AppTest) -> None:
    press(at, "Train")
    trainer = work(at).trainer
    before = trainer.kernels.prepared(work(at).task)
    described = work(at).drawing.spn.to_dict()
    described["nodes"][0]["x"] += 50
    work(at).drawing.push(SPN.from_dict(described))
    finish(at.run())
    assert trainer.kernels.prepared(work(at).task) is before
    press(at, "Train")
    assert trainer.book.runs[-1].spn == work(at).drawing.spn, "the run is shown as it was drawn"


def test_a_model_no_better_than_guessing_is_said_to_be(at: AppTest) -> None:
    """Certified weights of noise: the training rows are known by heart, the test rows guessed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde")).assign(y=["p", "q"] * 60)
    dataset = Dataset("noise", frame, "y")
    bring(at, dataset, SPN(Sum(Product(Kernel("rbf", gamma=1.0)))))
    work(at).trainer.settings = Settings(C=100.0)
    fine(press(finish(at), "Train"))
    assert "Certified optimal" in at.success[0].value
    guessing, products, by_heart = [warning.value for warning in at.warning]
    assert "no better than guessing" in guessing and "Suggest on Design searches" in products
    assert "Another C may help" in guessing and "A smaller C may help" in by_heart
    assert "far better" in by_heart


def test_a_good_model_gets_no_warning_and_percentages_look_alike(at: AppTest) -> None:
    draw_a_product(at)
    fine(press(at, "Train"))
    assert not at.warning
    assert not re.search(r"[0-9]%", texts(at))


def test_what_is_being_done_is_said_once(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(words: str) -> str:
        monkeypatch.setattr(following.st, "progress", lambda share, text: heard.append(text))
        heard: list[str] = []
        job = SimpleNamespace(state="running", words=words, seconds=2.2, records=[], stopping=False, done=0, total=0)
        train_page.progress(SimpleNamespace(kind="train", job=job))  # type: ignore[arg-type]
        return heard[0]

    assert said("training") == "Training · 2.2 s"
    assert said("kernels 1 of 3") == f"{plain('Training: kernels 1 of 3')} · 2.2 s"
    assert said("fold 1, *run*") == f"{plain('Training: fold 1, *run*')} · 2.2 s"


def test_one_pruned_weight_is_spoken_of_as_one(at: AppTest) -> None:
    draw_a_product(at)
    fine(press(at, "Train"))
    run = work(at).trainer.book.runs[0]
    (first, when), *_ = run.solution.pruned.items()
    one = replace(run, solution=replace(run.solution, pruned={first: when}))
    assert "What it leads to adds nothing" in pruning(one)
    assert "on the training rows at this C" in pruning(one) and "(this is proved)" in pruning(one)
    assert "Whether it would help on new rows" in pruning(one)
    two = replace(run, solution=replace(run.solution, pruned={first: when, "another": when}))
    assert "What they lead to" in pruned_means(two.solution)


def test_let_it_choose_says_why_and_is_taken_and_trained_at_once() -> None:
    at = opened("train")
    before = work(at).drawing.spn
    press(at, "Let it choose")
    assert work(at).drawing.spn is before, "nothing changes until it is taken"
    said = " ".join(caption.value for caption in at.caption)
    assert "evidence weights" in said and "folds of" in said
    press(at, "Take it and train")
    chosen, run = work(at).trainer.default.value, work(at).trainer.book.run
    assert run is not None and run.settings == chosen.settings
    assert set(run.spn.nodes) == set(chosen.spn.nodes)
    assert run.chose_C and run.reasons == chosen.sentences and work(at).trainer.settings == chosen.settings
    assert work(at).chosen is chosen and "settings have changed since" not in texts(at)
    assert "Take it and train" not in [button.label for button in at.button]


def test_a_choice_says_which_drawing_it_would_replace_and_what_is_known_of_that() -> None:
    at = opened("train")
    drawn = SPN(Sum(Product(RBF.on(list(work(at).dataset.features)[:2], "two"))))
    work(at).drawing.push(placed(drawn))
    by_default = opening_structure(work(at).dataset)
    chosen = works.Chosen(by_default, work(at).choices, Settings(weights="evidence"), ("Weights: evidence weights.",))
    work(at).trainer.default = Finding(chosen, work(at).task, Settings())
    fine(at.run())
    many = len(by_default.products)
    assert many > 1
    instead = f"the default sum over every column ({many} weights), not of your drawing (1 weight)"
    assert plain(instead) in texts(at)
    assert "No score of it is known" in texts(at)
    train(work(at).trainer, at)
    (run,) = work(at).trainer.book.runs
    assert spoken(plain(f"Of your drawing is known: {score_text(run)} ({run.name}).")) in texts(fine(at.run()))
    right = enumerate((0.5, 0.7, 0.9))
    folds = tuple(Entry(OWN, 0, k, 40, 20, share, share, 1, 1, 1.0, 0.1, 0.0) for k, share in right)
    contest = Contest(Plan(folds=3), (OWN,), folds, 3, "these", 60)
    work(at).trainer.contest = Finding(contest, work(at).task, Settings())
    assert spoken(plain("accuracy 70.0 ± 18.3 % on 3 folds of 60 training rows (Compare)")) in texts(fine(at.run()))
    work(at).drawing.push(placed(by_default))
    assert "replaces your drawing" not in texts(fine(at.run()))


@pytest.mark.chooses
def test_a_first_press_of_train_chooses_and_says_why() -> None:
    at = opened("train")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    bring(at, Dataset("t", X.assign(y=np.where(X["a"] > 0, "x", "z")), "y"))
    C = "C: how much an error costs"
    assert (
        C not in [slider.label for slider in at.select_slider]
        and labelled(at.toggle, "Choose C and weights for me").value
    )
    assert not at.warning and work(at).trainer.activity is None
    fine(press(at, "Train"))
    run, chosen = work(at).trainer.book.run, work(at).chosen
    assert run is not None and chosen is not None and run.settings == chosen.settings
    said = texts(at)
    assert all(spoken(plain(sentence)) in said for sentence in chosen.sentences)
    assert f"**{plain(run.name)}.**" in said and labelled(at.select_slider, C).value == pytest.approx(run.settings.C)


@pytest.mark.chooses
@pytest.mark.parametrize(
    ("at_words", "said"), [("kernels", LEFT_NOTHING["train"]), ("evidence weights", STOPPED_CHOOSING)]
)
def test_stop_while_choosing_says_what_is_left(monkeypatch: pytest.MonkeyPatch, at_words: str, said: str) -> None:
    choose = works.chosen_in_time

    def stopped(*given: Any, tick: Any, **options: Any) -> Any:
        def stop_there(words: str) -> None:
            if at_words in words:
                tick.__self__.stop()
            tick(words)

        return choose(*given, tick=stop_there, **options)

    monkeypatch.setattr(works, "chosen_in_time", stopped)
    at = opened("train")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
    bring(at, Dataset("t", X.assign(y=np.where(X["a"] > 0, "x", "z")), "y"))
    fine(press(at, "Train"))
    assert [info.value for info in at.info] == [said] and work(at).trainer.book.run is None
    if work(at).chosen is None:
        return
    assert plain("Stopped while choosing: tried to the end were certified weights, one kernel alone.") in texts(at)
    fine(press(at, "Take it and train"))
    assert work(at).trainer.book.run.settings == work(at).chosen.settings and not at.info


@pytest.mark.chooses
def test_who_would_rather_set_C_turns_the_choice_off(at: AppTest) -> None:
    labelled(at.toggle, "Choose C and weights for me").set_value(False).run()
    finish(at)
    assert labelled(at.select_slider, "C: how much an error costs").value == 1.0
    assert "differ in width alone" in texts(at)
    fine(press(at, "Train"))
    assert work(at).trainer.book.run.settings == Settings() and work(at).chosen is None
