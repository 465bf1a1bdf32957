"""The mallocGame in JAX: the same rules for many games in step, under jit and vmap.

`encoding` makes arrays of a program; `state` and `lanes` hold a position; `step` analyses it and
plays an action, with `options`, `placement`, `idle_ledger` and `effect` as its parts; `env` plays
whole games and `batching` many scripted ones.

The names of the plain game and of this one, where they differ:

    effects.effect_of              options.analyse: all actions at once
    ReferenceGame.step             step and effect
    placement.find_place           placement.find_places: all tries at once
    State.live, State.ended        rows of Table; an ended block has rank ENDED
    Block.busy: last slot in       Table.until: busy + 1; of an ended block its end
      which it must stand
    Block.written: last write      Table.written: the slot after it; 0 if clean
    Block.next_rank                Table.rank
    ledger.Ledger.left, by slot    idle_ledger.Ledger.idle_before, a prefix sum
    Wait, one object each          Waits, the last two of a direction
    Effect.displaced               displaced_by, the slot by which they have left
    State.spare_ticks              State.spare
"""
