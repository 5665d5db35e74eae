"""Answers of Slurm's commands as plain records and sentences."""
