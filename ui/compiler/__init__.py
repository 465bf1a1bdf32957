"""What the real compiler makes of a plan: the options for it, its verdict, a search for better."""
