"""The gallery of programs as data: catalogue, imports, uploads."""
