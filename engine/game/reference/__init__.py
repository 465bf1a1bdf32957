"""The mallocGame in plain Python: the rules to read, and the words that explain them.

`game` plays; `effects` says what an action would do or why it is refused; `placement`, `look_ahead`
and `arrival` say where a value lands and when its copy runs; `blocks` is what stands in fast
memory, `context` what a game knows before it begins.
"""
