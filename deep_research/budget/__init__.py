"""What a run may use of a model's window and of its owner's money, and the only way to a model from above."""
