#!/bin/sh
# Written by `holdgate hook cline install`. It asks Holdgate about each tool call. Cline goes by what is
# printed alone, and runs the call where that is nothing.
out=$(COMMAND) && [ -n "$out" ] || out='{"cancel":true,"errorMessage":"[holdgate] This call was not run: the hook of Holdgate did not run."}'
printf '%s\n' "$out"
