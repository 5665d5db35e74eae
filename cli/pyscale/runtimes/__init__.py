"""How one task's process is started: natively, or in an image."""
