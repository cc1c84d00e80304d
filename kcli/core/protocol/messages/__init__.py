"""One small file per API: a field table with version ranges. Imported only when its API is used."""
