"""The command line, one file per subcommand: each parses, calls the library and returns a result."""
