"""`local`: ruin and recreate over whole stays, with an exact incremental simulation."""

from engine.solvers.local.solver import density, local, search_locally

__all__ = ["density", "local", "search_locally"]
