"""What Slurm's commands answer, as plain records and sentences."""
