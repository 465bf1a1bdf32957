"""The mallocGame in JAX: the same rules for many games in step, under `jit` and `vmap`.

`encoding` makes arrays of a program; `step` analyses a position and plays an action, with
`options`, `entry`, `placement`, `idle_ledger`, `effect` and `returns` as its parts; `env` plays
whole games and `batching` many scripted ones.
"""
