"""Where an imported program's costs are from, as its provenance says under `costs`."""

from __future__ import annotations

CYCLES = "cycles"
"""The compiler's cycles in the one dump; savings as the bytes suggest."""
ROOFLINE = "roofline"
"""Operations and bytes: the dump states no cycles."""
FITTED = "fitted"
"""Both dumps; `fit_error` says by how much the total of the second one is missed, relative."""
