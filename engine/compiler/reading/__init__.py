"""Compiler output read: HLO dumps as programs, placements as observations, XLA's plan."""
