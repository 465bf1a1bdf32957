"""mallocMuZero, the agent that plays the mallocGame: networks and tree search, and nothing else.

To be read in this order: `types`, `config`, `network`, `model`, `search`, `self_play`,
`replay_buffer`, `losses`, `trainer`, `search_again`. A `workload` is a program as the agent works
on it; `checkpoint` and `run` are its files, `trace` what it thinks.
"""
