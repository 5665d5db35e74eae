"""Stage: how many patches storage and loader processes give to training."""
