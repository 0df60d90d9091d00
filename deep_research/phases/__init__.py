"""The five phases of the machine, a folder each."""
