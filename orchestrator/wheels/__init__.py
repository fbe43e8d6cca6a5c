"""Wheels on their way into environments: what is asked of the installer, and what its trouble means."""
