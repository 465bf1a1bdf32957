"""The page Debug: what can be said against the decisions of the agent."""
