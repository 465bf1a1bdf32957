"""The real XLA TPU compiler: captures, calibrated costs, and the plan that XLA chose."""
