"""The mallocGame in plain Python: the rules to read, and the words that explain them.

`game` plays; `effects` says what an action would do or why it is refused; `placement` finds the
address of what comes in, `ledger` when its copy runs; `blocks` holds what stands in fast memory;
`explain` puts an effect into words.
"""
