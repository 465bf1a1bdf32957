"""Small memory maps of several plans with one window and one cursor."""
