"""From XLA's scheduled HLO text to a Program, by XLA's own parser in a child process."""
