"""The suites; CONTRIBUTING.md tells what each folder holds."""
