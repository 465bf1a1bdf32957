"""What makes the numbers of `docs/results/`: `python -m benchmarks SECTION … --help`."""
