"""Code that runs inside an image: the stages, and their measurement on the node."""
