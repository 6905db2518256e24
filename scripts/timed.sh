#!/bin/sh
# timed.sh NAME ABOUT COMMAND...: says how long `make NAME` takes, as the last time here or else ABOUT, and runs COMMAND.
# It prints nothing after the command, whose last line and exit code are what callers look at.
set -eu
. "$(dirname "$0")/lib.sh"
name=$1
about=$2
shift 2
record="build/times/$name"

if [ -s "$record" ]; then
    seconds=$(cat "$record")
    say "make $name took $((seconds / 60)) min $((seconds % 60)) s here the last time; lines below end with the part that is done"
else
    say "make $name takes $about on two quiet cores; lines below end with the part that is done"
fi
start=$(date +%s)
status=0
"$@" || status=$?
if [ "$status" -eq 0 ]; then
    mkdir -p build/times
    echo $(($(date +%s) - start)) >"$record"
fi
exit "$status"
