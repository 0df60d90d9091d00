"""The report: references, rendering, export."""
