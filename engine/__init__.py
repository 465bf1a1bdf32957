"""The engine: programs, plans, the mallocGame, solvers, the agent, and the command line."""
