#!/bin/sh
# Written by `holdgate hook cline install`. It tells Holdgate of what is no tool call to be decided.
out=$(COMMAND)
[ -n "$out" ] || out='{"cancel":false}'
printf '%s\n' "$out"
