"""What people and scripts see: tables and documents on stdout, talk and progress on stderr."""
