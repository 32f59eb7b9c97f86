"""Every tolerance of the tests, each with what it allows for."""

# Relative to the largest entry: the compiled circuit against enumeration, both in double precision.
COMPILED = 1e-12

# Finite differences: a central one of smooth functions, and one of J, whose SVMs are solved to about 1e-9.
DIFFERENCES = 1e-6
DIFFERENCES_OF_J = 1e-5

# Least eigenvalue, relative to the largest, of a matrix that is positive semidefinite but for rounding.
SEMIDEFINITE = 1e-12

# Relative: the objective against the conic optimum when solved to SOLVED.
SOLVED = 1e-6
OBJECTIVE = 1e-5

# Relative: how far a dual bound may exceed the conic optimum, which is itself known to about 1e-8.
BOUND = 1e-7

# A gap is never below this: P and D are sums of n terms.
GAP_ROUNDING = 1e-9

# A gap recomputed by `certify` against the one stored: the same sums, in another order of threads.
RECOMPUTED = 1e-10

# Weights and decisions: the objective is flat at its optimum, so they are known to the root of SOLVED.
WEIGHTS = 1e-3
DECISION = 2e-3

# C_min, whose oracle is conic and whose bracket is of this relative width.
SMALLEST_C = 1e-3

# Shares and contributions: sums over paths against sums over the circuit.
SHARES = 1e-9

# `paper` converges slowly, so it is asked for less.
PAPER = 1e-3
