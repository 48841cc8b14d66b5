#!/usr/bin/env bash
# The server is stopped with SIGSTOP for longer than Linux gives a command, and continued: no member is held to have hung.
. "$(dirname "$0")/common.sh"
serve
load
kill -STOP "$SERVER"
at_exit "kill -CONT $SERVER"
sleep "$(long_or 80 33)"
kill -CONT "$SERVER"
says "healthy" 10
well
for words in "out of service" "is suspended" "does not do its work"; do never_said "$words"; done
