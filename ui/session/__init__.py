"""What one visitor has open, how it gets open, and what all visitors share."""
