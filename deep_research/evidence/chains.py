"""The category of findings of earlier versions that led from one source to the next."""

LED = "led to by another source"
