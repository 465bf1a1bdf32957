"""The inbox of the debugger as data: filters, rows, state."""
