"""Every tolerance of the tests, each with what it allows for."""

# Relative to the largest entry: the compiled circuit against enumeration, both in double precision.
COMPILED = 1e-12

# The same sums in another order, or recomputed from what is stored; a gap is never below minus this.
ROUNDING = 1e-9

# Matrices given in single precision.
SINGLE_PRECISION = 1e-5

# Central differences: of smooth functions, and of J, whose SVMs are solved to about 1e-9.
DIFFERENCES = 1e-6
DIFFERENCES_OF_J = 1e-5

# Least eigenvalue, relative to the largest, of a matrix that is positive semidefinite but for rounding.
SEMIDEFINITE = 1e-12

# The gap asked for, and the distance from the conic optimum, which is itself known to about 1e-8.
SOLVED = 1e-6
OBJECTIVE = 1e-5
BOUND = 1e-7

# The objective is flat at its optimum: weights and decisions are known to about the root of SOLVED.
WEIGHTS = 1e-3
DECISION = 2e-3

# A gap that costs less, and the weights it leaves.
TIGHT = 1e-4
ROUGH_WEIGHTS = 0.1

# Algorithm 1 of the paper converges slowly.
PAPER = 1e-3

# Relative width of the bracket of C_min.
SMALLEST_C = 1e-3
