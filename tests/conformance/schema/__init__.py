"""The requirements of the schema language for any engine: cases as data, and one runner."""
