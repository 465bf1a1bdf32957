"""The mallocGame: what both games share stands here, the rules are in `reference` and `jaxgame`.

`moves`, `move_list` and `quantise` make a program's moves and integers. `reference` plays them in
plain Python, `jaxgame` in JAX; they are written apart, so that they can disagree. `observation` is
what a player sees. `replay`, with `desired` and `repair`, makes a game of a plan, `scripts` and
`notes` of words and of what a plan kept. `gym_env` is the game for agents from elsewhere.
"""
