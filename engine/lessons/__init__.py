"""Lessons: small boards with a goal, written as TOML files; the judge plays all continuations."""
