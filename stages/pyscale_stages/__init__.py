"""What runs inside an image: the stages, and what measures them on the node."""
