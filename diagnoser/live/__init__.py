"""Logs that are still being written: the output of a command that runs, files that grow, a pipe.

`run` keeps three things apart, so that a failure of one can't harm the others: the command itself, the process that
passes its output through (`running`, `passing`), and a process that analyses a copy of it (`analyst`), which gets the
copy through a bounded queue (`feed`). `follow` watches files and pipes from within one process (`following`,
`watching`). What both know of the deployment is a `session`.
"""
