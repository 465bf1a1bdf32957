"""The rival of mallocMuZero: a seeded evolutionary search over action sequences, without networks.

A genome (`engine.evolution.genome`) is a whole game written down in advance, one word per move;
`engine.evolution.operators` has its mutations and crossings, `engine.evolution.search` plays the
children, restarts in epochs, and keeps an island for each place rule.
"""
