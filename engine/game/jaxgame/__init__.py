"""The mallocGame in JAX: the same rules for many games in step, under jit and vmap.

`encoding` makes arrays of a program; `state` and `lanes` hold a position; `step` analyses it and
plays an action, with `options`, `placement`, `idle_ledger` and `effect` as its parts; `env` plays
whole games and `batching` many scripted ones.
"""
