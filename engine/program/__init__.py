"""Programs: the schedule, its values and accesses, their files, and where they come from."""
