"""The exit codes of the commands, and what help says of them."""

EXIT_CODES = {  # of `fit`, by how the training ended
    "optimal": 0,
    "evidence": 0,
    "stationary": 3,
    "iteration_limit": 4,
    "precision": 4,
    "memory": 4,
    "interrupted": 5,
    "time_limit": 6,
}
FIT_EXITS = """exit codes:

    0    certified optimal: the gap is within the tolerance; or evidence weights, as asked for, not certified
    2    bad input or usage: one sentence on stderr, nothing written
    3    stationary: some p < 1, so that no bound proves the optimum; saved
    4    stopped at the limit of iterations or of memory, or where rounding allows no further progress; saved
    5    training interrupted by Ctrl-C; the best weights so far are saved
    6    stopped at --max-time; the best weights so far are saved
    130  interrupted by Ctrl-C outside of training, or twice; no file is half written
"""
OTHER_EXITS = """exit codes:

    0    done
    2    bad input or usage: one sentence on stderr
    130  interrupted by Ctrl-C; no file is half written
"""
IMPORTANCE_EXITS = """exit codes:

    0    done
    2    bad input or usage: one sentence on stderr
    5    interrupted by Ctrl-C; what was measured until then is told and written
    130  interrupted by Ctrl-C before the first fold was done, or twice; no file is half written
"""
SUGGEST_EXITS = """exit codes:

    0    done; whether products were found is told, not coded
    2    bad input or usage: one sentence on stderr
    5    interrupted by Ctrl-C; the best so far is told and written
    6    stopped at --max-time; the best so far is told and written
    130  interrupted by Ctrl-C before anything was fitted, or twice; no file is half written
"""
VALIDATE_EXITS = """exit codes:

    0    nothing is wrong
    1    the structure does not fit the tables of --data, for the reasons told
    2    errors in the structure itself; bad input or usage: one sentence on stderr
    130  interrupted by Ctrl-C; no file is half written
"""
