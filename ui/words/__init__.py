"""The page Words: every term of the explorer, explained in one or two sentences."""
