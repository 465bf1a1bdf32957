"""The canvases of the page Search."""
