"""The rival of mallocMuZero: a seeded evolutionary search over action sequences, without networks.

A genome (`engine.evolution.genome`) is a whole game written down in advance, one word per move;
`engine.evolution.operators` has its mutations and crossings. `population` keeps individuals,
`breeding` makes children, `rollout` plays them, `restarts` is the search under one place rule with
its epochs, and `islands` runs several of these.
"""
