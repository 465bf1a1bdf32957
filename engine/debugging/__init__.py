"""An agent's games taken apart: regret, surprise, findings, what-if replays, drift of its model."""
