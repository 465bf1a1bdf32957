"""mallocMuZero, the agent that plays the mallocGame: networks and tree search, and nothing else.

To be read in this order: `types`, `config`, `categorical`, `network`, `search`, `self_play`,
`replay_buffer`, `losses`, `learner` (one training step), `trainer`, `reanalyse`. A `workload` is a
program as the agent works on it; `checkpoint` and `run` are its files, `trace` what it thinks.
"""
