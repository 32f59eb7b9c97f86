"""
Your own kernel matrices
========================

Kernels need not come from columns: `spnmkl.solve` takes matrices that you bring, under
the id of their leaf.
"""

import numpy as np

from spnmkl import SPN, Kernel, Product, Sum, solve
from spnmkl.export import to_svg

# %%
# Ninety words, made from the letters a to d or c to f. Two kernels on words: the
# letters that two of them share, and the pairs of letters.
rng = np.random.default_rng(0)
labels = np.array(["early", "late"])[np.arange(90) % 2]
letters = {"early": list("abcd"), "late": list("cdef")}
words = ["".join(rng.choice(letters[label], size=8)) for label in labels]


def counts(words, length):
    """How often each piece of so many letters stands in each word, scaled to norm 1."""
    pieces = [a + b for a in "abcdef" for b in ("abcdef" if length == 2 else [""])]
    C = np.array([[word.count(piece) for piece in pieces] for word in words], float)
    return C / np.linalg.norm(C, axis=1, keepdims=True)


def kernels_between(words, others):
    lengths = {"letters": 1, "pairs": 2}
    return {id: counts(words, k) @ counts(others, k).T for id, k in lengths.items()}


train, test = words[:60], words[60:]
leaves = [Kernel("precomputed", id=id) for id in ("letters", "pairs")]
spn = SPN(Sum(*(Product(leaf) for leaf in leaves)))
kernels = kernels_between(train, train)
solution = solve(spn, kernels, labels[:60], C=1.0)
print(solution.status, {v: round(weight, 3) for v, weight in solution.beta.items()})

# %%
# New words need the kernel between them and the words of training. The proof can be
# recomputed at any time from the matrices alone.
decision = solution.decision_function(kernels_between(test, train))
predicted = solution.classes[(decision > 0).astype(int)]
print(f"right for {np.mean(predicted == labels[60:]):.0%} of the new words")
proof = solution.certify(kernels)
print(f"{proof.dual_bound:.4f} <= optimum <= {proof.objective:.4f}")
picture = to_svg(spn, beta=solution.beta)
