"""A plan as compiler options, what the compiler made of it, and the search for the best options."""
