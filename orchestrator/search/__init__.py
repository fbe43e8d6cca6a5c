"""Which cells to run next, and which package a change comes from: decisions on what is known, and nothing else."""
