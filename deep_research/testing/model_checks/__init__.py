"""What every model provider must do, one function a promise. `model_suite` gathers them."""
