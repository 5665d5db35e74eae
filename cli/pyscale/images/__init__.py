"""Container images of the stages: what they are, how they are built, locked, moved and checked."""
