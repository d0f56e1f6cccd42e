"""What the schema language demands of any engine: cases as data, and one runner."""
