"""What the specification demands of any engine: cases as data, and one runner."""
