"""What is known of a tab's kernels on its data, kept until one of them changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from spnmkl.errors import SPNMKLError
from spnmkl.kernels import KernelIssue
from spnmkl.kernels.examination import repair_kernels
from spnmkl.kernels.sampling import KernelSample
from spnmkl.structure import SPN
from spnmkl.training.kernel_checks import kernel_issues, kernel_sample
from spnmkl.ui.state.task import Task


def about_widths(spn: SPN, issue: KernelIssue) -> bool:
    """Whether it says how kernels over the same columns differ, of which the default drawing has many on purpose."""
    if issue.code == "nearly_equal":
        leaves = {leaf for v in issue.nodes if spn.kind(v) == "product" for leaf in spn.children(v)}
        return len({spn.spec(leaf).features for leaf in leaves}) == 1
    return bool(issue.widths) or issue.code == "nearly_identity"


@dataclass
class KernelChecks:
    """The last task with its findings, and the sample of its rows, which remembers every kernel of the drawing."""

    task: Task | None = None
    found: list[KernelIssue] = field(default_factory=list)
    sample: KernelSample | None = None

    def of(self, task: Task) -> list[KernelIssue]:
        """What cannot work, looked for anew when more than a position has changed."""
        if not task.same(self.task):
            sample = self._sample_of(task)
            found = [] if sample is None else kernel_issues(task.spn, task.dataset, task.choices, task.split, sample)
            self.task, self.found, self.sample = task, found, sample
        return self.found

    def repaired(self, task: Task) -> SPN:
        """The drawing with every repair made that can be made by itself."""
        sample = self._sample_of(task) if self.of(task) else None
        return task.spn if sample is None else repair_kernels(task.spn, sample)

    def _sample_of(self, task: Task) -> KernelSample | None:
        last = self.task
        if (
            last is not None
            and task.dataset is last.dataset
            and (task.choices, task.split) == (last.choices, last.split)
        ):
            return self.sample
        try:
            return kernel_sample(task.dataset, task.choices, task.split)
        except SPNMKLError:  # said where the data are prepared
            return None
