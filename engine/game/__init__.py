"""The mallocGame: what both games share stands here, the rules are in `reference` and `jaxgame`.

`moves`, `move_list` and `quantise` make a program's moves and integers. `reference` plays them in
plain Python, `jaxgame` in JAX; they are written apart, so that they can disagree. `observation` is
what a player sees. `replay` makes a game of a plan, `scripts` one of a few instructions in words;
`notes` keeps the moves of a game with its plan. `environment` (JAX) and `gym_env` (Gymnasium) offer
the game to agents from elsewhere.
"""
