"""Where the tokens of SASL/OAUTHBEARER come from: a file, a command, or an OAuth token endpoint."""
