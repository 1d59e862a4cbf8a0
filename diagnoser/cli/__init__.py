"""The command line: the one place that reads arguments, prints and exits. One module per command."""
