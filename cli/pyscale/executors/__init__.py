"""Places where tasks run: this machine, or a Slurm cluster."""
