"""The commands of the command line and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from spnmkl import __version__
from spnmkl.cli.cluster_arguments import add_cluster, cluster_arguments
from spnmkl.cli.exits import FIT_EXITS, IMPORTANCE_EXITS, OTHER_EXITS, SUGGEST_EXITS, VALIDATE_EXITS
from spnmkl.cli.values import folds, folds_and_rounds, loss_weight, natural, positive, power, share
from spnmkl.cli.workspace_arguments import add_folder, server_arguments, workspace_arguments
from spnmkl.errors import ParameterError

Run = Callable[[argparse.Namespace], int]

_ON_TABLES = ("fit", "predict", "inspect", "importance", "compare", "suggest", "validate", "template")
COMMANDS = ("app", *_ON_TABLES, "workspace", "cluster")
SOLVERS = ("auto", "newton", "interior", "paper")  # as in `spnmkl.solvers`, which help need not load
WEIGHTS = ("certified", "evidence")  # as in `spnmkl.parameters`
SCORINGS = ("accuracy", "balanced_accuracy", "roc_auc")  # as in `spnmkl.measures`
BAD_INPUT, ABORTED = 2, 130
PREPARE = ("auto", "standardize", "log1p", "log-ratio", "tf-idf", "ranks", "normal-ranks", "none")
_EXITS = {
    "fit": FIT_EXITS,
    "importance": IMPORTANCE_EXITS,
    "compare": IMPORTANCE_EXITS,
    "suggest": SUGGEST_EXITS,
    "validate": VALIDATE_EXITS,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParameterError(f"{message}; see {self.prog} --help.")


def parsed(arguments: Sequence[str], runs: Mapping[str, Run] | None = None) -> tuple[argparse.Namespace, list[str]]:
    """What was asked for, and further options for the app; anything that no command understands is refused."""
    parser = command_parser(runs)
    found, more = parser.parse_known_args(arguments)
    if more and found.command != "app":
        raise ParameterError(f"unrecognized arguments: {' '.join(more)}; see spnmkl {found.command} --help.")
    return found, more


def command_parser(runs: Mapping[str, Run] | None = None) -> argparse.ArgumentParser:
    """All commands and their options; `runs` is what each of them calls, without it they only tell about themselves."""
    parser = _Parser(prog="spnmkl", description="Multiple kernel learning over drawn sum-product networks.")
    parser.add_argument("--version", action="version", version=f"spnmkl {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, help: str) -> argparse.ArgumentParser:
        exits = _EXITS.get(name, OTHER_EXITS)
        sub = commands.add_parser(
            name, help=help, description=help, epilog=exits, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if runs is not None:
            sub.set_defaults(run=runs[name])
        return sub

    app = command("app", "open the app; further options, such as --server.port=8502, go to streamlit run")
    add_folder(app)
    add_cluster(app, "the trainings of folds, comparisons and searches of all visitors")
    server_arguments(app)
    _fit_arguments(command("fit", "learn the weights of a structure from a table, or one for each view"))
    predict = command("predict", "predict the classes of new samples")
    predict.add_argument("model", help="a file that fit has written; - for standard input")
    predict.add_argument("data", nargs="+", help="table with the columns of training, -, or one for each view")
    predict.add_argument("--out", help="where to write the predictions; default: standard output")
    _exact_argument(predict)
    predict.add_argument("--scores", action="store_true", help="add the decision function's values")
    predict.add_argument("--probabilities", action="store_true", help="add the probability of every class")
    _reading_arguments(predict)
    inspect = command("inspect", "show what a model learned and what is proved")
    inspect.add_argument("model", help="a file that fit has written")
    inspect.add_argument("--paths", type=natural, default=10, metavar="N", help="how many heaviest paths; default 10")
    inspect.add_argument("--json", action="store_true", help="for programs")
    _importance_arguments(
        command("importance", "score every view alone and all without it, or permute columns, on rows not trained on")
    )
    compare = command("compare", "train a structure and other methods on the same folds, and test the differences")
    _held_out_arguments(compare)
    compare.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="beside the structure, such as lasso; default: all that can be used",
    )
    add_cluster(compare, "the folds")
    _suggest_arguments(command("suggest", "find a structure by evidence, beside the flat sum"))
    validate = command("validate", "say what is wrong with a structure")
    validate.add_argument("structure", help="a structure file, .json; - for standard input")
    validate.add_argument("--repair", metavar="OUT", help="write the structure with the obvious repairs made")
    validate.add_argument(
        "--data", nargs="+", metavar="DATA", help="table, or one for each view, that fit would be given: check it too"
    )
    validate.add_argument("--label", help="the column that holds the classes; without it only columns are checked")
    _reading_arguments(validate)
    _preparing_arguments(validate)
    template = command("template", "write a structure to start from")
    template.add_argument("name", nargs="?", metavar="NAME", help="see --list")
    template.add_argument("--list", action="store_true", help="list the templates")
    template.add_argument(
        "--columns",
        nargs="+",
        metavar="DATA",
        help="table whose columns fill it, or one for each view; view__feature makes groups",
    )
    label = template.add_mutually_exclusive_group()
    label.add_argument("--label", help="the column that holds the classes, which no kernel sees")
    label.add_argument("--no-label", action="store_true", help="the table has no such column, whatever one looks like")
    template.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    template.add_argument(
        "--group", metavar="COLUMN", help="column that groups rows, such as a patient, which no kernel sees"
    )
    _adjusting_argument(template)
    _reading_arguments(template)
    template.add_argument("--out", help="where to write the structure; default: standard output")
    workspace_arguments(command("workspace", "list, export, import and train the projects that the app keeps"))
    cluster_arguments(command("cluster", "write what starts workers on Kubernetes or SLURM"))
    return parser


def _reading_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--skip-lines",
        type=natural,
        metavar="N",
        help="lines above the table's header; default: those that begin with #",
    )
    command.add_argument(
        "--id", metavar="COLUMN", help="column that tells rows apart, by which tables are joined; default: guessed"
    )
    command.add_argument("--by-order", action="store_true", help="join several tables row by row")


def _fit_arguments(fit: argparse.ArgumentParser) -> None:
    fit.add_argument(
        "data",
        nargs="+",
        help="table with a header: CSV, TSV, Excel, Parquet, ARFF or LIBSVM, - for standard input; several, one for "
        "each view, are joined",
    )
    _reading_arguments(fit)
    fit.add_argument("--label", required=True, help="the column that holds the classes")
    fit.add_argument("--out", required=True, help="where to write the model; - for standard output")
    fit.add_argument(
        "--structure",
        help="a structure file (.json), - or a template; default: a sum over all views and columns, with what is not "
        "given of --C, --weights and --prepare chosen by cross-validation",
    )
    fit.add_argument(
        "--C",
        type=loss_weight,
        help="weight of the loss, or cv: chosen by cross-validation; default 1 with --structure, else cv",
    )
    fit.add_argument(
        "--scoring",
        choices=list(SCORINGS),
        default="accuracy",
        help="what --C cv is chosen by; balanced_accuracy suits classes of uneven size; default accuracy",
    )
    fit.add_argument("--lam", type=float, default=1.0, help="weight λ of the weights' regulariser; default 1")
    fit.add_argument("--p", type=power, help="p of every product, or sparse; default: as in the structure")
    fit.add_argument("--tol", type=float, default=1e-3, help="relative gap to reach; default 1e-3")
    fit.add_argument("--max-iter", type=int, help="limit of iterations")
    fit.add_argument(
        "--max-time",
        type=float,
        metavar="SECONDS",
        help="for kernels, C and weights; then stop and keep the best so far; choosing without a structure has half "
        "of it, and ten minutes where it is not given",
    )
    fit.add_argument(
        "--solver",
        choices=list(SOLVERS),
        default="auto",
        help="auto: newton, and interior (path following) as soon as that is slow; paper: Algorithm 1; default auto",
    )
    _weights_argument(fit, " with --structure, else chosen")
    fit.add_argument(
        "--approximation",
        choices=["nystroem"],
        help="for more rows than a kernel matrix can have: certified weights from a sample of the rows, then the SVM "
        "on all of them by landmarks",
    )
    fit.add_argument("--components", type=positive, default=1000, metavar="M", help="landmarks; default 1000")
    fit.add_argument(
        "--sample-rows",
        type=positive,
        default=4000,
        metavar="N",
        help="rows of that sample; default 4000, or M if more",
    )
    fit.add_argument(
        "--certify",
        type=positive,
        nargs="?",
        const=5,
        metavar="PASSES",
        help="with --approximation: prove how far at most the exact optimum over all rows lies lower, by so many "
        "passes over the exact kernels among them, whose time grows with their square; 5 where no number is given",
    )
    fit.add_argument("--class-weight", choices=["balanced"], help="give all classes the same total weight")
    _preparing_arguments(fit)
    fit.add_argument(
        "--test-share",
        type=share,
        metavar="SHARE",
        help="share of the rows, between 0 and 1, to hold out and report the accuracy on",
    )
    fit.add_argument(
        "--share-folds",
        type=folds,
        metavar="FOLDS",
        help="measure what carries the decision on so many folds, in place of the rows held out",
    )
    fit.add_argument(
        "--nested",
        type=folds_and_rounds,
        metavar="FOLDSxROUNDS",
        help="also score by repeated cross-validation with C chosen inside (at the C given, without --C cv), such as "
        "5x2: of the training rows where --test-share holds some out, else of all",
    )
    fit.add_argument(
        "--positive", metavar="CLASS", help="of two classes the one to be found, for sensitivity; default: the second"
    )
    fit.add_argument(
        "--probabilities", action="store_true", help="calibrate probabilities on rows held out; --nested does so too"
    )
    fit.add_argument("--seed", type=natural, default=0, help="of the rows held out and of folds; default 0")
    fit.add_argument("--threads", type=int, help="default: all cores")
    add_cluster(fit, "the trainings of folds")
    fit.add_argument(
        "--max-memory", type=float, metavar="GB", help="gigabytes for kernel matrices; default: half of what is free"
    )
    fit.add_argument("--progress", action="store_true", help="show progress although stderr is no terminal")
    fit.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")


def _weights_argument(command: argparse.ArgumentParser, otherwise: str = "") -> None:
    command.add_argument(
        "--weights",
        choices=list(WEIGHTS),
        help="certified: the provably best; evidence: those at which the labels are most probable, which tells a sum "
        f"from a product, not certified; default certified{otherwise}",
    )


def _importance_arguments(importance: argparse.ArgumentParser) -> None:
    _held_out_arguments(importance)
    importance.add_argument(
        "--C", type=loss_weight, default="cv", help="weight of the loss; default cv: chosen within every fold"
    )
    importance.add_argument(
        "--columns", metavar="VIEW", help="which columns of this view matter, instead of which views"
    )
    importance.add_argument(
        "--resume", metavar="FILE", help="write every fold that is done here (.json), and go on from it next time"
    )
    importance.add_argument("--threads", type=int, help="default: all cores")
    add_cluster(importance, "the folds")


def _held_out_arguments(command: argparse.ArgumentParser) -> None:
    """What is asked for where a structure is trained on folds of a table."""
    command.add_argument("data", nargs="+", help="table with a header, or one for each view, as for fit")
    _reading_arguments(command)
    command.add_argument("--label", required=True, help="the column that holds the classes")
    command.add_argument(
        "--structure",
        help="a structure file (.json), - or a template; default: a sum over all views and columns, as fit has it, "
        "with the kind of weights chosen within every training part",
    )
    _weights_argument(command, " with --structure, else chosen")
    command.add_argument("--p", type=power, help="p of every product, or sparse; default: as in the structure")
    command.add_argument("--folds", type=int, default=5, help="parts of the rows that are held out in turn; default 5")
    command.add_argument("--repeats", type=int, default=1, help="rounds, each with other folds; default 1")
    command.add_argument("--scoring", choices=list(SCORINGS), default="accuracy", help="default accuracy")
    command.add_argument("--out", help="where to write the table, as CSV; - for standard output")
    _exact_argument(command)
    command.add_argument("--figure", metavar="FILE", help="where to draw it: .svg, .png or .html")
    _preparing_arguments(command)
    command.add_argument("--seed", type=natural, default=0, help="of the folds; default 0")
    command.add_argument("--progress", action="store_true", help="show progress although stderr is no terminal")
    command.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")


def _exact_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--exact",
        action="store_true",
        help="write text as it is, for programs; default: ' before text that a spreadsheet would take for a formula",
    )


def _suggest_arguments(suggest: argparse.ArgumentParser) -> None:
    suggest.add_argument("data", nargs="+", help="table with a header, or one for each view, as for fit")
    _reading_arguments(suggest)
    suggest.add_argument("--label", required=True, help="the column that holds the classes")
    suggest.add_argument("--budget", type=positive, default=100, help="evidence refits of a search; default 100")
    suggest.add_argument(
        "--max-time", type=float, metavar="SECONDS", help="for all of it; then the best so far is told and written"
    )
    suggest.add_argument("--out", help="where to write the structure that is recommended; - for standard output")
    suggest.add_argument(
        "--held-out",
        type=share,
        default=0.25,
        metavar="SHARE",
        help="share of the rows that the search does not see and the scores are of; default 0.25, 0: no scores",
    )
    suggest.add_argument(
        "--subsamples", type=natural, default=6, help="searches in 80 %% of the rows, for what recurs; default 6"
    )
    suggest.add_argument(
        "--outer-folds", type=folds, metavar="FOLDS", help="also score the whole search in so many outer folds"
    )
    suggest.add_argument("--scoring", choices=list(SCORINGS), default="accuracy", help="default accuracy")
    _preparing_arguments(suggest)
    suggest.add_argument("--seed", type=natural, default=0, help="of rows held out, folds and subsamples; default 0")
    suggest.add_argument("--jobs", type=positive, help="how much runs side by side; default: all cores")
    add_cluster(suggest, "what runs side by side")
    suggest.add_argument("--progress", action="store_true", help="show progress although stderr is no terminal")
    suggest.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")


def _adjusting_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--adjust",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns to adjust for, such as age,batch: no kernel sees them, and what they tell of the others by a "
        "line or by means is taken away",
    )


def _preparing_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--prepare",
        nargs="+",
        default=["auto"],
        metavar="[VIEW=]HOW",
        help=f"what to do with numbers, of all columns or of one view: {', '.join(PREPARE)}; auto takes log1p for "
        "counts, tf-idf for counts of words, log-ratio for parts of a whole, standardize for others, and says so; "
        "default auto",
    )
    command.add_argument(
        "--no-standardize", dest="prepare", action="store_const", const=["none"], help="the same as --prepare none"
    )
    command.add_argument(
        "--missing",
        "--impute",
        choices=["refuse", "mean", "median", "drop-rows", "drop-columns"],
        default="refuse",
        help="fill missing values, or leave out their rows or columns; default refuse",
    )
    command.add_argument(
        "--text",
        choices=["codes", "one-hot", "drop"],
        default="codes",
        help="columns of text: compared as they are, one column for each value, or left out; default codes",
    )
    command.add_argument(
        "--absent",
        choices=["as-missing", "mean", "drop-rows"],
        default="as-missing",
        help="rows that lack a whole view: as --missing says, the average of the training rows in its place, or left "
        "out; default as-missing",
    )
    command.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    _adjusting_argument(command)
    command.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN", help="columns to use though they look like ids or groups"
    )
    command.add_argument(
        "--group", metavar="COLUMN", help="hold out rows of one value of it together, such as a patient"
    )
