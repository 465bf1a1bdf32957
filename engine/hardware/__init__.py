"""The memories and rates of each chip, and programs as another chip would run them."""
