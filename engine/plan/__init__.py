"""Plans, and their judges: the checker, the simulator and the lower bound."""
