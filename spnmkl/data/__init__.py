"""From files to the numbers that kernels see, and back for new samples."""

from spnmkl.data.absence import apart, empty_rows, holes, kept_rows, lacking_rows, refuse_missing
from spnmkl.data.choices import Choices
from spnmkl.data.columns import is_numeric
from spnmkl.data.dataset import Dataset, guess_group, guess_label, identifiers
from spnmkl.data.filling import fill_template, group_by_prefix
from spnmkl.data.joining import Joined, Joining, attach_labels, join_files, join_tables, join_views
from spnmkl.data.options import ReadOptions
from spnmkl.data.preparation import Preparation, sees_text
from spnmkl.data.preparation_words import adjusted_lines, preparation_facts, preparation_lines
from spnmkl.data.preparer import Preparer
from spnmkl.data.problems import STEP_WORDS, contradictions, left_out, misread_text, problems, step_notes, suggestions
from spnmkl.data.reading import Table, guess_options, read_file
from spnmkl.data.samples import SAMPLES, Sample, load_sample
from spnmkl.data.splitting import Split, SplitSettings, split_rows
from spnmkl.data.suggesting import Suggestion, suggest
from spnmkl.data.summary import class_balance, summarize, summarize_views
from spnmkl.data.table import drop_columns, headed_table, load_table, read_table, split_label

__all__ = [
    "SAMPLES",
    "STEP_WORDS",
    "Choices",
    "Dataset",
    "Joined",
    "Joining",
    "Preparation",
    "Preparer",
    "ReadOptions",
    "Sample",
    "Split",
    "SplitSettings",
    "Suggestion",
    "Table",
    "adjusted_lines",
    "apart",
    "attach_labels",
    "class_balance",
    "contradictions",
    "drop_columns",
    "empty_rows",
    "fill_template",
    "group_by_prefix",
    "guess_group",
    "guess_label",
    "guess_options",
    "headed_table",
    "holes",
    "identifiers",
    "is_numeric",
    "join_files",
    "join_tables",
    "join_views",
    "kept_rows",
    "lacking_rows",
    "left_out",
    "load_sample",
    "load_table",
    "misread_text",
    "preparation_facts",
    "preparation_lines",
    "problems",
    "read_file",
    "read_table",
    "refuse_missing",
    "sees_text",
    "split_label",
    "split_rows",
    "step_notes",
    "suggest",
    "suggestions",
    "summarize",
    "summarize_views",
]
