"""What a machine can do for a suite, what it lacks and how to get it: here and on other nodes."""
