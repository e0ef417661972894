"""What a run found: as records, JSON, text and JUnit."""
