"""mallocMuZero: networks, search, self-play and training of the agent that plays the mallocGame."""
