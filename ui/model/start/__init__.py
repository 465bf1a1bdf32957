"""The start page as data: the toy and the samples that it shows."""
