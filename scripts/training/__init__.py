"""Training of the embedded models; `make model` runs it."""
