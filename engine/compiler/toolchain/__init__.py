"""The real XLA TPU compiler as a tool: compiles in a child process, cached results, its log."""
