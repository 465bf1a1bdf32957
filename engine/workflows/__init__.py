"""Jobs that join solvers and compiler: capture, tune, compare, and the index of the samples."""
