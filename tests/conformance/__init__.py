"""The requirements of the specification for any engine: cases as data, and one runner."""
