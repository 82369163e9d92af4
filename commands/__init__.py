"""The command line: one file per subcommand. Each parses, calls the library and returns a result to be rendered."""
