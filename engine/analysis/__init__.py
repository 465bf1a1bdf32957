"""What plans, games and searches tell: differences, attribution, regret, comparisons."""
