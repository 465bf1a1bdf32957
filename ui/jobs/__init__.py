"""Long work in processes of its own: the queue, what runs in it, and how both talk."""
