"""What asks the host: every function returns a value that says what was seen, and judges nothing."""
