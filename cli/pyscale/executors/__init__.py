"""Places where tasks run: this machine, a Slurm cluster, or a mock for the order of things."""
