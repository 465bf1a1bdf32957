"""The page Programs: samples, uploads, other hardware."""
