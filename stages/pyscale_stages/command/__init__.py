"""A step of the user's own: a command that is measured as every stage is."""
